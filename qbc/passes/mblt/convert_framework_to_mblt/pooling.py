"""MaxPool, AveragePool and the global pools."""

from __future__ import annotations

from xdsl.ir import SSAValue

from qbc.dialects.common.shapes import DYNAMIC, window_size
from qbc.dialects.mblt import AvgPool2dOp, MaxPool2dOp, ReduceMaxOp, ReduceMeanOp, shape_of
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts
from qbc.passes.mblt.convert_framework_to_mblt.windows import Window, read_window, window_input, window_output


@converts("MaxPool")
def max_pool(node: Node) -> SSAValue:
    """MaxPool -> max_pool2d; ceil mode becomes end padding, which never wins."""
    if node.is_used(1):
        node.refuse("the indices are used")
    return _pool(node, MaxPool2dOp)


@converts("AveragePool")
def average_pool(node: Node) -> SSAValue:
    """AveragePool -> avg_pool2d."""
    return _pool(node, AvgPool2dOp, count_include_pad=bool(node.attr("count_include_pad")))


def _pool(node: Node, op_class: type[MaxPool2dOp | AvgPool2dOp], **properties: bool) -> SSAValue:
    window = read_window(node, node.attr("kernel_shape"))
    value, spatial = window_input(node)
    ceil_mode = bool(node.attr("ceil_mode")) and (node.attr("auto_pad") or "NOTSET") == "NOTSET"
    padding = window.padding
    if ceil_mode and not properties.get("count_include_pad"):
        padding, ceil_mode = _explicit_ceil(window, shape_of(value)[1:3])
    result = node.emit(
        op_class,
        value,
        kernel=window.kernel,
        strides=window.strides,
        padding=padding,
        dilations=window.dilations,
        ceil_mode=ceil_mode,
        result_type=None,
        **properties,
    )
    return window_output(node, result, spatial)


def _explicit_ceil(window: Window, sizes: tuple[int, ...]) -> tuple[list[int], bool]:
    """Return padding that makes floor mode give the windows of ceil mode (unless a size is unknown)."""
    if DYNAMIC in sizes:
        return window.padding, True
    after = []
    for axis, size in enumerate(sizes):
        kernel, stride, dilation = window.kernel[axis], window.strides[axis], window.dilations[axis]
        before, end = window.before[axis], window.after[axis]
        count = window_size(size, kernel, stride, before, end, dilation, ceil_mode=True)
        reach = (count - 1) * stride + dilation * (kernel - 1) + 1
        after.append(max(end, reach - size - before))
    return [*window.before, *after], False


@converts("GlobalAveragePool")
def global_average_pool(node: Node) -> SSAValue:
    """GlobalAveragePool -> reduce_mean over all spatial axes."""
    axes = range(2, len(node.shape(0)))
    return node.emit(ReduceMeanOp, node.value(0), axes=list(axes), keep_dims=True)


@converts("GlobalMaxPool")
def global_max_pool(node: Node) -> SSAValue:
    """GlobalMaxPool -> reduce_max over all spatial axes."""
    axes = range(2, len(node.shape(0)))
    return node.emit(ReduceMaxOp, node.value(0), axes=list(axes), keep_dims=True)
