"""Convolutions: weights are properties, one scale per output channel, the requantization is part of the operation."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common import window_size
from qbc.dialects.quant.base import (
    BLOB,
    FLOAT,
    INT,
    INTS,
    TEXT,
    UnaryOp,
    check_activation,
    integer,
    ints,
    nhwc_of,
)


class WeightedOp(UnaryOp):
    """Base of operations with a constant weight whose axis 0 is the output channel.

    Float levels: `weight` and `bias` are f32, `weight_scale` (f32 per output channel) and `bias_delta` (f32 added to
    the bias) may be set by quantization passes. Materialized: `weight` i8 codes, `bias` (B), `multiplier`, `shift`
    i64 per output channel, `zx` the input zero point, and `y = clamp(z + ((acc*m + 2^(s-1)) >> s), lo, hi)`.
    """

    weight = prop_def(BLOB)
    bias = opt_prop_def(BLOB)
    activation = opt_prop_def(TEXT)
    activation_min = opt_prop_def(FLOAT)
    activation_max = opt_prop_def(FLOAT)
    weight_scale = opt_prop_def(BLOB)
    bias_delta = opt_prop_def(BLOB)
    multiplier = opt_prop_def(BLOB)
    shift = opt_prop_def(BLOB)
    zx = opt_prop_def(INT)
    z = opt_prop_def(INT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)
    plane = opt_prop_def(TEXT)

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weight."""
        return tuple(self.weight.shape)

    def verify_(self) -> None:
        channels = self.weight_shape[0]
        for name in ("bias", "weight_scale", "bias_delta", "multiplier", "shift"):
            blob = self.properties.get(name)
            if isinstance(blob, BlobAttr) and tuple(blob.shape) != (channels,):
                raise VerifyException(f"{name} has shape {list(blob.shape)}, expected [{channels}]")
        super().verify_()
        check_activation(self)


@irdl_op_definition
class Conv2dOp(WeightedOp):
    """2-D convolution on NHWC: `y[n,h,w,o] = sum x[n, h*s+i*d-p, ...] * weight[o,i,j,c] + bias[o]`.

    Weight `[OC, KH, KW, IC/groups]`, padding `[top, left, bottom, right]`; padded positions hold the input zero point.
    """

    name = "quant.conv2d"
    kernel = opt_prop_def(INTS)
    strides = prop_def(INTS)
    padding = prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)

    def infer_shape(self) -> tuple[int, ...] | None:
        batch, height, width, channels = nhwc_of(self)
        out_channels, kernel_h, kernel_w, per_group = self.weight_shape
        if per_group * integer(self, "groups") != channels:
            raise VerifyException(
                f"weight takes {per_group * integer(self, 'groups')} channels, the input has {channels}"
            )
        top, left, bottom, right = ints(self, "padding")
        (stride_h, stride_w), (dilation_h, dilation_w) = ints(self, "strides"), ints(self, "dilations")
        out_h = window_size(height, kernel_h, stride_h, top, bottom, dilation_h)
        out_w = window_size(width, kernel_w, stride_w, left, right, dilation_w)
        return (batch, out_h, out_w, out_channels)


@irdl_op_definition
class TransposeConv2dOp(WeightedOp):
    """Transposed 2-D convolution on NHWC, weight `[OC, KH, KW, IC/groups]`; gaps and borders hold the input zero point.

    `out = (in - 1)*stride - padding + dilation*(kernel - 1) + 1 + output_padding`.
    """

    name = "quant.transpose_conv2d"
    kernel = opt_prop_def(INTS)
    strides = prop_def(INTS)
    padding = prop_def(INTS)
    output_padding = opt_prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)

    def infer_shape(self) -> tuple[int, ...] | None:
        if "output_padding" not in self.properties:
            return None
        batch, height, width, _ = nhwc_of(self)
        out_channels, kernel_h, kernel_w, _ = self.weight_shape
        top, left, bottom, right = ints(self, "padding")
        (stride_h, stride_w), (dilation_h, dilation_w) = ints(self, "strides"), ints(self, "dilations")
        extra_h, extra_w = ints(self, "output_padding")
        out_h = (height - 1) * stride_h - top - bottom + dilation_h * (kernel_h - 1) + 1 + extra_h
        out_w = (width - 1) * stride_w - left - right + dilation_w * (kernel_w - 1) + 1 + extra_w
        return (batch, out_h, out_w, out_channels)


__all__ = ["Conv2dOp", "TransposeConv2dOp", "WeightedOp"]
