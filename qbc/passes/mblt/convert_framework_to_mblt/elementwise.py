"""Binary and variadic elementwise operators, comparisons, logic and Where."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType, f32, i1
from xdsl.ir import SSAValue

from qbc.dialects.mblt import (
    AddOp,
    CastOp,
    DivOp,
    EqualOp,
    GreaterOp,
    LessOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    MaximumOp,
    MbltOp,
    MinimumOp,
    MulOp,
    PowOp,
    ReciprocalOp,
    RsqrtOp,
    SqrtOp,
    SquareOp,
    SubOp,
    WhereOp,
    element_of,
    shape_of,
)
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts

BINARY: dict[str, type[MbltOp]] = {
    "Add": AddOp,
    "Sub": SubOp,
    "Mul": MulOp,
    "Div": DivOp,
    "Equal": EqualOp,
    "Greater": GreaterOp,
    "Less": LessOp,
    "And": LogicalAndOp,
    "Or": LogicalOrOp,
}
VARIADIC: dict[str, type[MbltOp]] = {"Max": MaximumOp, "Min": MinimumOp, "Sum": AddOp, "Mean": AddOp}
POWERS: dict[float, type[MbltOp]] = {2.0: SquareOp, 0.5: SqrtOp, -1.0: ReciprocalOp, -0.5: RsqrtOp}


def equal_rank(node: Node, count: int) -> list[SSAValue]:
    """Return the first `count` inputs with equal ranks."""
    rank = max(len(node.shape(index)) for index in range(count))
    return [node.with_rank(index, rank) for index in range(count)]


@converts(*BINARY)
def binary(node: Node) -> SSAValue:
    """`f(a, b)` -> the op of the same name."""
    return node.emit(BINARY[node.op.name.partition(".")[2]], *equal_rank(node, 2))


@converts("GreaterOrEqual", "LessOrEqual")
def or_equal(node: Node) -> SSAValue:
    """`a >= b` -> `not a < b`; `a <= b` -> `not a > b`."""
    inverse: type[MbltOp] = LessOp if node.op.name.endswith("GreaterOrEqual") else GreaterOp
    return node.emit(LogicalNotOp, node.emit(inverse, *equal_rank(node, 2)))


@converts("Xor")
def xor(node: Node) -> SSAValue:
    """`a xor b` -> `not a == b`."""
    return node.emit(LogicalNotOp, node.emit(EqualOp, *equal_rank(node, 2)))


@converts("Not")
def logical_not(node: Node) -> SSAValue:
    """Not -> logical_not."""
    return node.emit(LogicalNotOp, node.value(0))


@converts(*VARIADIC)
def variadic(node: Node) -> SSAValue:
    """Max, Min, Sum, Mean of several operands -> a chain of binary ops; Mean multiplies by 1/n."""
    import numpy as np

    op_class = VARIADIC[node.op.name.partition(".")[2]]
    first, *rest = equal_rank(node, len(node.sources))
    result = first
    for value in rest:
        result = node.emit(op_class, result, value)
    if not node.op.name.endswith(".Mean") or not rest:
        return result
    factor = np.full((1,) * len(shape_of(result)), 1.0 / len(node.sources), np.float32)
    return node.emit(MulOp, result, node.constant_value(factor))


@converts("Pow")
def power(node: Node) -> SSAValue:
    """Pow by 2, 0.5, -1, -0.5 or 1 -> square, sqrt, reciprocal, rsqrt or nothing; else pow."""
    exponent = node.array(1)
    if exponent is not None and exponent.size == 1 and len(exponent.shape) <= len(node.shape(0)):
        number = float(exponent.reshape(-1)[0])
        if number == 1.0:
            return node.value(0)
        if number in POWERS:
            return node.emit(POWERS[number], node.value(0))
    base, exponent_value = equal_rank(node, 2)
    if element_of(base) != f32:
        node.refuse(f"element type {element_of(base)}")
    return node.emit(PowOp, base, _as_float32(node, exponent_value, exponent))


def _as_float32(node: Node, value: SSAValue, data: Any) -> SSAValue:
    """Return `value`, whose constant data is `data`, in float32."""
    if element_of(value) == f32:
        return value
    if data is not None:
        return node.constant_value(data.reshape(shape_of(value)).astype("float32"))
    return node.emit(CastOp, value, result_type=TensorType(f32, list(shape_of(value))))


@converts("Where")
def where(node: Node) -> SSAValue:
    """Where -> where with operands of equal rank."""
    values = equal_rank(node, 3)
    if element_of(values[0]) != i1:
        node.refuse("the condition is not boolean")
    return node.emit(WhereOp, *values)
