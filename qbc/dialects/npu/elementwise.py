"""Binary operations with numpy broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, prop_def

from qbc.dialects.common.properties import INT
from qbc.dialects.common.shapes import broadcast
from qbc.dialects.npu.base import KernelOp, expect_codes, expect_element, expect_same_element, expect_shape
from qbc.dialects.npu.types import NpuTensorType


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the numpy broadcast of shapes of any ranks; raises VerifyException when they do not fit."""
    rank = max(len(shape) for shape in shapes)
    return broadcast(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes))


class BinaryOp(KernelOp):
    """Shape rule of binary operations."""

    INPUTS: ClassVar[tuple[int, int]] = (2, 2)
    lo = prop_def(INT)
    hi = prop_def(INT)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_codes(inputs, output)
        expect_shape(output, broadcast_shape(*(value.shape for value in inputs)))


@irdl_op_definition
class AddOp(BinaryOp):
    """`y = clamp(z + (((a-za)*ma + (b-zb)*mb + 2^(s-1)) >> s))`; subtraction has a negative `mb`."""

    name = "npu.add"
    KIND: ClassVar[str] = "add"
    za = prop_def(INT)
    zb = prop_def(INT)
    ma = prop_def(INT)
    mb = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)


@irdl_op_definition
class MulOp(BinaryOp):
    """`y = R((a-za)*(b-zb))`."""

    name = "npu.mul"
    KIND: ClassVar[str] = "mul"
    za = prop_def(INT)
    zb = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)


@irdl_op_definition
class DivOp(BinaryOp):
    """Quotient by exact integer division, rounded half up: ratio `p * 2^-t`."""

    name = "npu.div"
    KIND: ClassVar[str] = "div"
    za = prop_def(INT)
    zb = prop_def(INT)
    p = prop_def(INT)
    t = prop_def(INT)
    z = prop_def(INT)


class SelectOp(BinaryOp):
    """Greater or smaller code of operands with equal encodings."""

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        expect_same_element(inputs, output)


@irdl_op_definition
class MaximumOp(SelectOp):
    """`y = clamp(max(a, b))` of equal encodings."""

    name = "npu.maximum"
    KIND: ClassVar[str] = "maximum"


@irdl_op_definition
class MinimumOp(SelectOp):
    """`y = clamp(min(a, b))` of equal encodings."""

    name = "npu.minimum"
    KIND: ClassVar[str] = "minimum"


class PredicateOp(KernelOp):
    """Comparison or logic whose result is an i8 mask of codes 0 and 1; compared operands have equal encodings."""

    INPUTS: ClassVar[tuple[int, int]] = (2, 2)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_element("mask", output, ("i8",))
        expect_same_element(inputs, inputs[0])
        expect_shape(output, broadcast_shape(*(value.shape for value in inputs)))


@irdl_op_definition
class EqualOp(PredicateOp):
    """`y = (a == b)` on codes."""

    name = "npu.equal"
    KIND: ClassVar[str] = "equal"


@irdl_op_definition
class GreaterOp(PredicateOp):
    """`y = (a > b)` on codes."""

    name = "npu.greater"
    KIND: ClassVar[str] = "greater"


@irdl_op_definition
class LessOp(PredicateOp):
    """`y = (a < b)` on codes."""

    name = "npu.less"
    KIND: ClassVar[str] = "less"


@irdl_op_definition
class LogicalAndOp(PredicateOp):
    """Both masks are not 0."""

    name = "npu.logical_and"
    KIND: ClassVar[str] = "logical_and"


@irdl_op_definition
class LogicalOrOp(PredicateOp):
    """One of the masks is not 0."""

    name = "npu.logical_or"
    KIND: ClassVar[str] = "logical_or"


@irdl_op_definition
class LogicalNotOp(PredicateOp):
    """The mask is 0."""

    name = "npu.logical_not"
    KIND: ClassVar[str] = "logical_not"
    INPUTS: ClassVar[tuple[int, int]] = (1, 1)


@irdl_op_definition
class WhereOp(KernelOp):
    """`y = a` where the i8 mask is not 0, else `b`; `a`, `b` and the result share one encoding."""

    name = "npu.where"
    KIND: ClassVar[str] = "where"
    INPUTS: ClassVar[tuple[int, int]] = (3, 3)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_element("mask", inputs[0], ("i8",))
        expect_same_element(inputs[1:], output)
        expect_shape(output, broadcast_shape(*(value.shape for value in inputs)))
