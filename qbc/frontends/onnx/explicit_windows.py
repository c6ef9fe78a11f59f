"""Inference with explicit windows, where the shape inference of ONNX does not give the sizes that runtimes compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qbc.frontends.onnx.ceil_windows import POOLS, write_floor_mode
from qbc.frontends.onnx.output_shapes import write_padding


def infer_with_explicit_windows(model: Any, infer: Callable[[Any], Any]) -> Any:
    """Return the model with inferred types; operators whose size is inferred wrongly are rewritten before."""
    inferred = infer(model)
    for _ in range(sum(node.op_type in (*POOLS, "ConvTranspose") for node in model.graph.node)):
        if not (write_floor_mode(model.graph, inferred.graph) or write_padding(model.graph, inferred.graph)):
            break
        _forget_shapes(model.graph)
        inferred = infer(model)
    return inferred


def _forget_shapes(graph: Any) -> None:
    """Drop shapes that were stated for values: they may follow from the count that was wrong."""
    inputs = {value.name for value in graph.input}
    for value in (*graph.value_info, *graph.output):
        if value.name not in inputs and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
