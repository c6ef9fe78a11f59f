"""Is it a valid ONNX model: names are text, nodes fit their schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
import onnx.version_converter

from qbc.errors import QBCompilerError
from qbc.frontends.onnx.skeleton import Payloads

# What the C++ parts of onnx raise on models they cannot make sense of; any of them comes out of any entry point.
ONNX_ERRORS = (
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    onnx.version_converter.ConvertError,
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
)
_MESSAGE_LIMIT = 300


def invalid_model(message: str, *, hint: str | None = None) -> QBCompilerError:
    """Build an INVALID_MODEL error about the whole model."""
    return QBCompilerError(message, code="INVALID_MODEL", hint=hint)


def first_line(error: Exception) -> str:
    """Return the message of a library error on one line of bounded length."""
    text = " ".join(str(error).split())
    return text if len(text) < _MESSAGE_LIMIT else text[:_MESSAGE_LIMIT] + " ..."


def all_graphs(graph: Any) -> Iterator[Any]:
    """Iterate over a graph and all graphs inside it, outer ones first."""
    yield graph
    yield from graphs_of_nodes(graph.node)


def graphs_of_nodes(nodes: Any) -> Iterator[Any]:
    """Iterate over all graphs in the attributes of nodes."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_graphs(attribute.g)
            for graph in attribute.graphs:
                yield from all_graphs(graph)


def tensors_of_model(model: Any) -> Iterator[Any]:
    """Iterate over all TensorProtos of a model: initializers and attributes, in all graphs and functions."""
    for graph in all_graphs(model.graph):
        yield from graph.initializer
        yield from _tensors_of_nodes(graph.node)
    for function in model.functions:
        yield from _tensors_of_nodes(function.node)
        for graph in graphs_of_nodes(function.node):
            yield from graph.initializer
            yield from _tensors_of_nodes(graph.node)


def _tensors_of_nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


def check_text(model: Any) -> None:
    """Raise INVALID_MODEL where a name is not UTF-8 (protobuf then hands out bytes)."""
    for text in _texts(model):
        if isinstance(text, bytes):
            raise invalid_model(f"the name {text[:60]!r} is not UTF-8 text")


def _texts(model: Any) -> Iterator[Any]:
    yield from (model.producer_name, model.producer_version, model.doc_string, model.domain)
    for entry in model.metadata_props:
        yield from (entry.key, entry.value)
    for entry in model.opset_import:
        yield entry.domain
    for tensor in tensors_of_model(model):
        yield tensor.name
    for function in model.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
        yield from _texts_of_nodes(function.node)
    for graph in all_graphs(model.graph):
        yield graph.name
        yield from _texts_of_nodes(graph.node)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            yield value.name
            yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)


def _texts_of_nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)


def check_model(model: Any, payloads: Payloads) -> None:
    """Run the checker of onnx on a copy without what it would wrongly refuse; raises INVALID_MODEL.

    Tokens become empty tensors (they have not the size they stand for), unknown ranks become scalars.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for graph in all_graphs(copy.graph):
        for value in [*graph.input, *graph.output, *graph.value_info]:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.shape.SetInParent()
    for tensor in tensors_of_model(copy):
        if payloads.find(tensor.raw_data) is not None:
            del tensor.dims[:]
            tensor.dims.append(0)
            tensor.raw_data = b""
    try:
        onnx.checker.check_model(copy)
    except ONNX_ERRORS as error:
        raise invalid_model(f"the model is not valid: {first_line(error)}") from error
