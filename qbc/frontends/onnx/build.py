"""From a prepared skeleton to the framework dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.graph import location_names
from qbc.dialects.framework.access import operator
from qbc.dialects.framework.base import FrameworkOp, ShapeMismatch, build_op
from qbc.dialects.framework.onnx_types import type_of
from qbc.dialects.framework.ops import OPS_BY_NAME, ConstantOp, OpaqueOp, YieldOp
from qbc.dialects.framework.signature import ML_DOMAIN, OPSET, Parameter, Signature, signatures
from qbc.dialects.framework.types import RawAttr, UnknownType
from qbc.errors import QBCompilerError
from qbc.frontends.onnx.attributes import AttributeReader
from qbc.frontends.onnx.prepare import Prepared
from qbc.frontends.onnx.tensors import TensorReader, invalid
from qbc.store import BlobStore


def build_module(prepared: Prepared, store: BlobStore) -> ModuleOp:
    """Return the module of a prepared model, with one `func.func @main`.

    Raises INVALID_MODEL where types do not fit an operator, and SHAPE_ERROR where shapes do not.
    """
    module = _Builder(prepared, store).module()
    for op in module.walk():
        if isinstance(op, FrameworkOp):
            _check(op)
    return module


def _check(op: FrameworkOp) -> None:
    try:
        op.verify_values()
    except ShapeMismatch as error:
        raise QBCompilerError(
            f"{operator(op)}: {error}", code="SHAPE_ERROR", node=", ".join(location_names(op.location))
        ) from None
    except VerifyException as error:
        raise invalid(f"{operator(op)}: {error}", ", ".join(location_names(op.location))) from None


@dataclass
class _Scope:
    """Names visible in a graph; constants appear in the block where they are defined when they are first used."""

    block: Block
    types: dict[str, Attribute]
    tensors: dict[str, Any]
    parent: _Scope | None = None
    values: dict[str, SSAValue] = field(default_factory=dict)


class _Builder:
    def __init__(self, prepared: Prepared, store: BlobStore) -> None:
        self._prepared = prepared
        self._model = prepared.model
        self._tensors = TensorReader(store, prepared.payloads)
        self._attributes = AttributeReader(self._tensors)
        self._versions = {entry.domain: entry.version for entry in self._model.opset_import}

    def module(self) -> ModuleOp:
        graph = self._model.graph
        block = Block(arg_types=[type_of(value.type) for value in graph.input])
        scope = self._scope(graph, block, None)
        outputs = self._fill(graph, scope)
        block.add_op(ReturnOp(*outputs))
        kinds = FunctionType.from_lists([arg.type for arg in block.args], [value.type for value in outputs])
        function = FuncOp(
            "main",
            kinds,
            Region(block),
            arg_attrs=ArrayAttr(
                [self._boundary(value, arg.type) for value, arg in zip(graph.input, block.args, strict=True)]
            ),
            res_attrs=ArrayAttr(
                [self._boundary(value, out.type) for value, out in zip(graph.output, outputs, strict=True)]
            ),
        )
        return ModuleOp([function], attributes=self._module_attributes())

    def _module_attributes(self) -> dict[str, Attribute]:
        model = self._model
        producer = f"{model.producer_name} {model.producer_version}".strip()
        found: dict[str, Attribute] = {
            "framework.opset": IntegerAttr(OPSET, i64),
            "framework.source_opset": IntegerAttr(self._prepared.source_opset, i64),
            "framework.producer": StringAttr(producer),
        }
        if model.graph.name:
            found["framework.graph"] = StringAttr(model.graph.name)
        texts = {"doc": model.doc_string, "graph_doc": model.graph.doc_string, "domain": model.domain}
        found |= {f"framework.{name}": StringAttr(text) for name, text in texts.items() if text}
        if model.model_version:
            found["framework.model_version"] = IntegerAttr(model.model_version, i64)
        if self._prepared.metadata:
            items = sorted(self._prepared.metadata.items())
            found["framework.metadata"] = DictionaryAttr({key: StringAttr(value) for key, value in items})
        extra = {domain: version for domain, version in self._versions.items() if domain not in ("", ML_DOMAIN)}
        if extra:
            versions = {domain: IntegerAttr(version, i64) for domain, version in sorted(extra.items())}
            found["framework.domains"] = DictionaryAttr(versions)
        return found

    # --- graphs --------------------------------------------------------------------------------------------------

    def _scope(self, graph: Any, block: Block, parent: _Scope | None) -> _Scope:
        types = {value.name: type_of(value.type) for value in [*graph.value_info, *graph.output]}
        tensors = {tensor.name: tensor for tensor in graph.initializer}
        tensors |= {tensor.values.name: tensor for tensor in graph.sparse_initializer}
        scope = _Scope(block, types, tensors, parent)
        for value, argument in zip(graph.input, block.args, strict=True):
            scope.values[value.name] = argument
            argument.name_hint = _hint(value.name)
        return scope

    def _fill(self, graph: Any, scope: _Scope) -> list[SSAValue]:
        for node in graph.node:
            self._node(node, scope)
        return [self._value(value.name, scope, graph.name) for value in graph.output]

    def _region(self, graph: Any, parent: _Scope) -> Region:
        block = Block(arg_types=[type_of(value.type) for value in graph.input])
        scope = self._scope(graph, block, parent)
        block.add_op(YieldOp.of(self._fill(graph, scope)))
        return Region(block)

    def _value(self, name: str, scope: _Scope, reader: str) -> SSAValue:
        current: _Scope | None = scope
        while current is not None:
            if name in current.values:
                return current.values[name]
            if name in current.tensors:
                return self._constant(name, current)
            current = current.parent
        raise invalid(f"reads {name!r}, which nothing produces", reader)

    def _constant(self, name: str, scope: _Scope) -> SSAValue:
        tensor = scope.tensors[name]
        if isinstance(tensor, onnx.SparseTensorProto):
            op = ConstantOp.of(*self._attributes.sparse(tensor, name))
        else:
            op = ConstantOp.of(*self._tensors.attribute(tensor, name))
        op.location = _location(name)
        scope.block.add_op(op)
        scope.values[name] = op.output
        return op.output

    # --- nodes ---------------------------------------------------------------------------------------------------

    def _node(self, node: Any, scope: _Scope) -> None:
        signature = self._signature(node)
        if signature is None:
            op = self._opaque(node, scope)
        elif node.op_type == "Constant" and not node.domain:
            op = ConstantOp.of(*self._attributes.constant(node))
        else:
            op = self._operator(node, signature, scope)
        op.location = _location(node.name or f"{node.op_type}_{node.output[0] if node.output else ''}")
        scope.block.add_op(op)
        results = iter(op.results)
        parameters = signature.outputs if signature is not None else ()
        for index, name in enumerate(node.output):
            if not name and (signature is None or _is_optional(parameters, index)):
                continue
            result = next(results)
            if name:
                scope.values[name] = result

    def _signature(self, node: Any) -> Signature | None:
        signature = signatures().get(node.op_type)
        if signature is None or signature.domain != node.domain:
            return None
        if node.domain == "":
            return signature
        try:
            schema = onnx.defs.get_schema(node.op_type, self._versions.get(node.domain, 1), node.domain)
        except onnx.defs.SchemaError:
            return None
        return signature if schema.since_version == signature.since_version else None

    def _operator(self, node: Any, signature: Signature, scope: _Scope) -> Operation:
        operands = self._operands(node, scope)
        for index, parameter in enumerate(signature.inputs):
            if not (parameter.optional or parameter.variadic) and (index >= len(operands) or operands[index] is None):
                raise invalid(f"{node.op_type} lacks the input '{parameter.name}'", node.name)
        types: list[Attribute | None] = []
        for index, name in enumerate(node.output):
            absent = not name and _is_optional(signature.outputs, index)
            types.append(None if absent else self._result_type(name, scope))
        properties: dict[str, Attribute] = {}
        regions: dict[str, Region] = {}
        for attribute in node.attribute:
            formal = signature.attributes.get(attribute.name)
            if formal is None:
                raise invalid(f"{node.op_type} has the unknown attribute '{attribute.name}'", node.name)
            if formal.kind == "GRAPH":
                regions[attribute.name] = self._region(attribute.g, scope)
            else:
                properties[attribute.name] = self._attributes.value(attribute, formal.kind, node.name)
        names = signature.graph_attributes
        if set(names) != set(regions):
            raise invalid(f"{node.op_type} lacks a body", node.name)
        bodies = [regions[name] for name in names]
        return build_op(OPS_BY_NAME[signature.name], operands, types, dict(sorted(properties.items())), bodies)

    def _opaque(self, node: Any, scope: _Scope) -> Operation:
        operands = self._operands(node, scope)
        types = [self._result_type(name, scope) if name else None for name in node.output]
        attributes: dict[str, Attribute] = {}
        regions: list[Region] = []
        for attribute in sorted(node.attribute, key=lambda item: item.name):
            if attribute.type == onnx.AttributeProto.GRAPH:
                number = len(regions)
                attributes[attribute.name] = RawAttr.of("GRAPH", number.to_bytes(1 + number.bit_length() // 8, "big"))
                regions.append(self._region(attribute.g, scope))
            else:
                attributes[attribute.name] = self._attributes.value(attribute, None, node.name)
        properties: dict[str, Attribute] = {
            "op_type": StringAttr(node.op_type),
            "domain": StringAttr(node.domain),
            "onnx_attributes": DictionaryAttr(attributes),
        }
        for side, values in (("inputs", operands), ("outputs", types)):
            if any(value is None for value in values):
                flags = [int(value is not None) for value in values]
                properties[f"{side}_present"] = DenseArrayBase.from_list(i64, flags)
        return OpaqueOp.create(
            operands=[value for value in operands if value is not None],
            result_types=[kind for kind in types if kind is not None],
            properties=properties,
            regions=regions,
        )

    def _operands(self, node: Any, scope: _Scope) -> list[SSAValue | None]:
        return [self._value(name, scope, node.name) if name else None for name in node.input]

    def _boundary(self, value: Any, kind: Attribute) -> DictionaryAttr:
        attributes: dict[str, Attribute] = {"framework.name": StringAttr(value.name)}
        if isinstance(kind, TensorType):
            texts = self._prepared.stated.dimension_texts(value)
            if texts is not None and len(texts) == kind.get_num_dims():
                attributes["framework.dims"] = ArrayAttr([StringAttr(text) for text in texts])
        return DictionaryAttr(attributes)

    @staticmethod
    def _result_type(name: str, scope: _Scope) -> Attribute:
        return scope.types.get(name, UnknownType())


def _is_optional(parameters: Sequence[Parameter], index: int) -> bool:
    return index < len(parameters) and parameters[index].optional


def _location(name: str) -> NameLoc:
    return NameLoc(StringAttr(name), NoneAttr())


def _hint(name: str) -> str | None:
    text = "".join(char if char.isascii() and char.isalnum() else "_" for char in name)[:40]
    return text if text and not text[0].isdigit() else None
