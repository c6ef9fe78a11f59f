"""Elementwise ops on two or three operands of equal rank, with numpy broadcasting."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def

from qbc.dialects.common.properties import opt_f64_prop, opt_str_prop
from qbc.dialects.common.shapes import broadcast
from qbc.dialects.mblt.base import (
    TENSOR,
    MbltOp,
    UnaryOp,
    check_activation,
    check_floats,
    element_of,
    require,
    shape_of,
)


class BinaryOp(MbltOp):
    """`y[i] = f(a[i], b[i])`: equal ranks and element types, sizes broadcast."""

    a = operand_def(TENSOR)
    b = operand_def(TENSOR)

    def broadcast_shape(self) -> tuple[int, ...]:
        """Return the broadcast shape of the operands."""
        return broadcast(*(shape_of(operand) for operand in self.operands))

    def check(self) -> None:
        a, b = (element_of(operand) for operand in self.operands)
        require(a == b, "expected operands of one element type, got {} and {}", a, b)

    def infer_result_type(self) -> Attribute:
        return self.with_shape(self.broadcast_shape())


class ArithmeticOp(BinaryOp):
    """A binary op that may carry a fused activation: `y = act(f(a, b))`."""

    activation = opt_str_prop()
    activation_min = opt_f64_prop()
    activation_max = opt_f64_prop()

    def check(self) -> None:
        super().check()
        check_activation(self)


class ComparisonOp(BinaryOp):
    """A binary op with an i1 result."""

    def infer_result_type(self) -> Attribute:
        return self.with_shape(self.broadcast_shape(), i1)


@irdl_op_definition
class AddOp(ArithmeticOp):
    """`y = act(a + b)`."""

    name = "mblt.add"


@irdl_op_definition
class SubOp(ArithmeticOp):
    """`y = act(a - b)`."""

    name = "mblt.sub"


@irdl_op_definition
class MulOp(ArithmeticOp):
    """`y = act(a * b)`."""

    name = "mblt.mul"


@irdl_op_definition
class DivOp(ArithmeticOp):
    """`y = act(a / b)`."""

    name = "mblt.div"


@irdl_op_definition
class MaximumOp(ArithmeticOp):
    """`y = act(max(a, b))`."""

    name = "mblt.maximum"


@irdl_op_definition
class MinimumOp(ArithmeticOp):
    """`y = act(min(a, b))`."""

    name = "mblt.minimum"


@irdl_op_definition
class PowOp(ArithmeticOp):
    """`y = act(a ^ b)`."""

    name = "mblt.pow"

    def check(self) -> None:
        super().check()
        check_floats(self)


@irdl_op_definition
class EqualOp(ComparisonOp):
    """`y = (a == b)`."""

    name = "mblt.equal"


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """`y = (a > b)`."""

    name = "mblt.greater"


@irdl_op_definition
class LessOp(ComparisonOp):
    """`y = (a < b)`."""

    name = "mblt.less"


class LogicalOp(ComparisonOp):
    """A binary op on i1."""

    def check(self) -> None:
        super().check()
        _check_booleans(self)


def _check_booleans(op: MbltOp) -> None:
    element = element_of(op.operands[0])
    require(element == i1, "expected elements of i1, got {}", element)


@irdl_op_definition
class LogicalAndOp(LogicalOp):
    """`y = a and b` on i1."""

    name = "mblt.logical_and"


@irdl_op_definition
class LogicalOrOp(LogicalOp):
    """`y = a or b` on i1."""

    name = "mblt.logical_or"


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """`y = not x` on i1."""

    name = "mblt.logical_not"
    TAKES_INTEGERS: ClassVar[bool] = True

    def check(self) -> None:
        _check_booleans(self)


@irdl_op_definition
class WhereOp(MbltOp):
    """`y = a where condition else b`: equal ranks, sizes broadcast; the condition is i1."""

    name = "mblt.where"
    condition = operand_def(TENSOR)
    a = operand_def(TENSOR)
    b = operand_def(TENSOR)

    def check(self) -> None:
        condition, a, b = (element_of(operand) for operand in self.operands)
        require(condition == i1, f"expected a condition of i1, got {condition}")
        require(a == b, "expected operands of one element type, got {} and {}", a, b)

    def infer_result_type(self) -> Attribute:
        shape = broadcast(*(shape_of(operand) for operand in self.operands))
        return self.with_shape(shape, element_of(self.operands[1]))
