"""TensorProto -> IR attributes; large contents are views of the file, small ones are copied into the store."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
import onnx
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, StringAttr, TensorType
from xdsl.ir import Attribute

from qbc.dialects.blob import BlobRefAttr
from qbc.dialects.framework.access import DENSE_LIMIT
from qbc.dialects.framework.onnx_types import STRING_CODE, data_bytes, element_of_code
from qbc.dialects.framework.types import RawAttr
from qbc.errors import QBCompilerError
from qbc.frontends.onnx.external import ExternalFiles
from qbc.frontends.onnx.skeleton import STRIP_BYTES, Payloads
from qbc.store import BlobStore

_EXTERNAL = onnx.TensorProto.EXTERNAL
_MAX_ELEMENTS = 1 << 40


def invalid(message: str, name: str | None) -> QBCompilerError:
    """Build an INVALID_MODEL error about a tensor or node."""
    return QBCompilerError(message, code="INVALID_MODEL", node=name or None)


def element_count(tensor: Any) -> int:
    """Return the number of elements of a TensorProto; raises INVALID_MODEL for impossible dimensions."""
    if any(dim < 0 for dim in tensor.dims):
        raise invalid(f"a tensor has the shape {list(tensor.dims)}", tensor.name)
    count = int(prod(tensor.dims))
    if count > _MAX_ELEMENTS or len(tensor.dims) > 64:
        raise invalid("a tensor is too large to be real", tensor.name)
    return count


def tokenize_external(tensor: Any, payloads: Payloads, files: ExternalFiles) -> None:
    """Replace a reference to external data by the data (small) or by a token for a view of it (large)."""
    if tensor.data_location != _EXTERNAL:
        return
    size = data_bytes(tensor.data_type, element_count(tensor))
    if size is None:
        raise invalid(f"external data is not possible for data type {tensor.data_type}", tensor.name)
    view = files.view(tensor, size)
    tensor.raw_data = bytes(view) if size < STRIP_BYTES else payloads.add(view)
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")


@dataclass
class TensorReader:
    """Turns TensorProtos of the skeleton into attributes."""

    store: BlobStore
    payloads: Payloads

    def attribute(self, tensor: Any, owner: str) -> tuple[Attribute, TensorType[Attribute]]:
        """Return the value attribute and the type of a tensor; `owner` names it in errors."""
        count = element_count(tensor)
        name = tensor.name or owner
        kind = TensorType(element_of_code(tensor.data_type), list(tensor.dims))
        if tensor.data_type == STRING_CODE:
            if len(tensor.string_data) != count:
                raise invalid(f"a string tensor has {len(tensor.string_data)} of {count} elements", name)
            return RawAttr.of("TENSOR", tensor.SerializeToString(deterministic=True)), kind
        size = data_bytes(tensor.data_type, count)
        if size is None:
            raise invalid(f"a tensor has the unknown data type {tensor.data_type}", name)
        view = self.payloads.find(tensor.raw_data)
        if view is not None:
            self._check_size(len(view), size, name)
            return BlobRefAttr(StringAttr(self.store.put_view(view)), kind), kind
        raw = self._raw(tensor)
        self._check_size(len(raw), size, name)
        if kind.element_type in (IntegerType(64), IntegerType(32)) and count <= DENSE_LIMIT:
            values = np.frombuffer(raw, dtype="<i8" if tensor.data_type == 7 else "<i4").tolist()
            return DenseIntOrFPElementsAttr.from_list(cast("TensorType[IntegerType]", kind), values), kind
        return BlobRefAttr(StringAttr(self.store.put(raw)), kind), kind

    def _raw(self, tensor: Any) -> bytes:
        """Return the content in the encoding of `raw_data`: little-endian, below 8 bits packed."""
        if tensor.HasField("raw_data"):
            return bytes(tensor.raw_data)
        code = tensor.data_type
        if code in (1, 14):
            return np.asarray(tensor.float_data, dtype="<f4").tobytes()
        if code in (11, 15):
            return np.asarray(tensor.double_data, dtype="<f8").tobytes()
        if code == 7:
            return np.asarray(tensor.int64_data, dtype="<i8").tobytes()
        if code in (12, 13):
            return np.asarray(tensor.uint64_data, dtype="<u8").astype("<u4" if code == 12 else "<u8").tobytes()
        width = max(1, (data_bytes(code, 1) or 1))
        return np.asarray(tensor.int32_data, dtype="<i4").astype(f"<i{width}").tobytes()

    @staticmethod
    def _check_size(found: int, expected: int, name: str) -> None:
        if found != expected:
            raise invalid(f"a tensor holds {found} bytes, its shape needs {expected}", name)
