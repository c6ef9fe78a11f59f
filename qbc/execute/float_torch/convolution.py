"""Float kernels of the convolution family."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from xdsl.ir import Operation

from qbc.execute.float_torch.fused import with_activation
from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, integer, integers
from qbc.execute.float_torch.window import Window, map_size, to_nchw, to_nhwc


def conv2d(op: Operation, scope: Scope) -> Kernel:
    """`y[n,h,w,o] = bias[o] + sum x[n, h*sh + kh*dh - top, ...] * weight[o,kh,kw,i]`, zero outside."""
    weight = to_nchw(scope.tensor(op.properties["weight"]))
    bias = scope.optional(op, "bias")
    window = Window.of(op)
    groups = integer(op, "groups", 1)

    def kernel(x: torch.Tensor) -> torch.Tensor:
        padded = window.pad(to_nchw(x), 0.0)
        return to_nhwc(functional.conv2d(padded, weight, bias, window.strides, 0, window.dilations, groups))

    return with_activation(op, kernel)


def transpose_conv2d(op: Operation, scope: Scope) -> Kernel:
    """The adjoint of `conv2d`: inputs are spread by `strides`; what lies in the padding is cut off."""
    weight = scope.tensor(op.properties["weight"])
    bias = scope.optional(op, "bias")
    groups = integer(op, "groups", 1)
    channels, height, width, depth = weight.shape
    grouped = weight.reshape(groups, channels // groups, height, width, depth)
    taps = grouped.permute(0, 4, 1, 2, 3).reshape(groups * depth, channels // groups, height, width)
    strides, dilations = integers(op, "strides"), integers(op, "dilations", (1, 1))
    top, left = integers(op, "padding")[:2]
    out_height, out_width = map_size(op, op.results[0])

    def kernel(x: torch.Tensor) -> torch.Tensor:
        full = functional.conv_transpose2d(
            to_nchw(x), taps, None, strides, padding=0, output_padding=0, groups=groups, dilation=dilations
        )
        bottom, right = out_height + top - full.shape[2], out_width + left - full.shape[3]
        cut = to_nhwc(functional.pad(full, (-left, right, -top, bottom)))
        return cut if bias is None else cut + bias

    return with_activation(op, kernel)


KERNELS: dict[str, KernelFactory] = {"mblt.conv2d": conv2d, "mblt.transpose_conv2d": transpose_conv2d}
