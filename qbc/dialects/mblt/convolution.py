"""2-D convolutions on channel-last maps."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import base, irdl_op_definition, operand_def, opt_prop_def, prop_def

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.properties import int_list_prop, int_prop, opt_f64_prop, opt_str_prop
from qbc.dialects.common.shapes import DYNAMIC, window_size
from qbc.dialects.mblt.base import TENSOR, MbltOp, check_activation, check_blob, check_floats, require, shape_of

WINDOW_DEFAULTS: dict[str, object] = {"strides": [1, 1], "padding": [0, 0, 0, 0], "dilations": [1, 1]}


def check_window(op: MbltOp) -> None:
    """Check kernel, strides, padding [top, left, bottom, right] and dilations of an op on N, H, W, C."""
    x = op.operands[0].type
    require(len(shape_of(op.operands[0])) == 4, "expected an operand N, H, W, C of rank 4, got {}", x)
    check_floats(op)
    for name, length, least in (("kernel", 2, 1), ("strides", 2, 1), ("dilations", 2, 1), ("padding", 4, 0)):
        values = op.ints(name)
        require(len(values) == length, "expected {} values in {}, got {}", length, name, list(values))
        require(min(values) >= least, "{} must be at least {}, got {}", name, least, list(values))


def window_shape(op: MbltOp, *, ceil_mode: bool = False) -> tuple[int, int]:
    """Return the output height and width of a sliding window op."""
    _, height, width, _ = shape_of(op.operands[0])
    kernel, strides, dilations = op.ints("kernel"), op.ints("strides"), op.ints("dilations")
    top, left, bottom, right = op.ints("padding")
    out_h = window_size(height, kernel[0], strides[0], top, bottom, dilations[0], ceil_mode=ceil_mode)
    out_w = window_size(width, kernel[1], strides[1], left, right, dilations[1], ceil_mode=ceil_mode)
    require(out_h != 0 and out_w != 0, f"the kernel {list(kernel)} does not fit the padded map of {height}x{width}")
    return out_h, out_w


class ConvolutionOp(MbltOp):
    """What both convolutions share: weight [OC, KH, KW, IC/groups], bias [OC], window, groups, fused activation."""

    x = operand_def(TENSOR)
    weight = prop_def(base(BlobAttr))
    bias = opt_prop_def(base(BlobAttr))
    kernel = int_list_prop()
    strides = int_list_prop()
    padding = int_list_prop()
    dilations = int_list_prop()
    groups = int_prop()
    activation = opt_str_prop()
    activation_min = opt_f64_prop()
    activation_max = opt_f64_prop()

    def check(self) -> None:
        check_window(self)
        check_activation(self)
        groups, channels = self.groups.value.data, shape_of(self.operands[0])[3]
        require(len(self.weight.shape) == 4, "expected a weight of rank 4, got {}", self.weight.type)
        out_channels = self.weight.shape[0]
        require(channels != DYNAMIC, "the number of channels must be known")
        require(groups >= 1 and channels % groups == 0 and out_channels % groups == 0,
                f"groups {groups} must divide the {channels} input and {out_channels} output channels")  # fmt: skip
        check_blob(self.weight, (out_channels, *self.ints("kernel"), channels // groups), "a weight")
        if self.bias is not None:
            check_blob(self.bias, (out_channels,), "a bias")


@irdl_op_definition
class Conv2dOp(ConvolutionOp):
    """`y[n,h,w,o] = act(bias[o] + sum x[n, h*s0+i*d0-top, w*s1+j*d1-left, g*IC/G+c] * weight[o,i,j,c])`.

    x [N, H, W, IC], y [N, OH, OW, OC]; g = o / (OC/groups); padding is [top, left, bottom, right] of zeros.
    """

    name = "mblt.conv2d"
    DEFAULTS: ClassVar[dict[str, object]] = {**WINDOW_DEFAULTS, "groups": 1}

    def infer_result_type(self) -> Attribute:
        out_h, out_w = window_shape(self)
        return self.with_shape((shape_of(self.operands[0])[0], out_h, out_w, self.weight.shape[0]))


@irdl_op_definition
class TransposeConv2dOp(ConvolutionOp):
    """`y[n,h,w,o] = act(bias[o] + sum x[n,i,j,g*IC/G+c] * weight[o,kh,kw,c])` over h = i*s0 + kh*d0 - top, w alike.

    OH = (H-1)*s0 + d0*(KH-1) + 1 + output_padding[0] - top - bottom, and OW alike.
    """

    name = "mblt.transpose_conv2d"
    DEFAULTS: ClassVar[dict[str, object]] = {**WINDOW_DEFAULTS, "groups": 1, "output_padding": [0, 0]}
    output_padding = int_list_prop()

    def check(self) -> None:
        super().check()
        require(len(self.ints("output_padding")) == 2, "expected 2 values in output_padding")

    def infer_result_type(self) -> Attribute:
        batch, height, width, _ = shape_of(self.operands[0])
        top, left, bottom, right = self.ints("padding")
        sizes = (self._size(0, height, top + bottom), self._size(1, width, left + right))
        return self.with_shape((batch, *sizes, self.weight.shape[0]))

    def _size(self, axis: int, size: int, padding: int) -> int:
        if size == DYNAMIC:
            return DYNAMIC
        reach = self.ints("dilations")[axis] * (self.ints("kernel")[axis] - 1) + 1
        full = (size - 1) * self.ints("strides")[axis] + reach + self.ints("output_padding")[axis] - padding
        require(full >= 1, f"padding {list(self.ints('padding'))} leaves no output")
        return full
