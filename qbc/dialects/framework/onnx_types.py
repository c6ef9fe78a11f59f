"""ONNX element types and their IR types: one table for the frontend and the export, without the onnx package."""

from __future__ import annotations

from functools import cache
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    ComplexType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

from qbc.dialects.framework.types import OptionalType, RawTypeAttr, SequenceType, StringType, UnknownType

STRING_CODE = 8
UNDEFINED_CODE = 0


def _unsigned(bits: int) -> IntegerType:
    return IntegerType(bits, Signedness.UNSIGNED)


@cache
def _table() -> dict[int, tuple[Attribute, int]]:
    """TensorProto.DataType -> (element type, bits of one element in raw_data)."""
    return {
        1: (Float32Type(), 32),
        2: (_unsigned(8), 8),
        3: (IntegerType(8), 8),
        4: (_unsigned(16), 16),
        5: (IntegerType(16), 16),
        6: (IntegerType(32), 32),
        7: (IntegerType(64), 64),
        STRING_CODE: (StringType(), 0),
        9: (IntegerType(1), 8),
        10: (Float16Type(), 16),
        11: (Float64Type(), 64),
        12: (_unsigned(32), 32),
        13: (_unsigned(64), 64),
        14: (ComplexType(Float32Type()), 64),
        15: (ComplexType(Float64Type()), 128),
        16: (BFloat16Type(), 16),
        17: (Float8E4M3FNType(), 8),
        18: (Float8E4M3FNUZType(), 8),
        19: (Float8E5M2Type(), 8),
        20: (Float8E5M2FNUZType(), 8),
        21: (_unsigned(4), 4),
        22: (IntegerType(4), 4),
        23: (Float4E2M1FNType(), 4),
        24: (Float8E8M0FNUType(), 8),
        25: (_unsigned(2), 2),
        26: (IntegerType(2), 2),
    }


@cache
def _codes() -> dict[Attribute, int]:
    return {element: code for code, (element, _) in _table().items()}


def element_of_code(code: int) -> Attribute:
    """Return the element type of an ONNX data type code; codes we do not know give `!framework.unknown`."""
    entry = _table().get(code)
    return entry[0] if entry is not None else UnknownType()


def code_of_element(element: Attribute) -> int:
    """Return the ONNX data type code of an element type, 0 (undefined) for `!framework.unknown`."""
    return _codes().get(element, UNDEFINED_CODE)


def data_bytes(code: int, count: int) -> int | None:
    """Return the size of `count` elements in `raw_data` (packed below 8 bits), or None where it is not fixed."""
    entry = _table().get(code)
    if entry is None or code == STRING_CODE:
        return None
    return -(-entry[1] * count // 8)


def type_of(proto: Any) -> Attribute:
    """Return the IR type of an ONNX TypeProto (dimensions that are not numbers are dynamic)."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        element = element_of_code(proto.tensor_type.elem_type)
        if not proto.tensor_type.HasField("shape"):
            return UnrankedTensorType(element)
        dims = proto.tensor_type.shape.dim
        shape = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else DYNAMIC_INDEX for d in dims]
        return TensorType(element, shape)
    if kind == "sequence_type":
        return SequenceType(type_of(proto.sequence_type.elem_type))
    if kind == "optional_type":
        return OptionalType(type_of(proto.optional_type.elem_type))
    if kind is None:
        return UnknownType()
    return RawTypeAttr(StringAttr(proto.SerializeToString(deterministic=True).hex()))
