"""ONNX form of the reduction family."""

from __future__ import annotations

from xdsl.ir import Operation

from qbc.dialects.common.access import flag, integer, integers, shape_of
from qbc.export.onnx_mblt_axes import axis_in, layout_after_reduction
from qbc.export.onnx_mblt_builder import FIRST, LAST, Emitter, GraphBuilder, Layout, dtype_of, onnx_type


def _reduce(op_type: str) -> Emitter:
    def emit(op: Operation, builder: GraphBuilder) -> None:
        source = op.operands[0]
        rank = len(shape_of(source))
        axes = sorted(axis % rank for axis in integers(op, "axes"))
        keep = flag(op, "keep_dims")
        layout, result_layout = _layouts(builder, op, axes, keep)
        name = builder.get(source, layout)
        if op_type == "ReduceMean" and keep and layout == FIRST and axes == list(range(1, rank - 1)):
            builder.finish(op, builder.node("GlobalAveragePool", [name]), FIRST)
            return
        vector = builder.integers(sorted(axis_in(layout, axis, rank) for axis in axes), "axes")
        builder.finish(op, builder.node(op_type, [name, vector], keepdims=int(keep)), result_layout)

    return emit


def arg_max(op: Operation, builder: GraphBuilder) -> None:
    """`ArgMax` and, where the result is not int64, `Cast`."""
    source = op.operands[0]
    rank = len(shape_of(source))
    axis, keep = integer(op, "axis") % rank, flag(op, "keep_dims")
    layout, result_layout = _layouts(builder, op, [axis], keep)
    name = builder.node("ArgMax", [builder.get(source, layout)], axis=axis_in(layout, axis, rank), keepdims=int(keep))
    dtype = dtype_of(op.results[0])
    if dtype != "int64":
        name = builder.node("Cast", [name], to=onnx_type(dtype))
    builder.finish(op, name, result_layout)


def _layouts(builder: GraphBuilder, op: Operation, axes: list[int], keep: bool) -> tuple[Layout, Layout]:
    """Return the layouts of operand and result."""
    layout = builder.common_layout(op.operands)
    if keep:
        return layout, layout
    after = layout_after_reduction(layout, axes, len(shape_of(op.operands[0])))
    return (LAST, LAST) if after is None else (layout, after)


EMITTERS: dict[str, Emitter] = {
    "mblt.reduce_mean": _reduce("ReduceMean"),
    "mblt.reduce_sum": _reduce("ReduceSum"),
    "mblt.reduce_max": _reduce("ReduceMax"),
    "mblt.reduce_min": _reduce("ReduceMin"),
    "mblt.reduce_l2": _reduce("ReduceL2"),
    "mblt.arg_max": arg_max,
}
