"""From a file to a checked skeleton at the pinned opset with inferred types (everything that calls into onnx)."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import onnx.version_converter

from qbc.dialects.framework.onnx_inference import infer_onnx_types
from qbc.dialects.framework.signature import ML_DOMAIN, OPSET, signatures
from qbc.errors import QBCompilerError
from qbc.frontends.onnx.bind import bind_shapes, clean_dimensions
from qbc.frontends.onnx.declared_shapes import DeclaredShapes, dimension_names_of
from qbc.frontends.onnx.explicit_windows import infer_with_explicit_windows
from qbc.frontends.onnx.external import ExternalFiles
from qbc.frontends.onnx.inline import inline_functions
from qbc.frontends.onnx.node_names import SourceNodes, name_nodes
from qbc.frontends.onnx.order import sort_nodes
from qbc.frontends.onnx.scales import check_scales, drop_empty_inputs
from qbc.frontends.onnx.skeleton import Payloads, strip_model
from qbc.frontends.onnx.tensors import tokenize_external
from qbc.frontends.onnx.validate import (
    ONNX_ERRORS,
    all_graphs,
    check_model,
    check_text,
    first_line,
    invalid_model,
    tensors_of_model,
)
from qbc.store import map_file

DecodeError: type[Exception] = importlib.import_module("google.protobuf.message").DecodeError  # it has no type stubs

_NEWEST_IR = 10  # the IR version of opset 25
_PROTOBUF_LIMIT = 1 << 31


@dataclass
class Prepared:
    """A model ready to become IR: the skeleton, its payloads, and what the conversion would have lost."""

    model: Any
    payloads: Payloads
    source_opset: int
    metadata: dict[str, str] = field(default_factory=dict)
    external: Mapping[str, memoryview] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    stated: DeclaredShapes = field(default_factory=lambda: DeclaredShapes({}, frozenset()))


def prepare(path: Path, input_shapes: Mapping[str, tuple[int, ...]] | None) -> Prepared:
    """Load, check, inline, bind shapes, lift to the pinned opset and infer types; weights stay in the file.

    Raises INVALID_MODEL, UNSUPPORTED_OPSET, MISSING_EXTERNAL_DATA, ARGUMENT_ERROR or SHAPE_ERROR.
    """
    payloads = Payloads()
    model = _parse(path, payloads)
    check_text(model)
    files = ExternalFiles(path.parent)
    for tensor in tensors_of_model(model):
        tokenize_external(tensor, payloads, files)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    opset = _normalise(model)
    clean_dimensions(model)
    for graph in all_graphs(model.graph):
        sort_nodes(graph)
    check_model(model, payloads)
    check_scales(all_graphs(model.graph))
    name_nodes(model.graph)
    nodes = SourceNodes.of(model)
    model = inline_functions(model)
    name_nodes(model.graph)
    names = dimension_names_of(model.graph.input)
    bound = bind_shapes(model, dict(input_shapes or {}))
    stated = DeclaredShapes.of(model, names - dimension_names_of(model.graph.input), keep_sizes=not bound)
    declared = _clear_inferred(model, keep_shapes=not bound)
    model = _lift(model, opset)
    drop_empty_inputs(all_graphs(model.graph))
    _clear_inferred(model, keep_shapes=False)  # the lift infers by the rules of the old operators
    _restore(model, declared)
    model = infer_with_explicit_windows(model, infer)
    stated.write_names(model)
    return Prepared(model, payloads, opset, metadata, files.contents, nodes.removed(model.graph), stated)


def infer(model: Any) -> Any:
    """Run type and shape inference on a skeleton; contradictions in the model are INVALID_MODEL.

    Values of shapes do not propagate here: `framework-fold-shapes` does that work within limits.
    """
    try:
        return infer_onnx_types(model, check_type=True)
    except ONNX_ERRORS as error:
        raise invalid_model(f"type and shape inference failed: {first_line(error)}") from error


# --- load and check --------------------------------------------------------------------------------------------


def _parse(path: Path, payloads: Payloads) -> Any:
    try:
        data = map_file(path)
    except OSError as error:
        raise invalid_model(f"the model file '{path}' cannot be read: {error.strerror}") from error
    if len(data) == 0:
        raise invalid_model(f"the model file '{path.name}' is empty")
    skeleton = strip_model(data, payloads)
    if len(skeleton) >= _PROTOBUF_LIMIT:
        raise invalid_model("the graph without weights is larger than 2 GB")
    try:
        model = onnx.ModelProto.FromString(skeleton)
    except (DecodeError, ValueError) as error:
        raise invalid_model(f"'{path.name}' is damaged or not an ONNX model") from error
    if not model.HasField("graph") or not (model.ir_version or model.opset_import):
        raise invalid_model(f"'{path.name}' is not an ONNX model: it has no graph or no version")
    if not model.graph.output:
        raise invalid_model(f"'{path.name}' has no output")
    for what, values in (("inputs", model.graph.input), ("outputs", model.graph.output)):
        names = Counter(value.name for value in values)
        if max(names.values(), default=1) > 1:
            raise invalid_model(f"two {what} have the name {names.most_common(1)[0][0]!r}")
    return model


def _normalise(model: Any) -> int:
    """Bring header and inputs to today's form; return the ai.onnx opset of the model."""
    for item in [*model.opset_import, *(n for g in all_graphs(model.graph) for n in g.node)]:
        if item.domain == "ai.onnx":
            item.domain = ""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    opset = versions.get("", 1 if model.ir_version < 3 else OPSET)
    if opset > OPSET:
        raise QBCompilerError(
            f"the model uses opset {opset}; the newest supported one is {OPSET}",
            code="UNSUPPORTED_OPSET",
            hint=f"export it with opset {OPSET} or lower",
        )
    if not opset >= 1 or versions.get(ML_DOMAIN, 1) < 1:
        raise invalid_model(f"the model states opset {opset}")
    used = {node.domain for graph in all_graphs(model.graph) for node in graph.node}
    used |= {node.domain for function in model.functions for node in function.node}
    del model.opset_import[:]
    model.opset_import.append(onnx.helper.make_opsetid("", opset))
    for domain, version in sorted(versions.items()):
        if domain and (domain in used or model.functions):
            model.opset_import.append(onnx.helper.make_opsetid(domain, version))
    # Since IR 4 an initializer need not be listed as an input; one that is listed is a constant for us.
    model.ir_version = max(model.ir_version, 4)
    if model.ir_version > _NEWEST_IR:
        model.ir_version = _NEWEST_IR
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    if len(inputs) != len(model.graph.input):
        kept = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in inputs]
        del model.graph.input[:]
        model.graph.input.extend(kept)
    return int(opset)


# --- lift ------------------------------------------------------------------------------------------------------


def _is_known(node: Any) -> bool:
    signature = signatures().get(node.op_type)
    return signature is not None and signature.domain == node.domain


def _clear_inferred(model: Any, *, keep_shapes: bool) -> dict[str, Any]:
    """Remove recorded types of inner values and shapes of outputs, which may be stale; return what cannot be inferred.

    Types of values made by operators outside the table are all there is: they are returned by value name. An output
    that is an input has the type of the input: inference would take its missing shape for that of the value.
    """
    declared: dict[str, Any] = {}
    for graph in all_graphs(model.graph):
        opaque = {name for node in graph.node if not _is_known(node) for name in node.output if name}
        for value in [*graph.value_info, *graph.output]:
            if value.name in opaque and (keep_shapes or not value.type.HasField("tensor_type")):
                declared[value.name] = onnx.ValueInfoProto.FromString(value.SerializeToString())
        del graph.value_info[:]
        inputs = {value.name: value for value in graph.input}
        for value in graph.output:
            if value.name in inputs:
                value.type.CopyFrom(inputs[value.name].type)
            elif value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    return declared


def _lift(model: Any, opset: int) -> Any:
    if opset == OPSET:
        return model
    sparse = list(model.graph.sparse_initializer)
    try:
        lifted = onnx.version_converter.convert_version(model, OPSET)
    except ONNX_ERRORS as error:
        raise invalid_model(f"the model cannot be lifted from opset {opset} to {OPSET}: {first_line(error)}") from error
    if sparse and not lifted.graph.sparse_initializer:
        lifted.graph.sparse_initializer.extend(sparse)
    lifted.ir_version = _NEWEST_IR
    for name in ("producer_name", "producer_version", "domain", "doc_string", "model_version"):
        setattr(lifted, name, getattr(model, name))
    lifted.graph.name = model.graph.name
    lifted.graph.doc_string = model.graph.doc_string
    _name_lifted_nodes(lifted.graph, {name: node.name for node in model.graph.node for name in node.output})
    return lifted


def _name_lifted_nodes(graph: Any, producers: dict[str, str]) -> None:
    """Give the nodes that the lift inserted the name of the node they were made from.

    It inserts next to that node and keeps the name of its output, so the next known name says which one it was.
    """
    following = ""
    for node in reversed(graph.node):
        if not node.name:
            node.name = next((producers[name] for name in node.output if name in producers), following)
        following = node.name


def _restore(model: Any, declared: dict[str, Any]) -> None:
    """Put recorded types back where nothing can be inferred, for values that still exist."""
    if not declared:
        return
    for graph in all_graphs(model.graph):
        names = {name for node in graph.node for name in node.output}
        outputs = {value.name: value for value in graph.output}
        for name in declared.keys() & names:
            target = outputs.get(name)
            if target is None:
                graph.value_info.append(declared[name])
            else:
                target.CopyFrom(declared[name])
