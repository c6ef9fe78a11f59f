"""Pooling windows on `[N, H, W, C]`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT, INT_LIST
from qbc.dialects.common.shapes import window_size
from qbc.dialects.npu.base import (
    BLOB,
    KernelOp,
    expect_codes,
    expect_length,
    expect_positive,
    expect_same_element,
)
from qbc.dialects.npu.types import NpuTensorType


class PoolOp(KernelOp):
    """Shape rule of pooling; the result may count positions rounded up, whose windows leave the padded input."""

    kernel = prop_def(INT_LIST)
    strides = prop_def(INT_LIST)
    padding = prop_def(INT_LIST)
    dilations = opt_prop_def(INT_LIST)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_codes(inputs, output)
        if len(inputs[0].shape) != 4 or len(output.shape) != 4:
            raise VerifyException("input and result must have the shape [N, H, W, C]")
        kernel, strides, padding = (self.integers(name) for name in ("kernel", "strides", "padding"))
        dilations = self.integers("dilations") if "dilations" in self.properties else (1, 1)
        for name, values, length in (("kernel", kernel, 2), ("strides", strides, 2), ("padding", padding, 4)):
            expect_length(name, values, length)
        expect_length("dilations", dilations, 2)
        expect_positive("kernel", kernel)
        expect_positive("strides", strides)
        expect_positive("dilations", dilations)
        batch, height, width, channels = inputs[0].shape
        if (output.shape[0], output.shape[-1]) != (batch, channels):
            raise VerifyException("batch or channels of the result are wrong")
        for axis, size in enumerate((height, width)):
            least = window_size(size, kernel[axis], strides[axis], padding[axis], padding[axis + 2], dilations[axis])
            if output.shape[axis + 1] not in (least, least + 1):
                raise VerifyException(
                    f"result size {output.shape[axis + 1]} is not {least} or, rounded up, {least + 1}"
                )


@irdl_op_definition
class MaxPool2dOp(PoolOp):
    """Greatest code of each window; padded positions do not take part."""

    name = "npu.max_pool2d"
    KIND: ClassVar[str] = "max_pool2d"

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        expect_same_element(inputs, output)


@irdl_op_definition
class AvgPool2dOp(PoolOp):
    """Mean of each window: exact sum of `x - zx`, then one multiplier per distinct number of taps."""

    name = "npu.avg_pool2d"
    KIND: ClassVar[str] = "avg_pool2d"
    count_include_pad = prop_def(INT)
    zx = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
    counts = prop_def(BLOB)
    multiplier = prop_def(BLOB)
    shift = prop_def(BLOB)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        shapes = {self.call_constants()[name].shape for name in ("counts", "multiplier", "shift")}
        if len(shapes) != 1:
            raise VerifyException("counts, multiplier and shift must have equal lengths")
