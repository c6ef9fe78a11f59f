"""ONNX form of the convolution family (channel-first)."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from qbc.dialects.common.access import integer, integers
from qbc.export.onnx_mblt_builder import FIRST, Emitter, GraphBuilder


def conv2d(op: Operation, builder: GraphBuilder) -> None:
    """`Conv` with weights OIHW; a depthwise weight needs no copy."""
    handle = op.properties["weight"]
    weight = np.ascontiguousarray(builder.read(handle).transpose(0, 3, 1, 2))
    kernel = builder.initializer(weight, "weight", (handle, "oihw"))
    inputs = [builder.first(op.operands[0]), kernel, *builder.optional(op, "bias")]
    name = builder.node(
        "Conv",
        inputs,
        kernel_shape=integers(op, "kernel"),
        strides=integers(op, "strides"),
        pads=integers(op, "padding"),
        dilations=integers(op, "dilations", (1, 1)),
        group=integer(op, "groups", 1),
    )
    builder.finish(op, name, FIRST)


def transpose_conv2d(op: Operation, builder: GraphBuilder) -> None:
    """`ConvTranspose` with weights [IC, OC/groups, KH, KW]."""
    handle = op.properties["weight"]
    groups = integer(op, "groups", 1)
    data = builder.read(handle)
    channels, height, width, depth = data.shape
    grouped = data.reshape(groups, channels // groups, height, width, depth).transpose(0, 4, 1, 2, 3)
    weight = np.ascontiguousarray(grouped).reshape(groups * depth, channels // groups, height, width)
    kernel = builder.initializer(weight, "weight", (handle, "iohw", groups))
    inputs = [builder.first(op.operands[0]), kernel, *builder.optional(op, "bias")]
    name = builder.node(
        "ConvTranspose",
        inputs,
        kernel_shape=integers(op, "kernel"),
        strides=integers(op, "strides"),
        pads=integers(op, "padding"),
        output_padding=integers(op, "output_padding", (0, 0)),
        dilations=integers(op, "dilations", (1, 1)),
        group=groups,
    )
    builder.finish(op, name, FIRST)


EMITTERS: dict[str, Emitter] = {
    "mblt.conv2d": conv2d,
    "mblt.transpose_conv2d": transpose_conv2d,
}
