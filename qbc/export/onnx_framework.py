"""framework -> ONNX: the isomorphic way back. Every operation becomes one node, constants become initializers.

Values get names made from their node names, because only graph inputs and outputs keep their own. An Identity is added
where ONNX needs an output to be made by a node (an output that is an input, a constant, or listed twice).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import onnx
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnrankedTensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from qbc.dialects.blob import BlobAttr, BlobRefAttr
from qbc.dialects.common.graph import location_names
from qbc.dialects.framework.access import operands_by_position, operator, read_tensor, results_by_position
from qbc.dialects.framework.base import signature_of
from qbc.dialects.framework.onnx_inference import infer_onnx_types
from qbc.dialects.framework.onnx_types import code_of_element
from qbc.dialects.framework.ops import ConstantOp, OpaqueOp
from qbc.dialects.framework.signature import ML_DOMAIN, ML_OPSET, OPSET
from qbc.dialects.framework.types import OptionalType, RawAttr, RawTypeAttr, SequenceType
from qbc.errors import QBCompilerError
from qbc.store import BlobStore

IR_VERSION = 10
_SKELETON_BYTES = 1024


def framework_to_onnx(module: ModuleOp, store: BlobStore, *, weights: bool = True) -> onnx.ModelProto:
    """Return the ONNX model of `@main`; `weights=False` leaves out large tensors (for shape inference only).

    Raises VERIFY_ERROR when the module has no `@main` of framework operations.
    """
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"]
    if not functions:
        raise QBCompilerError("the module has no function @main", code="VERIFY_ERROR")
    return function_to_onnx(functions[0], store, attributes=module.attributes, weights=weights)


def function_to_onnx(
    function: FuncOp, store: BlobStore, *, attributes: dict[str, Attribute] | None = None, weights: bool = True
) -> onnx.ModelProto:
    """Return the ONNX model of one function of framework operations; `attributes` are those of its module."""
    exporter = _Exporter(store, weights)
    graph = exporter.main_graph(function)
    header = attributes or {}
    model = onnx.ModelProto(ir_version=IR_VERSION, graph=graph)
    model.producer_name = _text(header.get("framework.producer"))
    model.graph.name = function.sym_name.data
    write_header(model, header)
    model.opset_import.append(onnx.helper.make_opsetid("", OPSET))
    versions = header.get("framework.domains")
    known = (
        {k: cast("Any", v).value.data for k, v in versions.data.items()} if isinstance(versions, DictionaryAttr) else {}
    )
    for domain in sorted(exporter.domains - {""}):
        version = known.get(domain, ML_OPSET if domain == ML_DOMAIN else 1)
        model.opset_import.append(onnx.helper.make_opsetid(domain, version))
    return model


def write_header(model: onnx.ModelProto, header: Mapping[str, Attribute]) -> None:
    """Write what the attributes of a module tell about its source: names, texts, version, metadata."""
    model.graph.name = _text(header.get("framework.graph")) or model.graph.name
    model.graph.doc_string = _text(header.get("framework.graph_doc"))
    model.doc_string = _text(header.get("framework.doc"))
    model.domain = _text(header.get("framework.domain"))
    version = header.get("framework.model_version")
    if isinstance(version, IntegerAttr):
        model.model_version = version.value.data
    metadata = header.get("framework.metadata")
    for key, value in metadata.data.items() if isinstance(metadata, DictionaryAttr) else ():
        model.metadata_props.add(key=key, value=_text(value))


def skeleton_to_onnx(function: FuncOp, store: BlobStore) -> tuple[onnx.ModelProto, dict[str, SSAValue]]:
    """Return a function without its large tensors and the value behind each name, for type inference.

    Recorded types of results are left out, except those of opaque operators.
    """
    exporter = _Exporter(store, weights=False)
    model = onnx.ModelProto(ir_version=IR_VERSION, graph=exporter.main_graph(function))
    model.graph.name = function.sym_name.data
    for domain in sorted({""} | exporter.domains):
        version = OPSET if domain == "" else ML_OPSET if domain == ML_DOMAIN else 1
        model.opset_import.append(onnx.helper.make_opsetid(domain, version))
    return model, {name: value for value, name in exporter.names.items()}


def graphs_of(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Iterate over a graph and the bodies inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infer the types of a skeleton from its inputs and constants; recorded output shapes are forgotten first.

    Raises SHAPE_ERROR when the shapes contradict each other.
    """
    for graph in graphs_of(model.graph):
        for output in graph.output:
            if output.type.HasField("tensor_type"):
                output.type.tensor_type.ClearField("shape")
    try:
        return cast("onnx.ModelProto", infer_onnx_types(model))
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        raise QBCompilerError(f"shapes do not fit: {' '.join(str(error).split())[:300]}", code="SHAPE_ERROR") from error


def single_node_model(op: Operation, store: BlobStore) -> onnx.ModelProto:
    """Return a model without inputs that computes one operator whose operands are all constants."""
    exporter = _Exporter(store, weights=True)
    graph = onnx.GraphProto(name="constant")
    for value in dict.fromkeys(op.operands):
        exporter.constant(graph, cast("ConstantOp", value.owner))
    for index, result in enumerate(op.results):
        name = exporter.fresh(f"result{index}")
        exporter.names[result] = name
        graph.output.add(name=name).type.CopyFrom(type_proto(result.type))
    graph.node.append(exporter.node(op))
    domain = exporter.domains.pop()
    model = onnx.ModelProto(ir_version=IR_VERSION, graph=graph)
    model.opset_import.append(onnx.helper.make_opsetid("", OPSET))
    if domain:
        model.opset_import.append(onnx.helper.make_opsetid(domain, ML_OPSET))
    return model


def operator_node(op: Operation, store: BlobStore, names: dict[SSAValue, str], taken: set[str]) -> onnx.NodeProto:
    """Return the node of one operator of any function; `names` has its operands and receives its results."""
    return _Exporter(store, weights=True, names=names, taken=taken).node(op)


def type_proto(kind: Attribute, dims: list[str] | None = None) -> onnx.TypeProto:
    """Return the ONNX type of an IR type; `dims` names the dimensions that are unknown."""
    proto = onnx.TypeProto()
    if isinstance(kind, (TensorType, UnrankedTensorType)):
        proto.tensor_type.elem_type = code_of_element(kind.element_type)
        if isinstance(kind, TensorType):
            _set_shape(proto, kind.get_shape(), dims if dims is not None and len(dims) == kind.get_num_dims() else None)
    elif isinstance(kind, SequenceType):
        proto.sequence_type.elem_type.CopyFrom(type_proto(kind.element))
    elif isinstance(kind, OptionalType):
        proto.optional_type.elem_type.CopyFrom(type_proto(kind.element))
    elif isinstance(kind, RawTypeAttr):
        proto.ParseFromString(bytes.fromhex(kind.data.data))
    return proto


def _set_shape(proto: onnx.TypeProto, shape: tuple[int, ...], dims: list[str] | None) -> None:
    proto.tensor_type.shape.SetInParent()
    for index, size in enumerate(shape):
        dim = proto.tensor_type.shape.dim.add()
        if size >= 0:
            dim.dim_value = size
        elif dims is not None and dims[index].isdigit():  # stated by the source model, not found by inference
            dim.dim_value = int(dims[index])
        elif dims is not None and dims[index] != "?":
            dim.dim_param = dims[index]


@dataclass
class _Exporter:
    store: BlobStore
    weights: bool
    names: dict[SSAValue, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    node_names: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)

    # --- graphs --------------------------------------------------------------------------------------------------

    def main_graph(self, function: FuncOp) -> onnx.GraphProto:
        block = function.body.block
        inputs = _boundaries(function.arg_attrs, len(block.args), "input")
        terminator = cast("Operation", block.last_op)
        outputs = _boundaries(function.res_attrs, len(terminator.operands), "output")
        self.taken |= {name for name, _ in inputs} | {name for name, _ in outputs}
        for argument, (name, _) in zip(block.args, inputs, strict=True):
            self.names[argument] = name
        extra = self._name_outputs(terminator.operands, [name for name, _ in outputs], block)
        graph = onnx.GraphProto()
        self._fill(graph, block)
        for argument, (name, dims) in zip(block.args, inputs, strict=True):
            graph.input.add(name=name).type.CopyFrom(type_proto(argument.type, dims))
        for value, (name, dims) in zip(terminator.operands, outputs, strict=True):
            graph.output.add(name=name).type.CopyFrom(type_proto(value.type, dims))
        graph.node.extend(self._finish_identities(extra, terminator.operands, [name for name, _ in outputs]))
        return graph

    def body_graph(self, region: Region, name: str) -> onnx.GraphProto:
        block = region.block
        for index, argument in enumerate(block.args):
            self.names[argument] = self.fresh(f"{name}_in{index}")
        terminator = cast("Operation", block.last_op)
        outputs = [self.fresh(f"{name}_out{index}") for index in range(len(terminator.operands))]
        extra = self._name_outputs(terminator.operands, outputs, block)
        graph = onnx.GraphProto(name=name)
        self._fill(graph, block)
        for argument in block.args:
            graph.input.add(name=self.names[argument]).type.CopyFrom(type_proto(argument.type))
        for value, output in zip(terminator.operands, outputs, strict=True):
            graph.output.add(name=output).type.CopyFrom(type_proto(value.type))
        graph.node.extend(self._finish_identities(extra, terminator.operands, outputs))
        return graph

    def _name_outputs(self, values: Iterable[SSAValue], names: list[str], block: Block) -> list[onnx.NodeProto]:
        """Name the values of outputs; return an Identity for each that cannot carry the name itself."""
        identities = []
        for value, name in zip(values, names, strict=True):
            if self.names.get(value) == name:
                continue
            owner = value.owner
            inner = isinstance(owner, Operation) and owner.parent is block and not isinstance(owner, ConstantOp)
            if inner and value not in self.names:
                self.names[value] = name
                continue
            identities.append(onnx.NodeProto(op_type="Identity", name=self.fresh(f"{name}_identity"), output=[name]))
        return identities

    def _finish_identities(
        self, nodes: list[onnx.NodeProto], values: Iterable[SSAValue], names: list[str]
    ) -> list[onnx.NodeProto]:
        """Fill in what the identities read: their sources have names only after the block was walked."""
        sources = {name: value for value, name in zip(values, names, strict=True)}
        for node in nodes:
            node.input.append(self.names[sources[node.output[0]]])
        return nodes

    def _fill(self, graph: onnx.GraphProto, block: Block) -> None:
        for op in list(block.ops)[:-1]:
            if isinstance(op, ConstantOp):
                self.constant(graph, op)
                continue
            graph.node.append(self.node(op))
            if isinstance(op, OpaqueOp):  # inference knows nothing about these
                for result in op.results:
                    graph.value_info.add(name=self.names[result]).type.CopyFrom(type_proto(result.type))

    def constant(self, graph: onnx.GraphProto, op: ConstantOp) -> None:
        name = self.names.setdefault(op.output, self.fresh(_node_name(op)))
        if isinstance(op.value, RawAttr) and op.value.kind.data == "SPARSE_TENSOR":
            sparse = onnx.SparseTensorProto.FromString(op.value.payload)
            sparse.values.name = name
            graph.sparse_initializer.append(sparse)
            return
        tensor = self.tensor(op.value)
        tensor.name = name
        graph.initializer.append(tensor)

    # --- nodes ---------------------------------------------------------------------------------------------------

    def node(self, op: Operation) -> onnx.NodeProto:
        signature = signature_of(op)
        if signature is None and not isinstance(op, OpaqueOp):
            raise QBCompilerError(f"'{op.name}' is no framework operation", code="VERIFY_ERROR")
        name = _unique(_node_name(op), self.node_names)
        node = onnx.NodeProto(op_type=operator(op), name=name)
        node.domain = signature.domain if signature is not None else _text(op.properties["domain"])
        self.domains.add(node.domain)
        for operand in operands_by_position(op):
            node.input.append("" if operand is None else self.names[operand])
        for index, result in enumerate(results_by_position(op)):
            if result is None:
                node.output.append("")
                continue
            default = name if len(op.results) == 1 else f"{name}_{index}"
            if result not in self.names:
                self.names[result] = self.fresh(default)
            node.output.append(self.names[result])
        self._attributes(op, node)
        return node

    def _attributes(self, op: Operation, node: onnx.NodeProto) -> None:
        signature = signature_of(op)
        if signature is None:
            values = dict(cast("DictionaryAttr", op.properties["onnx_attributes"]).data)
        else:
            values = {key: value for key, value in op.properties.items() if key in signature.attributes}
            for name, region in zip(signature.graph_attributes, op.regions, strict=True):
                graph = self.body_graph(region, f"{node.name}_{name}")
                node.attribute.append(onnx.helper.make_attribute(name, graph))
        for name, value in values.items():
            if isinstance(value, RawAttr) and value.kind.data == "GRAPH":
                region = op.regions[int.from_bytes(value.payload, "big")]
                graph = self.body_graph(region, f"{node.name}_{name}")
                node.attribute.append(onnx.helper.make_attribute(name, graph))
            else:
                node.attribute.append(self._attribute(name, value))
        if isinstance(op, ConstantOp) and node.attribute[0].type == onnx.AttributeProto.SPARSE_TENSOR:
            node.attribute[0].name = "sparse_value"

    def _attribute(self, name: str, value: Attribute) -> onnx.AttributeProto:
        proto = onnx.AttributeProto(name=name)
        kinds = onnx.AttributeProto
        if isinstance(value, IntegerAttr):
            proto.type, proto.i = kinds.INT, value.value.data
        elif isinstance(value, FloatAttr):
            proto.type, proto.f = kinds.FLOAT, value.value.data
        elif isinstance(value, DenseArrayBase) and value.elt_type == i64:
            proto.type = kinds.INTS
            proto.ints.extend(cast("Any", value.get_values()))
        elif isinstance(value, DenseArrayBase):
            proto.type = kinds.FLOATS
            proto.floats.extend(cast("Any", value.get_values()))
        elif isinstance(value, ArrayAttr):
            proto.type = kinds.STRINGS
            proto.strings.extend(_encoded(item) for item in value.data)
        elif isinstance(value, StringAttr) or (isinstance(value, RawAttr) and value.kind.data == "STRING"):
            proto.type, proto.s = kinds.STRING, _encoded(value)
        elif isinstance(value, RawAttr) and value.kind.data == "TYPE_PROTO":
            proto.type = kinds.TYPE_PROTO
            proto.tp.ParseFromString(value.payload)
        elif isinstance(value, RawAttr) and value.kind.data == "SPARSE_TENSOR":
            proto.type = kinds.SPARSE_TENSOR
            proto.sparse_tensor.ParseFromString(value.payload)
        elif isinstance(value, RawAttr) and value.kind.data == "ATTRIBUTE":
            proto.ParseFromString(value.payload)
        else:
            proto.type = kinds.TENSOR
            proto.t.CopyFrom(self.tensor(value))
        return proto

    def tensor(self, value: Attribute) -> onnx.TensorProto:
        """Return the TensorProto of a blob, dense or raw attribute."""
        if isinstance(value, RawAttr):
            return cast("onnx.TensorProto", onnx.TensorProto.FromString(value.payload))
        kind = cast("TensorType[Attribute]", cast("Any", value).type)
        tensor = onnx.TensorProto(data_type=code_of_element(kind.element_type), dims=kind.get_shape())
        if isinstance(value, BlobRefAttr):
            raw = self.store.bytes(value.key.data)
            if self.weights or len(raw) < _SKELETON_BYTES:
                tensor.raw_data = bytes(raw)
            return tensor
        if not isinstance(value, BlobAttr) and not hasattr(value, "get_values"):
            raise QBCompilerError(f"{value} is no tensor", code="VERIFY_ERROR")
        array = read_tensor(self.store, value)
        tensor.raw_data = array.tobytes() if array is not None else b""
        return tensor

    def fresh(self, name: str) -> str:
        return _unique(name, self.taken)


def _unique(name: str, taken: set[str]) -> str:
    """Return `name`, or with a number behind it where it is taken, and take it."""
    candidate, index = name, 0
    while candidate in taken:
        index += 1
        candidate = f"{name}_{index}"
    taken.add(candidate)
    return candidate


def _boundaries(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int, word: str
) -> list[tuple[str, list[str] | None]]:
    """Return name and dimension names of each argument or result; nameless ones are called `input0`, `output1`, ..."""
    if attributes is None:
        return [(f"{word}{index}", None) for index in range(count)]
    found = []
    for index, item in enumerate(attributes.data):
        dims = item.data.get("framework.dims")
        names = [_text(dim) for dim in dims.data] if isinstance(dims, ArrayAttr) else None
        found.append((_text(item.data.get("framework.name")) or f"{word}{index}", names))
    return found


def _node_name(op: Operation) -> str:
    names = location_names(op.location)
    return names[0] if names else operator(op)


def _text(value: Attribute | None) -> str:
    return value.data if isinstance(value, StringAttr) else ""


def _encoded(value: Attribute) -> bytes:
    return value.payload if isinstance(value, RawAttr) else _text(value).encode()
