"""ONNX form of the pooling family and of resize (channel-first).

Padding at the end is written out as what the windows reach, so nothing depends on how a runtime reads `ceil_mode`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from qbc.dialects.common.access import flag, integers, numbers, shape_of, text
from qbc.dialects.common.graph import location_names
from qbc.errors import QBCompilerError
from qbc.export.onnx_mblt_builder import FIRST, Emitter, GraphBuilder


def max_pool2d(op: Operation, builder: GraphBuilder) -> None:
    """`MaxPool`; padding that is too wide for it becomes a `Pad` with the lowest number before it."""
    source, reached = builder.first(op.operands[0]), _reached_padding(op)
    if not _is_allowed(op, reached):
        source, reached = _padded(source, reached, builder, -np.inf), [0, 0, 0, 0]
    name = builder.node("MaxPool", [source], **_window(op), pads=reached)
    builder.finish(op, name, FIRST)


def avg_pool2d(op: Operation, builder: GraphBuilder) -> None:
    """`AveragePool`; where it cannot count as the op does, a `Pad` before it and a factor for each window behind it."""
    source, reached = builder.first(op.operands[0]), _reached_padding(op)
    declared, include = integers(op, "padding"), flag(op, "count_include_pad")
    overhangs = any(far > near for far, near in zip(reached, declared, strict=True))
    if _is_allowed(op, reached) and not (include and overhangs):
        name = builder.node("AveragePool", [source], **_window(op), pads=reached, count_include_pad=int(include))
        builder.finish(op, name, FIRST)
        return
    if min(shape_of(op.results[0])[1:3]) < 0:
        raise QBCompilerError(
            f"padding {list(declared)} with the kernel {list(integers(op, 'kernel'))} needs a map of known size",
            code="UNSUPPORTED_OP",
            node=", ".join(location_names(op.location)) or None,
        )
    padded = _padded(source, reached, builder, 0.0)
    mean = builder.node("AveragePool", [padded], **_window(op), pads=[0, 0, 0, 0])
    kernel = integers(op, "kernel")
    factors = builder.initializer((kernel[0] * kernel[1] / _counts(op, include)).astype(np.float32), "factor")
    builder.finish(op, builder.node("Mul", [mean, factors]), FIRST)


def _window(op: Operation) -> dict[str, Any]:
    return {
        "kernel_shape": integers(op, "kernel"),
        "strides": integers(op, "strides"),
        "dilations": integers(op, "dilations", (1, 1)),
    }


def _is_allowed(op: Operation, padding: Sequence[int]) -> bool:
    """Whether onnxruntime takes the padding: it wants less than the kernel on every side, dilated or not."""
    kernel = integers(op, "kernel")
    return all(size < kernel[side % 2] for side, size in enumerate(padding))


def _padded(source: str, padding: Sequence[int], builder: GraphBuilder, value: float) -> str:
    top, left, bottom, right = padding
    amounts = builder.integers([0, 0, top, left, 0, 0, bottom, right], "pads")
    return builder.node("Pad", [source, amounts, builder.scalar(value, "fill")], mode="constant")


def _counts(op: Operation, include: bool) -> npt.NDArray[np.float64]:
    """Return how many elements of each window count [1, 1, OH, OW]: those of the map, with `include` of its padding."""
    kernel, strides = integers(op, "kernel"), integers(op, "strides")
    dilations, padding = integers(op, "dilations", (1, 1)), integers(op, "padding")
    source, target = shape_of(op.operands[0])[1:3], shape_of(op.results[0])[1:3]
    counts = []
    for axis in range(2):
        first = -padding[axis] if include else 0
        end = source[axis] + (padding[axis + 2] if include else 0)
        starts = np.arange(target[axis]) * strides[axis] - padding[axis]
        taps = starts[:, None] + np.arange(kernel[axis]) * dilations[axis]
        counts.append(((taps >= first) & (taps < end)).sum(axis=1))
    rows, columns = (count.astype(np.float64) for count in counts)
    counted: npt.NDArray[np.float64] = rows[None, None, :, None] * columns
    return counted


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
