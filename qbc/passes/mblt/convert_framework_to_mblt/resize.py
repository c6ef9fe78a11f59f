"""Resize."""

from __future__ import annotations

from fractions import Fraction

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import ResizeOp, element_of, shape_of
from qbc.dialects.mblt.resize import COORDINATE_MODES, MODES
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts


@converts("Resize")
def resize(node: Node) -> SSAValue:
    """Resize of H and W by nearest or linear interpolation -> resize; a 1-D one gets H = 1."""
    shape = node.shape(0)
    if len(shape) not in (3, 4):
        node.refuse(f"rank {len(shape)}")
    mode, coordinate_mode = node.attr("mode"), node.attr("coordinate_transformation_mode")
    if mode not in MODES:
        node.refuse(f"mode {mode}")
    if node.attr("antialias"):
        node.refuse("antialias")
    if node.result_type().element_type != f32:
        node.refuse(f"element type {node.result_type().element_type}")
    scales, sizes = _scales(node, shape)
    if any(scale != 1.0 for scale in scales[:2]):
        node.refuse("batch or channels are resized")
    exact = all(size == DYNAMIC or out == size * s for size, out, s in zip(shape, sizes, scales, strict=True))
    if coordinate_mode == "half_pixel_symmetric" and exact:
        coordinate_mode = "half_pixel"
    if coordinate_mode not in COORDINATE_MODES:
        node.refuse(f"coordinate mode {coordinate_mode}")
    value = node.value(0)
    if len(shape) == 3:
        value = node.reshape(value, (shape[0], shape[1], 1, shape[2]))
        sizes, scales = (*sizes[:2], 1, sizes[2]), (*scales[:2], 1.0, scales[2])
    value = node.channel_last(value)
    out_shape = [shape_of(value)[0], *sizes[2:], shape_of(value)[3]]
    result = node.emit(
        ResizeOp,
        value,
        result_type=TensorType(element_of(value), out_shape),
        mode=mode,
        coordinate_mode=coordinate_mode,
        nearest_mode=node.attr("nearest_mode"),
        scales=[float(scale) for scale in scales[2:]],
    )
    return node.reshape(node.channel_first(result), sizes if len(shape) == 4 else (*sizes[:2], sizes[3]))


def exact_scale(scale: float) -> float:
    """Return the simple fraction that has this f32 value (4/3 for 1.3333334), so that o/scale meets whole numbers."""
    import numpy as np

    simple = Fraction(scale).limit_denominator(1024)
    return float(simple) if np.float32(float(simple)) == np.float32(scale) else scale


def _scales(node: Node, shape: tuple[int, ...]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return scales and output sizes of all axes."""
    axes = [axis % len(shape) for axis in node.attr("axes") or range(len(shape))]
    result = node.result_type().get_shape()
    sizes = node.array(3)
    if node.has(3) and (sizes is None or sizes.size):
        return _from_sizes(node, shape, axes, result)
    given = node.constant(2, "the scales").reshape(-1)
    scales = [1.0] * len(shape)
    for axis, scale in zip(axes, given, strict=True):
        scales[axis] = exact_scale(float(scale))
    computed = [DYNAMIC if size == DYNAMIC else int(size * s + 1e-6) for size, s in zip(shape, scales, strict=True)]
    merged = [known if known != DYNAMIC else size for known, size in zip(result, computed, strict=True)]
    return tuple(scales), tuple(merged)


def _from_sizes(
    node: Node, shape: tuple[int, ...], axes: list[int], result: tuple[int, ...]
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    if node.attr("keep_aspect_ratio_policy") not in (None, "stretch"):
        node.refuse("keep_aspect_ratio_policy")
    resized = [axis for axis in axes if result[axis] != shape[axis] or shape[axis] == DYNAMIC]
    if any(DYNAMIC in (result[axis], shape[axis]) for axis in resized if axis >= 2):
        node.refuse("the sizes are not known")
    scales = [1.0] * len(shape)
    for axis in resized:
        if DYNAMIC not in (result[axis], shape[axis]):
            scales[axis] = result[axis] / shape[axis]
    return tuple(scales), result
