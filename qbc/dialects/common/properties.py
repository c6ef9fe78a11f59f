"""Property kinds of tensor ops and their Python values.

| Python value | attribute | text |
| --- | --- | --- |
| list or tuple of int | `DenseArrayBase` of i64 | `[3, 3]` |
| list or tuple of float | `DenseArrayBase` of f64 | `[2.0, 2.0]` |
| bool | i1 `IntegerAttr` | `true` |
| int | i64 `IntegerAttr` | `3` |
| float | f32 or f64 `FloatAttr` | `0.5 : f32`, `0.5` |
| str | `StringAttr` | `"edge"` |
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import base, opt_prop_def, prop_def

INT_LIST = DenseArrayBase.constr(i64)
FLOAT_LIST = DenseArrayBase.constr(f64)
INT = IntegerAttr.constr(i64)
BOOL = IntegerAttr.constr(i1)
F32 = FloatAttr.constr(f32)
F64 = FloatAttr.constr(f64)
STRING = base(StringAttr)


def int_list_prop() -> DenseArrayBase[IntegerType]:
    """Declare a property that holds a list of i64."""
    return prop_def(INT_LIST)


def float_list_prop() -> DenseArrayBase[Float64Type]:
    """Declare a property that holds a list of f64."""
    return prop_def(FLOAT_LIST)


def int_prop() -> IntegerAttr[IntegerType]:
    """Declare an i64 property."""
    return prop_def(INT)


def bool_prop() -> BoolAttr:
    """Declare an i1 property."""
    return prop_def(BOOL)


def f32_prop() -> FloatAttr[Float32Type]:
    """Declare an f32 property."""
    return prop_def(F32)


def f64_prop() -> FloatAttr[Float64Type]:
    """Declare an f64 property."""
    return prop_def(F64)


def opt_f64_prop() -> FloatAttr[Float64Type] | None:
    """Declare an optional f64 property."""
    return opt_prop_def(F64)


def str_prop() -> StringAttr:
    """Declare a string property; the op's verifier checks the choice."""
    return prop_def(STRING)


def opt_str_prop() -> StringAttr | None:
    """Declare an optional string property."""
    return opt_prop_def(STRING)


def int_list(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """Return the attribute of a list of integers."""
    return DenseArrayBase.from_list(i64, [int(value) for value in values])


def float_list(values: Sequence[float]) -> DenseArrayBase[Float64Type]:
    """Return the attribute of a list of f64."""
    return DenseArrayBase.from_list(f64, [float(value) for value in values])


def as_attribute(value: object, float_type: Float32Type | Float64Type = f32) -> Attribute:
    """Return the attribute of a Python value (table above); an attribute stays as it is."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, bool):
        return IntegerAttr(int(value), i1)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float):
        return FloatAttr(value, float_type)
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, Sequence):
        if any(isinstance(entry, float) for entry in value):
            return float_list(value)
        return int_list(value)
    raise TypeError(f"no property kind for {type(value).__name__}")


def as_python(attribute: Attribute) -> object:
    """Return the Python value of a property: the inverse of `as_attribute`; other attributes stay as they are."""
    if isinstance(attribute, DenseArrayBase):
        return tuple(attribute.get_values())
    if isinstance(attribute, IntegerAttr):
        number = int(attribute.value.data)
        return bool(number) if attribute.type == i1 else number
    if isinstance(attribute, FloatAttr):
        return float(attribute.value.data)
    if isinstance(attribute, StringAttr):
        return attribute.data
    return attribute
