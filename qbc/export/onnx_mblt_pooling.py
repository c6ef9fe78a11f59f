"""ONNX form of the pooling family and of resize (channel-first).

Padding at the end is written out as what the windows reach, so nothing depends on how a runtime reads `ceil_mode`.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from qbc.dialects.common.access import flag, integers, numbers, shape_of, text
from qbc.export.onnx_mblt_builder import FIRST, Emitter, GraphBuilder


def max_pool2d(op: Operation, builder: GraphBuilder) -> None:
    """`MaxPool`."""
    name = builder.node(
        "MaxPool",
        [builder.first(op.operands[0])],
        kernel_shape=integers(op, "kernel"),
        strides=integers(op, "strides"),
        dilations=integers(op, "dilations", (1, 1)),
        pads=_reached_padding(op),
    )
    builder.finish(op, name, FIRST)


def avg_pool2d(op: Operation, builder: GraphBuilder) -> None:
    """`AveragePool`; padding that counts as elements beside overhang that does not becomes a `Pad` before it."""
    source = builder.first(op.operands[0])
    declared, reached = integers(op, "padding"), _reached_padding(op)
    include = flag(op, "count_include_pad")
    if include and any(far > near for far, near in zip(reached, declared, strict=True)):
        amounts = [0, 0, declared[0], declared[1], 0, 0, declared[2], declared[3]]
        source = builder.node("Pad", [source, builder.integers(amounts, "pads")])
        reached = [max(far - near, 0) for far, near in zip(reached, declared, strict=True)]
        include = False
    name = builder.node(
        "AveragePool",
        [source],
        kernel_shape=integers(op, "kernel"),
        strides=integers(op, "strides"),
        dilations=integers(op, "dilations", (1, 1)),
        pads=reached,
        count_include_pad=int(include),
    )
    builder.finish(op, name, FIRST)


def _reached_padding(op: Operation) -> list[int]:
    """Padding that the windows reach: declared at the start, and at the end more (ceil mode) or as declared."""
    padding, kernel, strides = integers(op, "padding"), integers(op, "kernel"), integers(op, "strides")
    dilations = integers(op, "dilations", (1, 1))
    source, target = shape_of(op.operands[0])[1:3], shape_of(op.results[0])[1:3]
    ends = []
    for axis in range(2):
        reach = (target[axis] - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1) + 1
        overhang = reach - source[axis] - padding[axis]
        known = source[axis] >= 0 and target[axis] >= 0
        ends.append(max(overhang, padding[axis + 2]) if known else padding[axis + 2])
    return [padding[0], padding[1], *ends]


def resize(op: Operation, builder: GraphBuilder) -> None:
    """`Resize` by scales, or by sizes where they say the same, or where float32 scales would give another size."""
    source, target = shape_of(op.operands[0]), shape_of(op.results[0])
    scales = numbers(op, "scales")
    exact = all(target[1 + axis] == source[1 + axis] * scales[axis] for axis in range(2))
    rounded = [int(np.float32(source[1 + axis]) * np.float32(scales[axis])) for axis in range(2)]
    if min(source) >= 0 and (exact or rounded != list(target[1:3])):
        size = builder.integers([target[0], target[3], target[1], target[2]], "sizes")
        inputs = [builder.first(op.operands[0]), "", "", size]
    else:
        inputs = [builder.first(op.operands[0]), "", builder.floats([1.0, 1.0, *scales], "scales")]
    attributes = {"mode": text(op, "mode"), "coordinate_transformation_mode": text(op, "coordinate_mode")}
    if text(op, "mode") == "nearest":
        attributes["nearest_mode"] = text(op, "nearest_mode", "round_prefer_floor")
    builder.finish(op, builder.node("Resize", inputs, **attributes), FIRST)


EMITTERS: dict[str, Emitter] = {
    "mblt.max_pool2d": max_pool2d,
    "mblt.avg_pool2d": avg_pool2d,
    "mblt.resize": resize,
}
