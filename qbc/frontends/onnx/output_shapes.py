"""Transposed convolutions that ask for an output smaller than their input.

The shape inference of ONNX stops in the middle of such a shape and leaves a result of too few dimensions. The operator
gets the padding that its `output_shape` stands for instead.
"""

from __future__ import annotations

from typing import Any

import onnx

PER_AXIS = ("strides", "dilations", "output_padding")
SHAPE_ATTRIBUTES = ("output_shape", "auto_pad", "pads", "output_padding")


def write_padding(graph: Any, inferred: Any) -> bool:
    """Replace the `output_shape` of the first operator of `graph` that is inferred wrongly; return whether it exists.

    `inferred` is the same graph with inferred types.
    """
    shapes = {value.name: value.type.tensor_type.shape.dim for value in (*inferred.input, *inferred.value_info)}
    weights = {tensor.name: list(tensor.dims) for tensor in inferred.initializer}
    for node, found in zip(graph.node, inferred.node, strict=True):
        if node.op_type != "ConvTranspose" or node.domain or len(node.input) < 2:
            continue
        attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        sizes = [dim.dim_value for dim in shapes.get(found.input[0], ())][2:]
        kernel = attributes.get("kernel_shape") or weights.get(found.input[1], [])[2:]
        wanted = list(attributes.get("output_shape") or ())
        lists = [wanted, kernel, *(attributes[name] for name in PER_AXIS if name in attributes)]
        if not wanted or 0 in sizes or any(len(values) != len(sizes) for values in lists):
            continue
        if all(out >= size for out, size in zip(wanted, sizes, strict=True)):
            continue
        kept = [entry for entry in node.attribute if entry.name not in SHAPE_ATTRIBUTES]
        written = _explicit(attributes, sizes, kernel, wanted)
        del node.attribute[:]
        node.attribute.extend([*kept, *(onnx.helper.make_attribute(name, values) for name, values in written.items())])
        return True
    return False


def _explicit(
    attributes: dict[str, Any], sizes: list[int], kernel: list[int], wanted: list[int]
) -> dict[str, list[int]]:
    """Return the padding that gives the wanted sizes, and what lies beyond the reach of the operator.

    An odd element goes to the end with auto_pad SAME_UPPER, to the begin otherwise.
    """
    ones, zeros = [1] * len(sizes), [0] * len(sizes)
    strides, dilations = (attributes.get(name) or ones for name in ("strides", "dilations"))
    reached = [s * (n - 1) + d * (k - 1) + 1 for s, n, d, k in zip(strides, sizes, dilations, kernel, strict=True)]
    given = attributes.get("output_padding") or zeros
    beyond = [max(more, out - full) for more, out, full in zip(given, wanted, reached, strict=True)]
    totals = [full + more - out for full, more, out in zip(reached, beyond, wanted, strict=True)]
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    pads = [*small, *large] if attributes.get("auto_pad") == b"SAME_UPPER" else [*large, *small]
    return {"pads": pads, **({"output_padding": beyond} if any(beyond) else {})}
