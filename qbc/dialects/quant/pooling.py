"""Pooling over NHWC windows."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from qbc.dialects.common import window_size
from qbc.dialects.quant.base import BLOB, BOOL, INT, INTS, UnaryOp, integer, ints, nhwc_of


class PoolOp(UnaryOp):
    """Base: a window `kernel` with `strides`, `padding` [top, left, bottom, right] and `dilations`."""

    kernel = prop_def(INTS)
    strides = prop_def(INTS)
    padding = prop_def(INTS)
    dilations = opt_prop_def(INTS)
    ceil_mode = opt_prop_def(BOOL)

    def infer_shape(self) -> tuple[int, ...] | None:
        if "ceil_mode" not in self.properties:
            return None
        batch, height, width, channels = nhwc_of(self)
        top, left, bottom, right = ints(self, "padding")
        kernel, strides = ints(self, "kernel"), ints(self, "strides")
        dilations = ints(self, "dilations") if "dilations" in self.properties else (1, 1)
        ceil_mode = bool(integer(self, "ceil_mode"))
        out_h = window_size(height, kernel[0], strides[0], top, bottom, dilations[0], ceil_mode=ceil_mode)
        out_w = window_size(width, kernel[1], strides[1], left, right, dilations[1], ceil_mode=ceil_mode)
        return (batch, out_h, out_w, channels)


@irdl_op_definition
class MaxPool2dOp(PoolOp):
    """Largest code of each window; input and output have one encoding, padding never wins."""

    name = "quant.max_pool2d"


@irdl_op_definition
class AvgPool2dOp(PoolOp):
    """Mean of each window: sum of `x - zx` over the valid taps, one multiplier for each distinct tap count."""

    name = "quant.avg_pool2d"
    count_include_pad = prop_def(BOOL)
    zx = opt_prop_def(INT)
    z = opt_prop_def(INT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)
    counts = opt_prop_def(BLOB)
    multiplier = opt_prop_def(BLOB)
    shift = opt_prop_def(BLOB)
