"""What a float kernel factory needs: the store, the float type, and constants as tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects.blob import BlobAttr, read_blob
from qbc.dialects.blob.attributes import dtype_name
from qbc.dialects.common.access import flag, integer, integers, number, numbers, shape_of, tensor_type, text
from qbc.store import BlobStore

Kernel = Callable[..., torch.Tensor]
KernelFactory = Callable[[Operation, "Scope"], Kernel]

_TORCH_TYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bool": torch.bool,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "uint8": torch.uint8,
    "uint16": torch.uint16,
    "uint32": torch.uint32,
    "uint64": torch.uint64,
}


@dataclass(frozen=True)
class Scope:
    """The store, and the type in which floating-point values are computed (float64 serves as a reference)."""

    store: BlobStore
    float_type: torch.dtype = torch.float32

    def tensor(self, handle: Attribute) -> torch.Tensor:
        """Return a constant as a tensor; floating-point data in the float type."""
        array = self.array(handle)
        if array.dtype.kind == "f":
            array = array.astype(np.float64 if self.float_type == torch.float64 else np.float32, copy=False)
        return _from_numpy(array)

    def array(self, handle: Attribute) -> np.ndarray[Any, Any]:
        """Return a constant (blob or dense) as an array of its stored type."""
        if isinstance(handle, BlobAttr):
            return read_blob(self.store, handle)
        if isinstance(handle, DenseIntOrFPElementsAttr):
            values = np.array(list(handle.get_values()), dtype=dtype_name(handle.get_element_type()))
            return np.broadcast_to(values.reshape(handle.get_shape() if values.size > 1 else ()), handle.get_shape())
        raise TypeError(f"not constant data: {handle}")

    def optional(self, op: Operation, name: str) -> torch.Tensor | None:
        """Return the constant in property `name`, or None when the operation has none."""
        handle = op.properties.get(name)
        return None if handle is None else self.tensor(handle)

    def type_of(self, value: SSAValue) -> torch.dtype:
        """Return the torch type in which a value is computed."""
        name = dtype_name(tensor_type(value).element_type)
        return self.float_type if name.startswith("float") else _TORCH_TYPES[name]


def _from_numpy(array: np.ndarray[Any, Any]) -> torch.Tensor:
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    with warnings.catch_warnings():
        # torch warns about read-only memory (blobs are); kernels never write to their constants
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(contiguous)


__all__ = [
    "Kernel",
    "KernelFactory",
    "Scope",
    "flag",
    "integer",
    "integers",
    "number",
    "numbers",
    "shape_of",
    "text",
]
