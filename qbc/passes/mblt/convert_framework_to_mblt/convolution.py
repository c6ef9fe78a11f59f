"""Conv and ConvTranspose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, SSAValue

from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import Conv2dOp, TransposeConv2dOp
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts
from qbc.passes.mblt.convert_framework_to_mblt.windows import (
    Window,
    read_window,
    split_padding,
    window_input,
    window_output,
)

if TYPE_CHECKING:
    import numpy.typing as npt


@converts("Conv")
def conv(node: Node) -> SSAValue:
    """Conv with constant weight [OC, IC/G, KH, KW] -> conv2d with weight [OC, KH, KW, IC/G]; 1-D gets KH = 1."""
    weight = _weight(node)
    window = read_window(node, weight.shape[2:])
    value, spatial = window_input(node)
    weight = weight.reshape(*weight.shape[:2], *window.kernel)
    result = node.emit(
        Conv2dOp,
        value,
        weight=node.blob(weight.transpose(0, 2, 3, 1)),
        bias=_bias(node),
        kernel=window.kernel,
        strides=window.strides,
        padding=window.padding,
        dilations=window.dilations,
        groups=node.attr("group"),
    )
    return window_output(node, result, spatial)


@converts("ConvTranspose")
def conv_transpose(node: Node) -> SSAValue:
    """ConvTranspose with constant weight [IC, OC/G, KH, KW] -> transpose_conv2d with weight [OC, KH, KW, IC/G]."""
    weight = _weight(node)
    groups = node.attr("group")
    spatial_axes = len(weight.shape) - 2
    output_padding = node.attr("output_padding") or (0,) * spatial_axes
    window = _transpose_window(node, weight.shape[2:], output_padding)
    output_padding = _extra_output(node, window, output_padding)
    value, spatial = window_input(node)
    in_channels, out_per_group = weight.shape[:2]
    parts = weight.reshape(groups, in_channels // groups, out_per_group, *window.kernel)
    swapped = parts.transpose(0, 2, 3, 4, 1).reshape(groups * out_per_group, *window.kernel, in_channels // groups)
    result = node.emit(
        TransposeConv2dOp,
        value,
        weight=node.blob(swapped),
        bias=_bias(node),
        kernel=window.kernel,
        strides=window.strides,
        padding=window.padding,
        dilations=window.dilations,
        groups=groups,
        output_padding=(0,) * (2 - spatial_axes) + tuple(output_padding),
    )
    return window_output(node, result, spatial)


def _transpose_window(node: Node, kernel: tuple[int, ...], output_padding: tuple[int, ...]) -> Window:
    """Read the window; `output_shape` and auto_pad SAME_* give the padding that yields the asked size."""
    asked = node.attr("output_shape")
    mode = node.attr("auto_pad") or "NOTSET"
    strides = node.attr("strides") or (1,) * len(kernel)
    if asked is None and mode in ("NOTSET", "VALID"):
        return read_window(node, kernel)
    sizes = node.shape(0)[2:]
    if DYNAMIC in sizes:
        node.refuse("the asked output size needs known input sizes")
    dilations = node.attr("dilations") or (1,) * len(kernel)
    wanted = asked or tuple(size * s for size, s in zip(sizes, strides, strict=True))
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(sizes, strides, dilations, kernel, strict=True)]
    totals = [f + extra - out for f, extra, out in zip(full, output_padding, wanted, strict=True)]
    pads = split_padding([max(0, total) for total in totals], mode)
    if len(kernel) == 1:
        return Window((1, kernel[0]), (1, strides[0]), (1, dilations[0]), (0, pads[0]), (0, pads[1]))
    return Window(
        (kernel[0], kernel[1]),
        (strides[0], strides[1]),
        (dilations[0], dilations[1]),
        (pads[0], pads[1]),
        (pads[2], pads[3]),
    )


def _extra_output(node: Node, window: Window, output_padding: tuple[int, ...]) -> tuple[int, ...]:
    """Return the output padding; an `output_shape` beyond what the convolution reaches is padded up to it."""
    asked = node.attr("output_shape")
    if asked is None:
        return output_padding
    offset = 2 - len(asked)
    extra = []
    for axis, (size, wanted) in enumerate(zip(node.shape(0)[2:], asked, strict=True), start=offset):
        reach = (size - 1) * window.strides[axis] + window.dilations[axis] * (window.kernel[axis] - 1) + 1
        extra.append(max(wanted - reach, output_padding[axis - offset]))
    return tuple(extra)


def _weight(node: Node) -> npt.NDArray[Any]:
    weight = node.constant(1, "the weight")
    if weight.dtype.name != "float32":
        node.refuse(f"the weight is {weight.dtype.name}")
    if len(weight.shape) not in (3, 4):
        node.refuse(f"{len(weight.shape) - 2} spatial axes")
    return weight


def _bias(node: Node) -> Attribute | None:
    return node.blob(node.constant(2, "the bias")) if node.has(2) else None
