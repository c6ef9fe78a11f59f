"""Pooling and reductions."""

from __future__ import annotations

import math

from xdsl.ir import Operation

from qbc.dialects import quant
from qbc.dialects.quant.base import int_attr, integer, ints
from qbc.passes.quant.quant_materialize.workspace import Result, Rule, Workspace, kept, shape_of

_NORM_LIMIT = 16384
_ROOT_LIMIT = (1 << 31) - 1  # the integer root has 31 bits


def max_pool2d(workspace: Workspace, op: Operation) -> Result:
    """Codes move; the result type says the rounding of the size."""
    return Result(kept(op, "kernel", "strides", "padding", "dilations"))


def avg_pool2d(workspace: Workspace, op: Operation) -> Result:
    """One multiplier for each distinct number of taps."""
    import numpy as np

    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    counts = tap_counts(op)
    bound = max(counts) * x.bound
    pairs = [workspace.multiplier(op, x.exact / (y.exact * count), bound) for count in counts]
    return Result(
        {
            **kept(op, "kernel", "strides", "padding"),
            "dilations": op.properties["dilations"],
            "count_include_pad": int_attr(integer(op, "count_include_pad")),
            "zx": int_attr(x.zero_point),
            **workspace.result_range(op),
            "counts": workspace.write(np.array(counts, dtype=np.int64)),
            "multiplier": workspace.write(np.array([m for m, _ in pairs], dtype=np.int64)),
            "shift": workspace.write(np.array([s for _, s in pairs], dtype=np.int64)),
        }
    )


def tap_counts(op: Operation) -> list[int]:
    """Return the distinct numbers of counted taps of all windows, ascending."""
    _, height, width, _ = shape_of(op.operands[0])
    _, out_h, out_w, _ = shape_of(op.results[0])
    top, left, bottom, right = ints(op, "padding")
    kernel, strides, dilations = ints(op, "kernel"), ints(op, "strides"), ints(op, "dilations")
    include = bool(integer(op, "count_include_pad"))
    rows = _axis_counts(height, top, bottom, out_h, kernel[0], strides[0], dilations[0], include)
    columns = _axis_counts(width, left, right, out_w, kernel[1], strides[1], dilations[1], include)
    return sorted({a * b for a in rows for b in columns})


def _axis_counts(
    size: int, before: int, after: int, outputs: int, kernel: int, stride: int, dilation: int, include: bool
) -> set[int]:
    """Return the tap counts of one axis: taps inside the data, or with `include` inside data and padding."""
    low, high = (-before, size + after) if include else (0, size)
    starts = (output * stride - before for output in range(outputs))
    return {sum(low <= start + tap * dilation < high for tap in range(kernel)) for start in starts}


def reduce_sum(workspace: Workspace, op: Operation) -> Result:
    """Sum and mean: the multiplier holds 1/n."""
    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    shape = shape_of(op.operands[0])
    n = math.prod(shape[axis] for axis in ints(op, "axes"))
    ratio = x.exact / y.exact / (n if isinstance(op, quant.ReduceMeanOp) else 1)
    rescale = workspace.rescale(op, ratio, n * x.bound)
    constants = {"zx": int_attr(x.zero_point), **rescale, **workspace.result_range(op)}
    return Result({**kept(op, "axes"), **constants}, quant.ReduceSumOp)


def reduce_l2(workspace: Workspace, op: Operation) -> Result:
    """The root is taken on integers; the multiplier is the ratio of the scales."""
    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    n = math.prod(shape_of(op.operands[0])[axis] for axis in ints(op, "axes"))
    if n > _NORM_LIMIT:
        raise workspace.error(op, f"reduces {n} elements, at most {_NORM_LIMIT} are possible")
    rescale = workspace.rescale(op, x.exact / y.exact, _ROOT_LIMIT)
    constants = {"zx": int_attr(x.zero_point), **rescale, **workspace.result_range(op)}
    return Result({**kept(op, "axes"), **constants})


def arg_max(workspace: Workspace, op: Operation) -> Result:
    """Codes are compared; the result is an index."""
    return Result(kept(op, "axis"))


def reduce_extremum(workspace: Workspace, op: Operation) -> Result:
    """Codes are compared."""
    return Result(kept(op, "axes"))


RULES: dict[type[Operation], Rule] = {
    quant.MaxPool2dOp: max_pool2d,
    quant.AvgPool2dOp: avg_pool2d,
    quant.ReduceMeanOp: reduce_sum,
    quant.ReduceSumOp: reduce_sum,
    quant.ReduceMaxOp: reduce_extremum,
    quant.ReduceMinOp: reduce_extremum,
    quant.ReduceL2Op: reduce_l2,
    quant.ArgMaxOp: arg_max,
}

__all__ = ["RULES", "tap_counts"]
