"""Reductions."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def

from qbc.dialects.common.properties import bool_prop, int_list_prop, int_prop
from qbc.dialects.common.shapes import normalize_axis, reduced_shape
from qbc.dialects.mblt.base import TENSOR, MbltOp, check_floats, element_of, require, shape_of


class ReduceOp(MbltOp):
    """A reduction over `axes` (non-negative, ascending, at least one)."""

    DEFAULTS: ClassVar[dict[str, object]] = {"keep_dims": False}
    x = operand_def(TENSOR)
    axes = int_list_prop()
    keep_dims = bool_prop()

    def check(self) -> None:
        axes, rank = self.ints("axes"), len(shape_of(self.operands[0]))
        require(len(axes) >= 1, "expected at least one axis")
        require(list(axes) == sorted(set(axes)), f"axes must ascend without repeats, got {list(axes)}")
        require(axes[0] >= 0 and axes[-1] < rank, f"axes {list(axes)} are outside the rank {rank}")

    def infer_result_type(self) -> Attribute:
        keep = bool(self.value_of("keep_dims"))
        return self.with_shape(reduced_shape(shape_of(self.operands[0]), self.ints("axes"), keep))


class FloatReduceOp(ReduceOp):
    """A reduction whose result is no integer where its elements are integers."""

    def check(self) -> None:
        super().check()
        check_floats(self)


@irdl_op_definition
class ReduceMeanOp(FloatReduceOp):
    """`y = sum(x) / count` over `axes`."""

    name = "mblt.reduce_mean"


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """`y = sum(x)` over `axes`."""

    name = "mblt.reduce_sum"


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """`y = max(x)` over `axes`."""

    name = "mblt.reduce_max"


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """`y = min(x)` over `axes`."""

    name = "mblt.reduce_min"


@irdl_op_definition
class ReduceL2Op(FloatReduceOp):
    """`y = sqrt(sum(x^2))` over `axes`."""

    name = "mblt.reduce_l2"


@irdl_op_definition
class ArgMaxOp(MbltOp):
    """`y = the lowest index of max(x) along axis`; the result holds i64 or i32."""

    name = "mblt.arg_max"
    DEFAULTS: ClassVar[dict[str, object]] = {"keep_dims": False}
    x = operand_def(TENSOR)
    axis = int_prop()
    keep_dims = bool_prop()

    def infer_result_type(self) -> Attribute:
        shape = shape_of(self.operands[0])
        axis = normalize_axis(self.axis.value.data, len(shape))
        element = element_of(self.results[0])
        return self.with_shape(
            reduced_shape(shape, (axis,), bool(self.value_of("keep_dims"))), element if element == i32 else i64
        )
