"""Framework operators inside an mblt function: the ONNX nodes they came from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qbc.dialects.framework.access import read_tensor
from qbc.dialects.framework.signature import ML_OPSET, OPSET
from qbc.export.onnx_framework import operator_node
from qbc.export.onnx_mblt_builder import LAST, GraphBuilder

CONSTANT = "framework.Constant"
RANGE = "framework.Range"


def emit(op: Operation, builder: GraphBuilder) -> None:
    """Append the node of a framework operator; its operands and results have no layout but their own."""
    if op.name == CONSTANT:
        data = read_tensor(builder.store, op.properties["value"])
        if data is not None:
            builder.define_constant(op.results[0], np.asarray(data))
            return
        # numpy lacks its elements: the constant is a node that carries the bytes
    names = {value: builder.last(value) for value in outer_values(op)}
    if op.name == RANGE:
        names |= {value: _scalar(names[value], builder) for value in op.operands if _is_vector(value)}
    node = operator_node(op, builder.store, names, builder.used_names)
    node.name = builder.unique(node.name)  # values and nodes share their names here
    builder.nodes.append(node)
    for result in op.results:
        builder.define(result, names[result], LAST)


def _is_vector(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.get_num_dims() == 1


def _scalar(name: str, builder: GraphBuilder) -> str:
    """Make a vector of one element a scalar: as bounds of a range both run, until a runtime knows their shape."""
    return builder.node("Reshape", [name, builder.integers([], "scalar")])


def outer_values(op: Operation) -> Iterator[SSAValue]:
    """Yield the values that an operator and its bodies read and that are made outside of it."""
    inside = {result for inner in op.walk() for result in inner.results}
    inside |= {
        argument
        for inner in op.walk()
        for region in inner.regions
        for block in region.blocks
        for argument in block.args
    }
    yield from dict.fromkeys(value for inner in op.walk() for value in inner.operands if value not in inside)


def opset_imports(nodes: list[onnx.NodeProto], default: int) -> list[onnx.OperatorSetIdProto]:
    """Return the operator sets that the nodes need; `default` is the version without framework operators."""
    versions = {"": default, "ai.onnx.ml": ML_OPSET}
    domains = dict.fromkeys(["", *(node.domain for node in nodes)])
    return [onnx.helper.make_opsetid(domain, versions.get(domain, 1)) for domain in domains]


__all__ = ["OPSET", "emit", "opset_imports", "outer_values"]
