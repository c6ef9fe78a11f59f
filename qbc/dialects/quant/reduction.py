"""Reductions over axes."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from qbc.dialects.common.shapes import reduced_shape
from qbc.dialects.quant.base import BOOL, INT, INTS, UnaryOp, integer, ints, shape_of


class ReduceOp(UnaryOp):
    """Base: reduces `axes` (non-negative); `keep_dims` keeps them with size 1."""

    axes = prop_def(INTS)
    keep_dims = opt_prop_def(BOOL)

    def infer_shape(self) -> tuple[int, ...] | None:
        if "keep_dims" not in self.properties:
            return None
        return reduced_shape(shape_of(self.operands[0]), ints(self, "axes"), bool(integer(self, "keep_dims")))


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
        return reduced_shape(shape, (integer(self, "axis") % len(shape),), bool(integer(self, "keep_dims")))


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """Largest code over axes; input and output have one encoding."""

    name = "quant.reduce_max"


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """Smallest code over axes; input and output have one encoding."""

    name = "quant.reduce_min"
