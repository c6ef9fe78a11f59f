"""Arithmetic, comparison and selection with numpy broadcasting; operands of equal rank.

Masks are tensors of i1 without an encoding; in memory they are 8-bit codes 0 and 1.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common import broadcast
from qbc.dialects.quant.base import INT, BinaryOp, QuantOp, SameShapeOp, shape_of


@irdl_op_definition
class AddOp(BinaryOp):
    """`y = a + b`. Materialized: `clamp(z + (((a-za)*ma + (b-zb)*mb + 2^(s-1)) >> s))`; a difference has `mb < 0`."""

    name = "quant.add"
    za = opt_prop_def(INT)
    zb = opt_prop_def(INT)
    ma = opt_prop_def(INT)
    mb = opt_prop_def(INT)
    s = opt_prop_def(INT)
    z = opt_prop_def(INT)


@irdl_op_definition
class SubOp(BinaryOp):
    """`y = a - b`; `quant-materialize` makes it an `add` with a negative second multiplier."""

    name = "quant.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """`y = a * b`. Materialized: `clamp(z + (((a-za)*(b-zb)*m + 2^(s-1)) >> s))`."""

    name = "quant.mul"
    za = opt_prop_def(INT)
    zb = opt_prop_def(INT)
    m = opt_prop_def(INT)
    s = opt_prop_def(INT)
    z = opt_prop_def(INT)


@irdl_op_definition
class DivOp(BinaryOp):
    """`y = a / b`. Materialized: `n = (a-za)*p` with the sign of `b-zb`, `D = |b-zb| << t`, `z + (2n + D) // (2D)`."""

    name = "quant.div"
    za = opt_prop_def(INT)
    zb = opt_prop_def(INT)
    p = opt_prop_def(INT)
    t = opt_prop_def(INT)
    z = opt_prop_def(INT)


@irdl_op_definition
class MaximumOp(BinaryOp):
    """`y = max(a, b)` on codes: operands and result have one encoding."""

    name = "quant.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """`y = min(a, b)` on codes: operands and result have one encoding."""

    name = "quant.minimum"


class MaskOp(QuantOp):
    """Base: two operands, the result is a mask."""

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_shape(self) -> tuple[int, ...] | None:
        return broadcast(shape_of(self.operands[0]), shape_of(self.operands[1]))

    def verify_(self) -> None:
        super().verify_()
        require_mask(self.results[0], "the result")


def require_mask(value: SSAValue, what: str) -> None:
    """Raise VerifyException unless a value is a tensor of i1."""
    if not isinstance(value.type, TensorType) or value.type.element_type != i1:
        raise VerifyException(f"{what} is a mask of i1, not {value.type}")


@irdl_op_definition
class EqualOp(MaskOp):
    """`a == b` on codes of one encoding, or on indices."""

    name = "quant.equal"


@irdl_op_definition
class GreaterOp(MaskOp):
    """`a > b` on codes of one encoding, or on indices."""

    name = "quant.greater"


@irdl_op_definition
class LessOp(MaskOp):
    """`a < b` on codes of one encoding, or on indices."""

    name = "quant.less"


@irdl_op_definition
class LogicalAndOp(MaskOp):
    """`a and b` of masks."""

    name = "quant.logical_and"


@irdl_op_definition
class LogicalOrOp(MaskOp):
    """`a or b` of masks."""

    name = "quant.logical_or"


@irdl_op_definition
class LogicalNotOp(SameShapeOp):
    """`not x` of a mask."""

    name = "quant.logical_not"

    def verify_(self) -> None:
        super().verify_()
        require_mask(self.operands[0], "the operand")


@irdl_op_definition
class WhereOp(QuantOp):
    """`y = a where condition else b` on codes: `a`, `b` and the result have one encoding; the condition is a mask."""

    name = "quant.where"
    condition = operand_def(TensorType)
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_shape(self) -> tuple[int, ...] | None:
        return broadcast(*(shape_of(value) for value in self.operands))

    def verify_(self) -> None:
        super().verify_()
        require_mask(self.operands[0], "the condition")
