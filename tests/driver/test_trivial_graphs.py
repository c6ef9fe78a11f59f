"""Graphs at the edge of what a graph is: outputs that are inputs, nothing computed, no input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.driver.compile import compile_model
from qbc.driver.plan import CompileOptions
from qbc.runtime import load

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
C = helper.make_tensor_value_info("c", TensorProto.FLOAT, [1, 4])
ONES = numpy_helper.from_array(np.ones((1, 4), np.float32), "c")
RELU = helper.make_node("Relu", ["x"], ["y"], name="relu")
RELU_OF_CONSTANT = helper.make_node("Relu", ["c"], ["y"], name="relu")


@pytest.mark.parametrize(
    "nodes, inputs, outputs, initializers",
    [
        ([RELU], [X], [Y, X], []),
        ([], [X], [X], []),
        ([RELU_OF_CONSTANT], [], [Y], [ONES]),
        ([], [], [C], [ONES]),
    ],
    ids=["an output is an input", "no nodes", "no input", "a constant"],
)
def test_a_trivial_graph_computes_what_it_says(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    initializers: list[onnx.TensorProto],
    tmp_path: Path,
) -> None:
    graph = helper.make_graph(nodes, "trivial", inputs, outputs, initializers)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    compile_model(path, tmp_path / "m.mxq", CompileOptions(target="aries-rb", random_calibration=True))
    x = np.array([[-1.0, 0.5, 1.0, -0.25]], np.float32)
    found = load(tmp_path / "m.mxq").run({value.name: x for value in inputs})
    wanted = {"x": x, "y": np.maximum(x, 0) if inputs else np.ones((1, 4)), "c": np.ones((1, 4))}
    assert list(found) == [value.name for value in outputs]
    for name, value in found.items():
        np.testing.assert_allclose(value, np.clip(wanted[name], value.min(), value.max()), atol=0.05)
