"""Pooling over NHWC windows."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.quant.base import BLOB, BOOL, INT, INTS, UnaryOp, integer, ints, shape_of


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
        batch, height, width, channels = _nhwc(self)
        top, left, bottom, right = ints(self, "padding")
        kernel, strides = ints(self, "kernel"), ints(self, "strides")
        dilations = ints(self, "dilations") if "dilations" in self.properties else (1, 1)
        ceil = bool(integer(self, "ceil_mode"))
        out_h = pooled_size(height, top, bottom, kernel[0], strides[0], dilations[0], ceil)
        out_w = pooled_size(width, left, right, kernel[1], strides[1], dilations[1], ceil)
        return (batch, out_h, out_w, channels)


def pooled_size(size: int, before: int, after: int, kernel: int, stride: int, dilation: int, ceil: bool) -> int:
    """Return the number of windows; with `ceil` a last partial window counts if it starts inside data or padding."""
    span = size + before + after - dilation * (kernel - 1) - 1
    if not ceil:
        return span // stride + 1
    count = -(-span // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def _nhwc(op: UnaryOp) -> tuple[int, int, int, int]:
    shape = shape_of(op.operands[0])
    if len(shape) != 4:
        raise VerifyException(f"takes an NHWC tensor of rank 4, not shape {list(shape)}")
    return shape[0], shape[1], shape[2], shape[3]


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
