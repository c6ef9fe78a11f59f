"""Pools in ceil mode have the sizes and values that onnxruntime gives them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from qbc.driver.inspect import convert_in_memory
from qbc.driver.samples import main_function
from qbc.execute.float_torch import run

SHAPE = (1, 4, 5, 14)
CASES = [
    (operator, pads, kernel, strides, include)
    for operator, pads, kernel, strides in product(
        ("MaxPool", "AveragePool"),
        ([1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0]),
        ([3, 2], [2, 2], [3, 3]),
        ([2, 2], [3, 2]),
    )
    for include in ((0, 1) if operator == "AveragePool" else (0,))
    if all(pad < size for pad, size in zip(pads, kernel * 2, strict=True))
]


def _model(path: Path, operator: str, stated: tuple[int, ...] | None, **attributes: object) -> Path:
    nodes = [
        helper.make_node(operator, ["x"], ["p"], name="pool", ceil_mode=1, **attributes),
        helper.make_node("Relu", ["p"], ["y"], name="relu"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, stated)
    graph = helper.make_graph(nodes, "pools", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)
    return path


@pytest.mark.parametrize("operator, pads, kernel, strides, include", CASES)
def test_windows_are_those_of_onnxruntime(
    operator: str, pads: list[int], kernel: list[int], strides: list[int], include: int, tmp_path: Path
) -> None:
    attributes: dict[str, object] = {"pads": pads, "kernel_shape": kernel, "strides": strides}
    if operator == "AveragePool":
        attributes["count_include_pad"] = include
    path = _model(tmp_path / "m.onnx", operator, None, **attributes)
    data = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    wanted = onnxruntime.InferenceSession(str(path), options).run(None, {"x": data})[0]
    module, ctx = convert_in_memory(path, {})
    assert ctx.report["conversion"] == []
    found = run(main_function(module), ctx.store, {"x": np.ascontiguousarray(data.transpose(0, 2, 3, 1))})["y"]
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), wanted, rtol=1e-6, atol=1e-6)


def test_a_batch_of_unknown_size(tmp_path: Path) -> None:
    path = _model(tmp_path / "m.onnx", "MaxPool", None, pads=[1, 0, 0, 1], kernel_shape=[3, 2], strides=[2, 2])
    proto = onnx.load(path)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    onnx.save(proto, path)
    data = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    wanted = onnxruntime.InferenceSession(str(path)).run(None, {"x": data})[0]
    module, ctx = convert_in_memory(path, {})
    assert ctx.report["conversion"] == []
    found = run(main_function(module), ctx.store, {"x": np.ascontiguousarray(data.transpose(0, 2, 3, 1))})["y"]
    np.testing.assert_array_equal(found.transpose(0, 3, 1, 2), wanted)


def test_a_wrong_stated_shape_gives_way(tmp_path: Path) -> None:
    path = _model(tmp_path / "m.onnx", "MaxPool", (1, 4, 3, 8), pads=[1, 0, 0, 1], kernel_shape=[3, 2], strides=[2, 2])
    _, ctx = convert_in_memory(path, {})
    assert ctx.report["conversion"] == []
