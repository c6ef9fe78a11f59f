"""Normalizations and softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, SSAValue

from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import (
    AbsOp,
    AddOp,
    BatchNormOp,
    DivOp,
    InstanceNormOp,
    LayerNormOp,
    LinearOp,
    LogSoftmaxOp,
    MaximumOp,
    MulOp,
    PowOp,
    ReduceL2Op,
    ReduceMeanOp,
    ReduceSumOp,
    RsqrtOp,
    SoftmaxOp,
    SquareOp,
    shape_of,
)
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts

if TYPE_CHECKING:
    import numpy.typing as npt


@converts("BatchNormalization")
def batch_normalization(node: Node) -> SSAValue:
    """BatchNormalization at inference -> batch_norm on the channel-last value."""
    if node.attr("training_mode") or any(node.is_used(index) for index in (1, 2)):
        node.refuse("training mode")
    names = ("scale", "bias", "mean", "variance")
    arrays = [_float32(node, index + 1, name) for index, name in enumerate(names)]
    blobs = {name: node.blob(array) for name, array in zip(names, arrays, strict=True)}
    value = node.channel_last(node.value(0)) if len(node.shape(0)) > 2 else node.value(0)
    result = node.emit(BatchNormOp, value, epsilon=node.attr("epsilon"), **blobs)
    return node.channel_first(result) if len(node.shape(0)) > 2 else result


@converts("InstanceNormalization")
def instance_normalization(node: Node) -> SSAValue:
    """InstanceNormalization -> instance_norm on the channel-last value."""
    result = node.emit(
        InstanceNormOp,
        node.channel_last(node.value(0)),
        scale=node.blob(_float32(node, 1, "scale")),
        bias=node.blob(_float32(node, 2, "bias")),
        epsilon=node.attr("epsilon"),
    )
    return node.channel_first(result)


@converts("GroupNormalization")
def group_normalization(node: Node) -> SSAValue:
    """GroupNormalization -> instance_norm of [N, elements of a group, groups], then the affine part a channel."""
    import numpy as np

    shape, groups = node.shape(0), node.attr("num_groups")
    if DYNAMIC in shape:
        node.refuse("an unknown size")
    flat = node.reshape(node.value(0), (shape[0], groups, int(np.prod(shape[1:])) // groups))
    unit = node.emit(
        InstanceNormOp,
        node.channel_last(flat),
        scale=node.blob(np.ones(groups, np.float32)),
        bias=node.blob(np.zeros(groups, np.float32)),
        epsilon=node.attr("epsilon"),
    )
    value = node.reshape(node.channel_first(unit), shape)
    channels = (1, shape[1], *(1,) * (len(shape) - 2))
    scaled = node.emit(MulOp, value, node.constant_value(_float32(node, 1, "scale").reshape(channels)))
    return node.emit(AddOp, scaled, node.constant_value(_float32(node, 2, "bias").reshape(channels)))


@converts("LayerNormalization")
def layer_normalization(node: Node) -> SSAValue:
    """LayerNormalization over trailing axes -> layer_norm."""
    if any(node.is_used(index) for index in (1, 2)):
        node.refuse("the mean or the deviation is used")
    shape = node.shape(0)
    axis = node.attr("axis") % len(shape)
    trailing = shape[axis:]
    if DYNAMIC in trailing:
        node.refuse("a normalized size is unknown")
    return node.emit(
        LayerNormOp,
        node.value(0),
        normalized_rank=len(trailing),
        scale=_trailing(node, 1, trailing, "the scale"),
        bias=_trailing(node, 2, trailing, "the bias"),
        epsilon=node.attr("epsilon"),
    )


def _trailing(node: Node, index: int, shape: tuple[int, ...], what: str) -> Attribute | None:
    import numpy as np

    if not node.has(index):
        return None
    data = _float32(node, index, what)
    squeezed = data.reshape(data.shape[-len(shape) :]) if data.ndim > len(shape) else data
    return node.blob(np.ascontiguousarray(np.broadcast_to(squeezed, shape)))


@converts("RMSNormalization")
def rms_normalization(node: Node) -> SSAValue:
    """`x * rsqrt(mean(x^2) + epsilon) * scale` over trailing axes, as separate ops."""
    import numpy as np

    value, shape = node.value(0), node.shape(0)
    axes = list(range(node.attr("axis") % len(shape), len(shape)))
    mean = node.emit(ReduceMeanOp, node.emit(SquareOp, value), axes=axes, keep_dims=True)
    epsilon = node.constant_value(np.full((1,) * len(shape), node.attr("epsilon"), np.float32))
    unit = node.emit(MulOp, value, node.emit(RsqrtOp, node.emit(AddOp, mean, epsilon)))
    return node.emit(MulOp, unit, node.with_rank(1, len(shape)))


@converts("LpNormalization")
def lp_normalization(node: Node) -> SSAValue:
    """LpNormalization -> x / reduce_l2(x) or x / reduce_sum(|x|); a vector of zeros stays zero."""
    import numpy as np

    value = node.value(0)
    axis = node.attr("axis") % len(shape_of(value))
    if node.attr("p") == 2:
        norm = node.emit(ReduceL2Op, value, axes=[axis], keep_dims=True)
    else:
        norm = node.emit(ReduceSumOp, node.emit(AbsOp, value), axes=[axis], keep_dims=True)
    tiny = node.constant_value(np.full((1,) * len(shape_of(value)), np.finfo(np.float32).tiny, np.float32))
    return node.emit(DivOp, value, node.emit(MaximumOp, norm, tiny))


@converts("LRN")
def local_response_normalization(node: Node) -> SSAValue:
    """`x * (bias + alpha/size * sum x^2)^-beta` over neighbouring channels -> square, linear, pow, mul.

    The sum over a window of channels is a product with a band matrix on the channel-last value.
    """
    import numpy as np

    shape, size = node.shape(0), node.attr("size")
    if len(shape) < 3 or shape[1] == DYNAMIC:
        node.refuse("the number of channels is unknown")
    index = np.arange(shape[1])
    offset = index[None, :] - index[:, None]
    inside = (offset >= -((size - 1) // 2)) & (offset <= size // 2)
    band = np.where(inside, np.float32(node.attr("alpha") / size), np.float32(0.0)).astype(np.float32)
    value = node.channel_last(node.value(0))
    bias = np.full(shape[1], node.attr("bias"), np.float32)
    scale = node.emit(LinearOp, node.emit(SquareOp, value), weight=node.blob(band), bias=node.blob(bias))
    exponent = node.constant_value(np.full((1,) * len(shape), -node.attr("beta"), np.float32))
    return node.channel_first(node.emit(MulOp, value, node.emit(PowOp, scale, exponent)))


@converts("Softmax")
def softmax(node: Node) -> SSAValue:
    """Softmax -> softmax with a non-negative axis."""
    return node.emit(SoftmaxOp, node.value(0), axis=node.attr("axis") % max(len(node.shape(0)), 1))


@converts("LogSoftmax")
def log_softmax(node: Node) -> SSAValue:
    """LogSoftmax -> log_softmax with a non-negative axis."""
    return node.emit(LogSoftmaxOp, node.value(0), axis=node.attr("axis") % max(len(node.shape(0)), 1))


def _float32(node: Node, index: int, what: str) -> npt.NDArray[Any]:
    data = node.constant(index, what)
    if data.dtype.name != "float32":
        node.refuse(f"{what} is {data.dtype.name}")
    return data
