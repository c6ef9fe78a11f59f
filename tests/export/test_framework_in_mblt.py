"""Framework operators that stay in an mblt function run in both float engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from qbc.driver.context import make_context
from qbc.execute.float_ort import FloatSession
from qbc.execute.float_torch import run
from qbc.frontends.onnx import import_onnx
from qbc.pipelines.registry import pass_class
from qbc.store import BlobStore


def test_operators_without_mblt_form(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("CumSum", ["r", "axis"], ["s"], name="sum"),
        helper.make_node("TopK", ["s", "k"], ["values", "indices"], axis=1, name="top"),
        helper.make_node("Tanh", ["values"], ["y"]),
    ]
    weight = np.random.default_rng(0).standard_normal((8, 3, 3, 3)).astype(np.float32)
    constants = [
        onnx.numpy_helper.from_array(weight, "w"),
        onnx.numpy_helper.from_array(np.array(3, np.int64), "axis"),
        onnx.numpy_helper.from_array(np.array([4], np.int64), "k"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 6, 7])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 5]),
            helper.make_tensor_value_info("indices", TensorProto.INT64, [1, 4, 4, 5]),
        ],
        constants,
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    store = BlobStore()
    context = make_context(store=store)
    module = import_onnx(path, store)
    pass_class("convert-framework-to-mblt")().run(module, context)
    module.verify()
    func = next(iter(module.ops))
    assert {entry["operator"] for entry in context.report["conversion"]} == {"CumSum", "TopK"}
    x = np.random.default_rng(1).standard_normal((1, 3, 6, 7)).astype(np.float32)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": x})
    argument = func.body.block.args[0].type.get_shape()
    feed = {"x": x if argument == x.shape else np.ascontiguousarray(np.moveaxis(x, 1, -1))}
    for found in (run(func, store, feed), FloatSession(func, store).run_outputs(feed)):
        assert list(found) == ["y", "indices"]
        for array, reference in zip(found.values(), expected, strict=True):
            data = array if array.shape == reference.shape else np.moveaxis(array, -1, 1)
            np.testing.assert_allclose(data, reference, rtol=1e-4, atol=1e-5)


def test_node_names_are_unique_beside_values_of_equal_name(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="twice"),
        helper.make_node("CumSum", ["r", "axis"], ["y"], name="twice"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [onnx.numpy_helper.from_array(np.array(1, np.int64), "axis")],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    context = make_context(store=BlobStore())
    module = import_onnx(path, context.store)
    pass_class("convert-framework-to-mblt")().run(module, context)
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
    found = FloatSession(next(iter(module.ops)), context.store).run_outputs({"x": x})["y"]
    np.testing.assert_allclose(found, np.cumsum(np.maximum(x, 0), axis=1), rtol=1e-6)


def test_a_result_of_unknown_rank(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Squeeze", ["x"], ["s"], name="squeeze"),
        helper.make_node("Relu", ["s"], ["y"], name="relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, "M"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    context = make_context(store=BlobStore())
    module = import_onnx(path, context.store)
    pass_class("convert-framework-to-mblt")().run(module, context)
    func = next(iter(module.ops))
    x = np.random.default_rng(1).standard_normal((1, 3, 4)).astype(np.float32)
    for found in (run(func, context.store, {"x": x}), FloatSession(func, context.store).run_outputs({"x": x})):
        np.testing.assert_array_equal(found["y"], np.maximum(x[0], 0))
