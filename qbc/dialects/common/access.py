"""Read properties of an operation by name as Python values, typed; a missing property without a default is a KeyError.

For code that treats many operations alike (execution, export, matchers); an op's own accessors serve elsewhere.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects.common.properties import as_python


def integers(op: Operation, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Return a list-of-integers property."""
    return cast("tuple[int, ...]", _value(op, name, default))


def numbers(op: Operation, name: str) -> tuple[float, ...]:
    """Return a list-of-floats property."""
    return cast("tuple[float, ...]", _value(op, name, None))


def integer(op: Operation, name: str, default: int | None = None) -> int:
    """Return an integer property."""
    return cast("int", _value(op, name, default))


def number(op: Operation, name: str, default: float | None = None) -> float:
    """Return a floating-point property."""
    return cast("float", _value(op, name, default))


def flag(op: Operation, name: str, default: bool = False) -> bool:
    """Return a boolean property."""
    return cast("bool", _value(op, name, default))


def text(op: Operation, name: str, default: str | None = None) -> str:
    """Return a string property."""
    return cast("str", _value(op, name, default))


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the shape of a tensor value (negative for a dynamic dimension)."""
    return tensor_type(value).get_shape()


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """Return the type of a value that is a tensor; raises TypeError for any other."""
    if not isinstance(value.type, TensorType):
        raise TypeError(f"expected a tensor, got {value.type}")
    return value.type


def _value(op: Operation, name: str, default: object) -> object:
    attribute = op.properties.get(name)
    if attribute is not None:
        return as_python(attribute)
    if default is None:
        raise KeyError(f"{op.name} has no property {name!r}")
    return default
