"""AttributeProto -> IR attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, TensorType, f32, i64
from xdsl.ir import Attribute

from qbc.dialects.framework.access import tensor_attr
from qbc.dialects.framework.onnx_types import element_of_code
from qbc.dialects.framework.types import RawAttr, StringType
from qbc.frontends.onnx.tensors import TensorReader, invalid

_KINDS = onnx.AttributeProto.AttributeType


@dataclass
class AttributeReader:
    """Turns node attributes into IR attributes; tensors go through the tensor reader."""

    tensors: TensorReader

    def value(self, attribute: Any, expected: str | None, node: str) -> Attribute:
        """Return the IR form of an attribute; raises INVALID_MODEL when it has not the kind the operator wants."""
        kind = _kind(attribute)
        if expected is not None and kind != expected:
            raise invalid(f"the attribute '{attribute.name}' is of kind {kind}, not {expected}", node)
        if kind == "INT":
            return IntegerAttr(attribute.i, i64)
        if kind == "FLOAT":
            return FloatAttr(attribute.f, f32)
        if kind == "STRING":
            return _string(attribute.s)
        if kind == "INTS":
            return DenseArrayBase.from_list(i64, list(attribute.ints))
        if kind == "FLOATS":
            return DenseArrayBase.from_list(f32, list(attribute.floats))
        if kind == "STRINGS":
            return ArrayAttr([_string(item) for item in attribute.strings])
        if kind == "TENSOR":
            return self.tensors.attribute(attribute.t, node)[0]
        if kind == "TYPE_PROTO":
            return RawAttr.of(kind, attribute.tp.SerializeToString(deterministic=True))
        if kind == "SPARSE_TENSOR":
            return RawAttr.of(kind, attribute.sparse_tensor.SerializeToString(deterministic=True))
        if kind in ("GRAPH", "GRAPHS", "UNDEFINED"):
            raise invalid(f"the attribute '{attribute.name}' of kind {kind} is not allowed here", node)
        return RawAttr.of("ATTRIBUTE", attribute.SerializeToString(deterministic=True))

    def sparse(self, tensor: Any, owner: str) -> tuple[Attribute, Attribute]:
        """Return the raw attribute and the (dense) type of a SparseTensorProto."""
        if any(dim < 0 for dim in tensor.dims):
            raise invalid(f"a sparse tensor has the shape {list(tensor.dims)}", owner)
        kind = TensorType(element_of_code(tensor.values.data_type), list(tensor.dims))
        return RawAttr.of("SPARSE_TENSOR", tensor.SerializeToString(deterministic=True)), kind

    def constant(self, node: Any) -> tuple[Attribute, Attribute]:
        """Return value and type of a Constant node, whichever of its attributes it uses."""
        if len(node.attribute) != 1:
            raise invalid("a Constant needs exactly one value", node.name)
        attribute = node.attribute[0]
        name = attribute.name
        if name == "value":
            return self.tensors.attribute(attribute.t, node.name)
        if name == "sparse_value":
            return self.sparse(attribute.sparse_tensor, node.name)
        store = self.tensors.store
        if name in ("value_int", "value_ints"):
            data = np.asarray(attribute.i if name == "value_int" else list(attribute.ints), dtype=np.int64)
        elif name in ("value_float", "value_floats"):
            data = np.asarray(attribute.f if name == "value_float" else list(attribute.floats), dtype=np.float32)
        elif name in ("value_string", "value_strings"):
            return _strings(
                [attribute.s] if name == "value_string" else list(attribute.strings), name == "value_string"
            )
        else:
            raise invalid(f"a Constant has the unknown attribute '{name}'", node.name)
        value = tensor_attr(store, data)
        return value, value.type


def _kind(attribute: Any) -> str:
    if attribute.type in _KINDS.values():
        return str(_KINDS.Name(attribute.type))
    return "UNDEFINED"


def _string(data: bytes) -> Attribute:
    try:
        return StringAttr(data.decode("utf-8"))
    except UnicodeDecodeError:
        return RawAttr.of("STRING", data)


def _strings(items: list[bytes], scalar: bool) -> tuple[Attribute, Attribute]:
    shape = [] if scalar else [len(items)]
    proto = onnx.TensorProto(data_type=onnx.TensorProto.STRING, dims=shape, string_data=items)
    return RawAttr.of("TENSOR", proto.SerializeToString(deterministic=True)), TensorType(StringType(), shape)
