"""Type and shape inference of ONNX, also for the operators that its own inference has no rule for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Operators without a rule in onnx whose result has the type of the first input.
LIKE_FIRST_INPUT = ("GroupNormalization", "MeanVarianceNormalization")


def infer_onnx_types(model: Any, *, check_type: bool = False) -> Any:
    """Return a copy of a ModelProto with the types and shapes that onnx infers; raises what onnx raises.

    Without data propagation: onnx makes a list as long as every vector for it, so a model could ask for any time and
    memory.
    """
    import onnx

    # An Identity stands for the operators without a rule while onnx looks at the graph.
    kept: dict[int, Any] = {}
    for index, node in enumerate(_nodes(model.graph)):
        if node.op_type in LIKE_FIRST_INPUT and not node.domain and node.input:
            kept[index] = onnx.NodeProto.FromString(node.SerializeToString())
            node.op_type = "Identity"
            del node.input[1:], node.attribute[:]
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=check_type)
    finally:
        _restore(model, kept)
    _restore(inferred, kept)
    return inferred


def _restore(model: Any, kept: dict[int, Any]) -> None:
    if not kept:
        return
    for index, node in enumerate(_nodes(model.graph)):
        if index in kept:
            node.CopyFrom(kept[index])


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of the bodies inside it, in the order of the file."""
    pending = [iter(graph.node)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        yield node
        bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
        pending += [iter(body.node) for body in reversed(bodies)]
