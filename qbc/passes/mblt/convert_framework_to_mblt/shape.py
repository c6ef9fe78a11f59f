"""Data movement: reshapes, transposes, slices, concatenation, padding, gathering, casts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import SSAValue

from qbc.dialects.common.shapes import DYNAMIC, OPEN_END
from qbc.dialects.mblt import (
    CastOp,
    ConcatOp,
    ExpandOp,
    GatherOp,
    PadOp,
    SliceOp,
    TileOp,
    element_of,
    shape_of,
)
from qbc.passes.mblt.convert_framework_to_mblt.converter import Converted, Node, converts

if TYPE_CHECKING:
    import numpy.typing as npt

EXACT_INTEGERS = 1 << 24  # integers up to here are float32 numbers


@converts("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(node: Node) -> SSAValue:
    """Reshape, Flatten, Squeeze, Unsqueeze -> reshape to the shape that the source model infers."""
    return node.reshape(node.value(0), node.result_type().get_shape())


@converts("Transpose")
def transpose(node: Node) -> SSAValue:
    """Transpose -> transpose."""
    rank = len(node.shape(0))
    return node.transpose(node.value(0), node.attr("perm") or tuple(reversed(range(rank))))


@converts("Concat")
def concat(node: Node) -> SSAValue:
    """Concat -> concat."""
    values = [node.value(index) for index in range(len(node.sources))]
    return node.emit(ConcatOp, *values, axis=node.attr("axis") % len(node.shape(0)))


@converts("Split")
def split(node: Node) -> Converted:
    """Split -> one slice an output."""
    shape = node.shape(0)
    axis = node.attr("axis") % len(shape)
    if shape[axis] == DYNAMIC:
        node.refuse("the split size is unknown")
    sizes = _split_sizes(node, shape[axis])
    results: list[SSAValue | None] = []
    start = 0
    for size in sizes:
        results.append(slice_axis(node, node.value(0), axis, start, start + size))
        start += size
    return results


def _split_sizes(node: Node, total: int) -> list[int]:
    count = len(node.results)
    if node.has(1):
        return [int(size) for size in node.constant(1, "the split").reshape(-1)]
    chunk = -(-total // count)
    return [min(chunk, total - chunk * index) for index in range(count)]


def slice_axis(node: Node, value: SSAValue, axis: int, start: int, end: int, step: int = 1) -> SSAValue:
    """Emit a slice along one axis."""
    shape = shape_of(value)
    starts, ends, steps = [0] * len(shape), _full_ends(shape), [1] * len(shape)
    starts[axis], ends[axis], steps[axis] = start, end, step
    return node.emit(SliceOp, value, starts=starts, ends=ends, steps=steps)


def _full_ends(shape: tuple[int, ...]) -> list[int]:
    return [OPEN_END if size == DYNAMIC else size for size in shape]


@converts("Slice")
def slice_(node: Node) -> SSAValue:
    """Slice with constant bounds -> slice; an axis with a negative step -> gather with constant indices."""
    shape = node.shape(0)
    given = [node.constant(index, name) for index, name in ((1, "starts"), (2, "ends"))]
    axes = node.constant(3, "axes").reshape(-1) if node.has(3) else range(given[0].size)
    steps = node.constant(4, "steps").reshape(-1) if node.has(4) else [1] * given[0].size
    starts, ends, strides = [0] * len(shape), _full_ends(shape), [1] * len(shape)
    reversed_axes: list[tuple[int, range]] = []
    for axis, start, end, step in zip(axes, given[0].reshape(-1), given[1].reshape(-1), steps, strict=True):
        index = int(axis) % len(shape)
        if shape[index] == DYNAMIC:
            node.refuse("the size of a sliced axis is unknown")
        positions = range(*slice(int(start), int(end), int(step)).indices(shape[index]))
        if int(step) < 0:
            reversed_axes.append((index, positions))
            continue
        starts[index] = min(positions.start, shape[index])
        ends[index] = max(min(positions.stop, shape[index]), starts[index])
        strides[index] = int(step)
    value = node.emit(SliceOp, node.value(0), starts=starts, ends=ends, steps=strides)
    for axis, positions in reversed_axes:
        value = _pick(node, value, axis, positions)
    return value


def _pick(node: Node, value: SSAValue, axis: int, positions: range) -> SSAValue:
    import numpy as np

    indices = node.index_constant(np.array(positions, np.int64), shape_of(value)[axis])
    return node.emit(GatherOp, value, indices, axis=axis)


@converts("Gather")
def gather(node: Node) -> SSAValue:
    """Gather at one constant position -> slice and reshape; other indices -> gather (constant ones as i32)."""
    shape = node.shape(0)
    axis = node.attr("axis") % len(shape)
    indices = node.array(1)
    if indices is None:
        return node.emit(GatherOp, node.value(0), node.value(1), axis=axis)
    if indices.size == 1 and shape[axis] != DYNAMIC:
        position = int(indices.reshape(-1)[0])
        if not -shape[axis] <= position < shape[axis]:
            node.refuse(f"an index is outside the size {shape[axis]}")
        position %= shape[axis]
        picked = slice_axis(node, node.value(0), axis, position, position + 1)
        return node.reshape(picked, (*shape[:axis], *indices.shape, *shape[axis + 1 :]))
    return node.emit(GatherOp, node.value(0), node.index_constant(indices, shape[axis]), axis=axis)


@converts("Expand")
def expand(node: Node) -> SSAValue:
    """Expand -> reshape to equal rank, then expand."""
    result = node.result_type()
    value = node.with_rank(0, len(result.get_shape()))
    if any(size == DYNAMIC != known for size, known in zip(result.get_shape(), shape_of(value), strict=True)):
        node.refuse("the expanded size is unknown")
    return value if value.type == result else node.emit(ExpandOp, value, result_type=result)


@converts("Tile")
def tile(node: Node) -> SSAValue:
    """Tile -> tile."""
    repeats = [int(count) for count in node.constant(1, "the repeats").reshape(-1)]
    if min(repeats, default=1) < 1:
        node.refuse("a repeat of 0")
    return node.emit(TileOp, node.value(0), repeats=repeats)


@converts("Cast")
def cast(node: Node) -> SSAValue:
    """Cast between f32 and integers -> cast."""
    result, value = node.result_type(), node.value(0)
    if result.element_type == element_of(value):
        return value
    for element in (result.element_type, element_of(value)):
        if element != f32 and not isinstance(element, IntegerType):
            node.refuse(f"a cast from {element_of(value)} to {result.element_type}")
    return node.emit(CastOp, value, result_type=result)


@converts("Pad")
def pad(node: Node) -> SSAValue:
    """Pad with constant pads -> pad; negative pads -> slice first."""
    shape = node.shape(0)
    mode = node.attr("mode")
    if mode not in ("constant", "reflect", "edge"):
        node.refuse(f"mode {mode}")
    before, after = _pads(node, len(shape))
    value = _crop(node, node.value(0), before, after)
    filler = node.array(2)
    if filler is None and node.has(2):
        node.refuse("the padding value is not constant")
    number = float(filler.reshape(-1)[0]) if filler is not None else 0.0
    if filler is not None and filler.dtype.kind in "iu" and abs(number) > EXACT_INTEGERS:
        node.refuse(f"the padding value {filler.reshape(-1)[0]} is no float32")
    low, high = [max(0, count) for count in before], [max(0, count) for count in after]
    if not any(low) and not any(high):
        return value
    return node.emit(PadOp, value, before=low, after=high, mode=mode, value=number)


def _pads(node: Node, rank: int) -> tuple[list[int], list[int]]:
    pads: npt.NDArray[Any] = node.constant(1, "the padding").reshape(-1)
    axes = node.constant(3, "the axes").reshape(-1) if node.has(3) else range(rank)
    before, after = [0] * rank, [0] * rank
    for position, axis in enumerate(axes):
        before[int(axis) % rank] = int(pads[position])
        after[int(axis) % rank] = int(pads[position + len(pads) // 2])
    return before, after


def _crop(node: Node, value: SSAValue, before: list[int], after: list[int]) -> SSAValue:
    shape = shape_of(value)
    if min((*before, *after), default=0) >= 0:
        return value
    if any(size == DYNAMIC and min(low, high) < 0 for size, low, high in zip(shape, before, after, strict=True)):
        node.refuse("negative padding of an unknown size")
    starts = [max(0, -low) for low in before]
    ends = [size + min(0, high) for size, high in zip(_full_ends(shape), after, strict=True)]
    return node.emit(SliceOp, value, starts=starts, ends=ends, steps=[1] * len(shape))


@converts("DepthToSpace")
def depth_to_space(node: Node) -> SSAValue:
    """DepthToSpace -> reshape, transpose, reshape."""
    batch, channels, height, width = _static(node)
    block = node.attr("blocksize")
    depth = channels // (block * block)
    if node.attr("mode") == "DCR":
        split_shape, order = (batch, block, block, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        split_shape, order = (batch, depth, block, block, height, width), (0, 1, 4, 2, 5, 3)
    mixed = node.transpose(node.reshape(node.value(0), split_shape), order)
    return node.reshape(mixed, (batch, depth, height * block, width * block))


@converts("SpaceToDepth")
def space_to_depth(node: Node) -> SSAValue:
    """SpaceToDepth -> reshape, transpose, reshape."""
    batch, channels, height, width = _static(node)
    block = node.attr("blocksize")
    rows, columns = height // block, width // block
    parts = node.reshape(node.value(0), (batch, channels, rows, block, columns, block))
    mixed = node.transpose(parts, (0, 3, 5, 1, 2, 4))
    return node.reshape(mixed, (batch, channels * block * block, rows, columns))


def _static(node: Node) -> tuple[int, ...]:
    shape = node.shape(0)
    if len(shape) != 4 or DYNAMIC in shape:
        node.refuse("the shape is not known")
    return shape
