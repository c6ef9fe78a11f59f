"""Reductions over axes."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from qbc.dialects.quant.base import BOOL, INT, INTS, UnaryOp, integer, ints, shape_of


class ReduceOp(UnaryOp):
    """Base: reduces `axes` (non-negative); `keep_dims` keeps them with size 1."""

    axes = prop_def(INTS)
    keep_dims = opt_prop_def(BOOL)

    def infer_shape(self) -> tuple[int, ...] | None:
        if "keep_dims" not in self.properties:
            return None
        shape = shape_of(self.operands[0])
        axes = {axis % len(shape) for axis in ints(self, "axes")}
        if integer(self, "keep_dims"):
            return tuple(1 if i in axes else size for i, size in enumerate(shape))
        return tuple(size for i, size in enumerate(shape) if i not in axes)


class SumOp(ReduceOp):
    """Base of sum and mean: `y = clamp(z + ((sum (x - zx) * m + 2^(s-1)) >> s), lo, hi)`."""

    zx = opt_prop_def(INT)
    m = opt_prop_def(INT)
    s = opt_prop_def(INT)
    z = opt_prop_def(INT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)


@irdl_op_definition
class ReduceMeanOp(SumOp):
    """Mean over axes; `quant-materialize` makes it a `reduce_sum` whose multiplier holds 1/n."""

    name = "quant.reduce_mean"


@irdl_op_definition
class ReduceSumOp(SumOp):
    """Sum over axes."""

    name = "quant.reduce_sum"


@irdl_op_definition
class ReduceL2Op(SumOp):
    """`sqrt(sum x^2)` over axes: an integer root of the sum of `(x - zx)^2`."""

    name = "quant.reduce_l2"


@irdl_op_definition
class ArgMaxOp(UnaryOp):
    """Index (i32, without an encoding) of the largest code along `axis`; the lowest of equal ones."""

    name = "quant.arg_max"
    axis = prop_def(INT)
    keep_dims = opt_prop_def(BOOL)

    def infer_shape(self) -> tuple[int, ...] | None:
        if "keep_dims" not in self.properties:
            return None
        shape = shape_of(self.operands[0])
        axis = integer(self, "axis") % len(shape)
        middle = (1,) if integer(self, "keep_dims") else ()
        return (*shape[:axis], *middle, *shape[axis + 1 :])


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """Largest code over axes; input and output have one encoding."""

    name = "quant.reduce_max"


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """Smallest code over axes; input and output have one encoding."""

    name = "quant.reduce_min"
