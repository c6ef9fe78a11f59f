"""Pooling windows on `[N, H, W, C]`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT, INT_LIST
from qbc.dialects.npu.base import (
    BLOB,
    KernelOp,
    expect_codes,
    expect_length,
    expect_positive,
    expect_same_element,
    expect_shape,
)
from qbc.dialects.npu.convolution import window_output
from qbc.dialects.npu.types import NpuTensorType


class PoolOp(KernelOp):
    """Shape rule of pooling; padding is explicit, so a ceiling mode has become padding after the end."""

    kernel = prop_def(INT_LIST)
    strides = prop_def(INT_LIST)
    padding = prop_def(INT_LIST)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_codes(inputs, output)
        if len(inputs[0].shape) != 4:
            raise VerifyException("the input must have the shape [N, H, W, C]")
        kernel, strides, padding = (self.integers(name) for name in ("kernel", "strides", "padding"))
        dilations = self.integers("dilations") if "dilations" in self.properties else (1, 1)
        for name, values, length in (("kernel", kernel, 2), ("strides", strides, 2), ("padding", padding, 4)):
            expect_length(name, values, length)
        expect_length("dilations", dilations, 2)
        expect_positive("kernel", kernel)
        expect_positive("strides", strides)
        expect_positive("dilations", dilations)
        batch, height, width, channels = inputs[0].shape
        rows = window_output(height, kernel[0], strides[0], padding[0], padding[2], dilations[0])
        columns = window_output(width, kernel[1], strides[1], padding[1], padding[3], dilations[1])
        expect_shape(output, (batch, rows, columns, channels))


@irdl_op_definition
class MaxPool2dOp(PoolOp):
    """Greatest code of each window; padded positions do not take part."""

    name = "npu.max_pool2d"
    KIND: ClassVar[str] = "max_pool2d"
    dilations = opt_prop_def(INT_LIST)

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
