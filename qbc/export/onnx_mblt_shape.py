"""ONNX form of the shape family: data movement, in the layout of the operand where that is possible."""

from __future__ import annotations

from xdsl.ir import Operation

from qbc.dialects.common.access import integer, integers, number, shape_of, text
from qbc.export.onnx_mblt_axes import axis_in, entries_in
from qbc.export.onnx_mblt_builder import FIRST, LAST, Emitter, GraphBuilder, dtype_of, onnx_type, to_first


def reshape(op: Operation, builder: GraphBuilder) -> None:
    """`Reshape` of the channel-last tensor; an unknown size is -1."""
    shape = builder.integers([max(size, -1) for size in shape_of(op.results[0])], "shape")
    builder.finish(op, builder.node("Reshape", [builder.last(op.operands[0]), shape]), LAST)


def transpose(op: Operation, builder: GraphBuilder) -> None:
    """`Transpose`, or nothing at all where the two layouts already differ by the permutation."""
    source = op.operands[0]
    permutation = integers(op, "permutation")
    rank = len(permutation)
    last, first = tuple(range(rank)), to_first(rank)
    tensors = [(layout, builder.known(source, layout)) for layout in (LAST, FIRST)]
    for held_as, name in tensors:
        if name is None:
            continue
        held = first if held_as == FIRST else last
        if held == permutation:
            builder.finish(op, name, LAST)
            return
        if held == tuple(permutation[axis] for axis in first):
            builder.finish(op, name, FIRST)
            return
    builder.finish(op, builder.node("Transpose", [builder.last(source)], perm=permutation), LAST)


def concat(op: Operation, builder: GraphBuilder) -> None:
    """`Concat`."""
    layout = builder.common_layout(op.operands)
    axis = axis_in(layout, integer(op, "axis"), len(shape_of(op.results[0])))
    builder.finish(op, builder.node("Concat", [builder.get(v, layout) for v in op.operands], axis=axis), layout)


def slice_(op: Operation, builder: GraphBuilder) -> None:
    """`Slice` on the axes that are cut."""
    source = op.operands[0]
    shape = shape_of(source)
    layout = builder.common_layout(op.operands)
    ranges = zip(integers(op, "starts"), integers(op, "ends"), integers(op, "steps"), strict=True)
    cuts = [(axis, *cut) for axis, cut in enumerate(ranges) if cut != (0, shape[axis], 1)]
    if not cuts:
        builder.finish(op, builder.get(source, layout), layout)
        return
    axes, starts, ends, steps = (list(column) for column in zip(*cuts, strict=True))
    places = [axis_in(layout, axis, len(shape)) for axis in axes]
    bounds = [
        builder.integers(values, hint)
        for values, hint in ((starts, "starts"), (ends, "ends"), (places, "axes"), (steps, "steps"))
    ]
    builder.finish(op, builder.node("Slice", [builder.get(source, layout), *bounds]), layout)


def expand(op: Operation, builder: GraphBuilder) -> None:
    """`Expand`; a dynamic dimension keeps the size of the operand."""
    layout = builder.common_layout(op.operands)
    sizes = [max(size, 1) if size < 0 else size for size in shape_of(op.results[0])]
    shape = builder.integers(entries_in(layout, sizes, len(sizes)), "shape")
    builder.finish(op, builder.node("Expand", [builder.get(op.operands[0], layout), shape]), layout)


def pad(op: Operation, builder: GraphBuilder) -> None:
    """`Pad`; one value for each channel as `Pad(x - values) + values`, since ONNX pads with one number."""
    source = op.operands[0]
    if "values" in op.properties:
        _pad_channels(op, builder)
        return
    layout = builder.common_layout(op.operands)
    before, after, mode = integers(op, "before"), integers(op, "after"), text(op, "mode")
    rank = len(before)
    amounts = builder.integers([*entries_in(layout, before, rank), *entries_in(layout, after, rank)], "pads")
    inputs = [builder.get(source, layout), amounts]
    if mode == "constant":
        inputs.append(builder.scalar(number(op, "value", 0.0), "fill", source))
    builder.finish(op, builder.node("Pad", inputs, mode=mode), layout)


def _pad_channels(op: Operation, builder: GraphBuilder) -> None:
    values = builder.initializer(builder.read(op.properties["values"]), "values")
    amounts = builder.integers([*integers(op, "before"), *integers(op, "after")], "pads")
    shifted = builder.node("Sub", [builder.last(op.operands[0]), values])
    padded = builder.node("Pad", [shifted, amounts], mode="constant")
    builder.finish(op, builder.node("Add", [padded, values]), LAST)


def gather(op: Operation, builder: GraphBuilder) -> None:
    """`Gather`."""
    inputs = [builder.last(value) for value in op.operands]
    builder.finish(op, builder.node("Gather", inputs, axis=integer(op, "axis")), LAST)


def tile(op: Operation, builder: GraphBuilder) -> None:
    """`Tile`."""
    layout = builder.common_layout(op.operands)
    repeats = integers(op, "repeats")
    counts = builder.integers(entries_in(layout, repeats, len(repeats)), "repeats")
    builder.finish(op, builder.node("Tile", [builder.get(op.operands[0], layout), counts]), layout)


def cast(op: Operation, builder: GraphBuilder) -> None:
    """`Cast`."""
    layout = builder.common_layout(op.operands)
    kind = onnx_type(dtype_of(op.results[0]))
    builder.finish(op, builder.node("Cast", [builder.get(op.operands[0], layout)], to=kind), layout)


def constant(op: Operation, builder: GraphBuilder) -> None:
    """An initializer in each layout that is used."""
    builder.define_constant(op.results[0], builder.read(op.properties["value"]))


EMITTERS: dict[str, Emitter] = {
    "mblt.reshape": reshape,
    "mblt.transpose": transpose,
    "mblt.concat": concat,
    "mblt.slice": slice_,
    "mblt.expand": expand,
    "mblt.pad": pad,
    "mblt.gather": gather,
    "mblt.tile": tile,
    "mblt.cast": cast,
    "mblt.constant": constant,
}
