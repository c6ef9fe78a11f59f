"""One integer operation as data: what quant execution, the npu dialect, packed records and the kernels share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

AttributeValue = int | str | tuple[int, ...]

NUMPY_DTYPES: dict[str, str] = {"i8": "uint8", "i16": "int16", "i32": "int32", "f32": "float32"}
CODE_RANGES: dict[str, tuple[int, int]] = {"i8": (-128, 127), "i16": (-32768, 32639)}


@dataclass(frozen=True)
class TensorSpec:
    """Shape and storage type of one operand; `i8` is stored as offset-binary bytes (q + 128 in uint8)."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def numpy_dtype(self) -> str:
        """numpy dtype name of the stored array."""
        return NUMPY_DTYPES[self.dtype]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the stored array."""
        return self.size * np.dtype(self.numpy_dtype).itemsize


@dataclass(frozen=True)
class KernelCall:
    """One integer operation; kinds, attributes and constants are listed in docs/internals/contracts.md section 5."""

    kind: str
    inputs: tuple[TensorSpec, ...]
    output: TensorSpec
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    constants: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
