"""ONNX form of the normalization family."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from qbc.dialects.common.access import integer, number, shape_of, text
from qbc.export.onnx_mblt_axes import axis_in
from qbc.export.onnx_mblt_builder import FIRST, LAST, Emitter, GraphBuilder


def batch_norm(op: Operation, builder: GraphBuilder) -> None:
    """`BatchNormalization` (channel-first)."""
    constants = [name for key in ("scale", "bias", "mean", "variance") for name in builder.optional(op, key)]
    inputs = [builder.first(op.operands[0]), *constants]
    builder.finish(op, builder.node("BatchNormalization", inputs, epsilon=number(op, "epsilon")), FIRST)


def instance_norm(op: Operation, builder: GraphBuilder) -> None:
    """`InstanceNormalization` (channel-first)."""
    channels = shape_of(op.operands[0])[-1]
    scale = builder.optional(op, "scale") or [builder.initializer(np.ones(channels, np.float32), "scale")]
    bias = builder.optional(op, "bias") or [builder.initializer(np.zeros(channels, np.float32), "bias")]
    inputs = [builder.first(op.operands[0]), *scale, *bias]
    builder.finish(op, builder.node("InstanceNormalization", inputs, epsilon=number(op, "epsilon")), FIRST)


def layer_norm(op: Operation, builder: GraphBuilder) -> None:
    """`LayerNormalization` over the trailing axes (channel-last), or the source's spelling by moments."""
    if text(op, "variance", "") == "moments":
        _layer_norm_from_moments(op, builder)
        return
    rank = integer(op, "normalized_rank")
    normalized = shape_of(op.operands[0])[-rank:]
    scale = builder.optional(op, "scale") or [builder.initializer(np.ones(normalized, np.float32), "scale")]
    inputs = [builder.last(op.operands[0]), *scale, *builder.optional(op, "bias")]
    builder.finish(op, builder.node("LayerNormalization", inputs, axis=-rank, epsilon=number(op, "epsilon")), LAST)


def _layer_norm_from_moments(op: Operation, builder: GraphBuilder) -> None:
    """`(x - mean) * (scale / sqrt(max(mean(x^2) - mean^2, 0) + epsilon)) + bias`, node by node."""
    source = op.operands[0]
    x = builder.last(source)
    axes = builder.integers(range(-integer(op, "normalized_rank"), 0), "axes")
    mean = builder.node("ReduceMean", [x, axes], keepdims=1)
    mean_of_squares = builder.node("ReduceMean", [builder.node("Mul", [x, x]), axes], keepdims=1)
    difference = builder.node("Sub", [mean_of_squares, builder.node("Mul", [mean, mean])])
    variance = builder.node("Max", [difference, builder.scalar(0.0, "zero", source)])
    epsilon = builder.scalar(number(op, "epsilon"), "epsilon", source)
    deviation = builder.node("Sqrt", [builder.node("Add", [variance, epsilon])])
    factor = builder.node("Reciprocal", [deviation])
    for scale in builder.optional(op, "scale"):
        factor = builder.node("Mul", [factor, scale])
    result = builder.node("Mul", [builder.node("Sub", [x, mean]), factor])
    for bias in builder.optional(op, "bias"):
        result = builder.node("Add", [result, bias])
    builder.finish(op, result, LAST)


def softmax(op: Operation, builder: GraphBuilder) -> None:
    """`Softmax`; a `beta` other than 1 multiplies its input."""
    source = op.operands[0]
    layout = builder.common_layout(op.operands)
    name = builder.get(source, layout)
    beta = number(op, "beta", 1.0)
    if beta != 1.0:
        name = builder.node("Mul", [name, builder.scalar(beta, "beta", source)])
    axis = axis_in(layout, integer(op, "axis"), len(shape_of(source)))
    builder.finish(op, builder.node("Softmax", [name], axis=axis), layout)


def log_softmax(op: Operation, builder: GraphBuilder) -> None:
    """`LogSoftmax`."""
    source = op.operands[0]
    layout = builder.common_layout(op.operands)
    axis = axis_in(layout, integer(op, "axis"), len(shape_of(source)))
    builder.finish(op, builder.node("LogSoftmax", [builder.get(source, layout)], axis=axis), layout)


EMITTERS: dict[str, Emitter] = {
    "mblt.batch_norm": batch_norm,
    "mblt.instance_norm": instance_norm,
    "mblt.layer_norm": layer_norm,
    "mblt.softmax": softmax,
    "mblt.log_softmax": log_softmax,
}
