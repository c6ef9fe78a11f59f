"""The inputs of Resize: factors that no size can have, and tensors without elements that stand for nothing.

The onnx library ends the process where it cannot compute a size with a factor, instead of raising.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from qbc.frontends.onnx.tensors import element_count, invalid
from qbc.frontends.onnx.validate import ONNX_ERRORS, first_line, invalid_model

LARGEST_SCALE = 1e6
RESIZING = ("Resize", "Upsample")


def check_scales(graphs: Iterable[Any]) -> None:
    """Raise INVALID_MODEL for a constant resize factor that is not finite, not positive, or above a million."""
    graphs = list(graphs)
    constants = _float_constants(graphs)
    for graph in graphs:
        for node in (node for node in graph.node if node.op_type in RESIZING):
            scales = node.input[2:3] if len(node.input) > 2 else node.input[1:2]
            for name in (name for name in scales if name in constants):
                _check(node, _values(constants[name]))
            for attribute in (attribute for attribute in node.attribute if attribute.name == "scales"):
                _check(node, np.array(attribute.floats, np.float64))


def drop_empty_inputs(graphs: Iterable[Any]) -> None:
    """Leave out constant inputs of Resize that have no elements: in old opsets they mean absent ones."""
    graphs = list(graphs)
    empty = {name for name, tensor in _constants(graphs).items() if 0 in tensor.dims}
    for graph in graphs:
        for node in (node for node in graph.node if node.op_type == "Resize" and not node.domain):
            kept = [node.input[0], *("" if name in empty else name for name in node.input[1:])]
            while not kept[-1]:
                kept.pop()
            node.input[:] = kept


def _constants(graphs: list[Any]) -> dict[str, Any]:
    tensors = {tensor.name: tensor for graph in graphs for tensor in graph.initializer}
    for graph in graphs:
        for node in (node for node in graph.node if node.op_type == "Constant"):
            values = [attribute.t for attribute in node.attribute if attribute.name == "value"]
            tensors.update((output, value) for output in node.output for value in values)
    return tensors


def _float_constants(graphs: list[Any]) -> dict[str, Any]:
    tensors = _constants(graphs)
    floats = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
    inline = {name: tensor for name, tensor in tensors.items() if tensor.data_location != TensorProto.EXTERNAL}
    return {name: tensor for name, tensor in inline.items() if tensor.data_type in floats}


def _values(tensor: Any) -> Any:
    """Return the content of a small tensor; INVALID_MODEL where it is not what its shape and type say."""
    element_count(tensor)
    try:
        return numpy_helper.to_array(tensor)
    except ONNX_ERRORS as error:
        raise invalid(f"a tensor is damaged: {first_line(error)}", tensor.name) from error


def _check(node: Any, values: Any) -> None:
    factors = values.astype(np.float64)
    if not np.isfinite(factors).all() or (factors <= 0).any() or (factors > LARGEST_SCALE).any():
        raise invalid_model(f"{node.op_type} {node.name!r} has a scale that no size can have: {factors.tolist()}")
