"""Transposed convolutions that ask for any output shape have the sizes and values that onnxruntime gives them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.driver.inspect import convert_in_memory
from qbc.driver.samples import main_function
from qbc.execute.float_torch import run

CASES: dict[str, dict[str, object]] = {
    "smaller": {"output_shape": [4, 3]},
    "smaller, odd": {"output_shape": [3, 2], "kernel_shape": [3, 2]},
    "smaller, upper": {"output_shape": [3, 3], "auto_pad": "SAME_UPPER"},
    "smaller, lower": {"output_shape": [3, 3], "auto_pad": "SAME_LOWER"},
    "smaller in one axis": {"output_shape": [3, 9], "strides": [1, 2]},
    "with dilations": {"output_shape": [3, 4], "dilations": [2, 1]},
    "smaller in one axis, beyond the reach in the other": {"output_shape": [13, 4], "strides": [3, 1]},
    "equal": {"output_shape": [4, 5]},
    "larger": {"output_shape": [8, 10], "strides": [2, 2]},
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_and_values_are_those_of_onnxruntime(case: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("ConvTranspose", ["r", "w"], ["c"], **CASES[case]),
        helper.make_node("Abs", ["c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(random.standard_normal((2, 3, 3, 2)).astype(np.float32), "w")],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    data = random.standard_normal((1, 2, 4, 5)).astype(np.float32)
    wanted = onnxruntime.InferenceSession(path).run(None, {"x": data})[0]
    module, ctx = convert_in_memory(path, {})
    assert ctx.report["conversion"] == []
    found = run(main_function(module), ctx.store, {"x": np.ascontiguousarray(data.transpose(0, 2, 3, 1))})["y"]
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), wanted, rtol=1e-5, atol=1e-5)
