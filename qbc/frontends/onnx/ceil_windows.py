"""Pools in ceil mode, whose last window may not start in the padding at the end.

The shape inference of ONNX counts that window where the padding at the begin and at the end differ; the operator, as
runtimes compute it, does not. Such a pool gets explicit padding, which gives the same windows in floor mode. An average
that counts its padding, but not what the last window reaches beyond it, gets a Pad for what it counts.
"""

from __future__ import annotations

from typing import Any

import onnx

from qbc.dialects.common.shapes import window_size

POOLS = ("MaxPool", "AveragePool", "LpPool")


def write_floor_mode(graph: Any, inferred: Any) -> bool:
    """Bring the first miscounted pool of `graph` into floor mode; return whether there is one.

    `inferred` is the same graph with inferred types.
    """
    found = _first_miscounted(inferred)
    if found is None:
        return False
    index, padding = found
    _separate_counted_padding(graph, index, padding)
    _use_floor_mode(graph, index, padding)
    return True


def _first_miscounted(graph: Any) -> tuple[int, list[int]] | None:
    """Return the number of the first pool whose inferred size is not the computed one, and its explicit padding."""
    shapes = {value.name: _sizes(value) for value in (*graph.input, *graph.value_info, *graph.output)}
    for index, node in enumerate(graph.node):
        if node.op_type not in POOLS or not node.input:
            continue
        attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        before, after = shapes.get(node.input[0]), shapes.get(node.output[0])
        if before is None or after is None or not attributes.get("ceil_mode") or "kernel_shape" not in attributes:
            continue
        if attributes.get("auto_pad", b"NOTSET") not in (b"", b"NOTSET"):
            continue
        counts, padding = _windows(before, attributes)
        if counts != after:
            return index, padding
    return None


def _windows(sizes: list[int], attributes: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return how many windows each axis has, and the padding that gives them in floor mode."""
    rank = len(sizes)
    kernel = attributes["kernel_shape"]
    pads = list(attributes.get("pads") or [0] * (2 * rank))
    strides, dilations = (attributes.get(name) or [1] * rank for name in ("strides", "dilations"))
    counts, ends = [], []
    for axis, size in enumerate(sizes):
        begin, end = pads[axis], pads[rank + axis]
        count = window_size(size, kernel[axis], strides[axis], begin, end, dilations[axis], ceil_mode=True)
        reach = (count - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1) + 1
        counts.append(count)
        ends.append(max(end, reach - size - begin))
    return counts, [*pads[:rank], *ends]


def _separate_counted_padding(graph: Any, index: int, padding: list[int]) -> None:
    """Pad the map before an average that counts its padding, so that the average itself has only the rest of `padding`.

    Changes `padding` to that rest. Other pools, and those without a rest, stay as they are.
    """
    pool = graph.node[index]
    attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in pool.attribute}
    declared = list(attributes.get("pads") or [0] * len(padding))
    if not attributes.get("count_include_pad") or padding == declared:
        return
    padding[:] = [size - counted for size, counted in zip(padding, declared, strict=True)]
    kept = [entry for entry in pool.attribute if entry.name != "count_include_pad"]
    del pool.attribute[:]
    pool.attribute.extend(kept)
    if not any(declared):
        return
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    taken |= {value.name for value in (*graph.initializer, *graph.input)}
    amounts, padded = (_unused(f"{pool.output[0]}_{what}", taken) for what in ("pads", "padded"))
    rank = len(declared) // 2
    sizes = [0, 0, *declared[:rank], 0, 0, *declared[rank:]]
    graph.initializer.append(onnx.helper.make_tensor(amounts, onnx.TensorProto.INT64, [len(sizes)], sizes))
    pad = onnx.helper.make_node("Pad", [pool.input[0], amounts], [padded], name=pool.name)
    pool.input[0] = padded
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node[index:]]
    del graph.node[index:]
    graph.node.extend([pad, *nodes])


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _use_floor_mode(graph: Any, index: int, padding: list[int]) -> None:
    # a Pad may stand before the pool now
    node = next(node for node in graph.node[index:] if node.op_type in POOLS)
    kept = [entry for entry in node.attribute if entry.name not in ("ceil_mode", "pads")]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute("pads", padding)])


def _sizes(value: Any) -> list[int] | None:
    """Return the spatial sizes of a tensor N, C, ...; None where one is not known."""
    dims = value.type.tensor_type.shape.dim[2:]
    known = len(dims) > 0 and all(dim.HasField("dim_value") for dim in dims)
    return [dim.dim_value for dim in dims] if known else None
