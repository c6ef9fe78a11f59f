"""Reductions over axes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT, INT_LIST
from qbc.dialects.common.shapes import reduced_shape
from qbc.dialects.npu.base import KernelOp, expect_codes, expect_element, expect_same_element
from qbc.dialects.npu.types import NpuTensorType


def expect_reduced(output: NpuTensorType, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Raise unless the output has the shape after a reduction over `axes`, which stay with size 1 or go."""
    kept, dropped = reduced_shape(shape, axes, True), reduced_shape(shape, axes, False)
    if output.shape not in (kept, dropped):
        raise VerifyException(
            f"result shape is {list(output.shape)}, the operation gives {list(kept)} or {list(dropped)}"
        )


class ReduceOp(KernelOp):
    """Reduction over `axes`; the result keeps the reduced axes with size 1 or drops them."""

    axes = prop_def(INT_LIST)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_codes(inputs, output)
        shape, axes = inputs[0].shape, self.integers("axes")
        if not axes or len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
            raise VerifyException(f"axes {list(axes)} are not distinct axes of {list(shape)}")
        expect_reduced(output, shape, axes)


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """`y = R(sum (x - zx))`; a mean has 1/n in its multiplier."""

    name = "npu.reduce_sum"
    KIND: ClassVar[str] = "reduce_sum"
    zx = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)


@irdl_op_definition
class ReduceL2Op(ReduceOp):
    """Root of the sum of squares, by an integer square root."""

    name = "npu.reduce_l2"
    KIND: ClassVar[str] = "reduce_l2"
    zx = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)


@irdl_op_definition
class ArgMaxOp(KernelOp):
    """Index (i32) of the greatest code along `axis`; of equal codes the first."""

    name = "npu.arg_max"
    KIND: ClassVar[str] = "arg_max"
    axis = prop_def(INT)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_element("input", inputs[0], ("i8", "i16"))
        expect_element("output", output, ("i32",))
        shape, axis = inputs[0].shape, self.integer("axis")
        if not 0 <= axis < len(shape):
            raise VerifyException(f"axis {axis} is not an axis of {list(shape)}")
        expect_reduced(output, shape, (axis,))


class ExtremeOp(ReduceOp):
    """Greatest or smallest code."""

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        expect_same_element(inputs, output)


@irdl_op_definition
class ReduceMaxOp(ExtremeOp):
    """Greatest code over the axes."""

    name = "npu.reduce_max"
    KIND: ClassVar[str] = "reduce_max"


@irdl_op_definition
class ReduceMinOp(ExtremeOp):
    """Smallest code over the axes."""

    name = "npu.reduce_min"
    KIND: ClassVar[str] = "reduce_min"
