"""Reductions and ArgMax."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qbc.dialects.mblt import (
    AbsOp,
    ArgMaxOp,
    MbltOp,
    NegOp,
    ReduceL2Op,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceSumOp,
    SquareOp,
    element_of,
)
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts

REDUCTIONS: dict[str, type[MbltOp]] = {
    "ReduceMean": ReduceMeanOp,
    "ReduceSum": ReduceSumOp,
    "ReduceMax": ReduceMaxOp,
    "ReduceMin": ReduceMinOp,
    "ReduceL2": ReduceL2Op,
}
# operator -> what is applied before the sum
SUMS_OF: dict[str, type[MbltOp]] = {"ReduceL1": AbsOp, "ReduceSumSquare": SquareOp}


def reduced_axes(node: Node) -> list[int]:
    """Return the reduced axes in ascending order; an empty list means that nothing is reduced."""
    rank = len(node.shape(0))
    given = node.array(1)
    if given is None and node.has(1):
        node.refuse("the axes are not constant")
    if given is not None and given.size:
        return sorted({int(axis) % rank for axis in given.reshape(-1)})
    return [] if node.attr("noop_with_empty_axes") else list(range(rank))


@converts(*REDUCTIONS)
def reduce(node: Node) -> SSAValue:
    """ReduceMean, ReduceSum, ReduceMax, ReduceMin, ReduceL2 -> the op of the same name."""
    return _reduce(node, REDUCTIONS[node.op.name.partition(".")[2]], node.value(0))


@converts(*SUMS_OF)
def reduce_sum_of(node: Node) -> SSAValue:
    """ReduceL1 -> reduce_sum of abs; ReduceSumSquare -> reduce_sum of square."""
    value = node.emit(SUMS_OF[node.op.name.partition(".")[2]], node.value(0))
    return _reduce(node, ReduceSumOp, value)


def _reduce(node: Node, op_class: type[MbltOp], value: SSAValue) -> SSAValue:
    axes = reduced_axes(node)
    if axes:
        return node.emit(op_class, value, axes=axes, keep_dims=bool(node.attr("keepdims")))
    return node.emit(AbsOp, value) if op_class is ReduceL2Op else value


@converts("ArgMax", "ArgMin")
def arg_max(node: Node) -> SSAValue:
    """ArgMax -> arg_max; ArgMin -> arg_max of the negated value."""
    if node.attr("select_last_index"):
        node.refuse("select_last_index")
    value = node.value(0)
    if node.op.name.endswith("ArgMin"):
        if element_of(value) != f32:
            node.refuse(f"element type {element_of(value)}")  # the least integer has no negative
        value = node.emit(NegOp, value)
    axis = node.attr("axis") % len(node.shape(0))
    return node.emit(ArgMaxOp, value, axis=axis, keep_dims=bool(node.attr("keepdims")))
