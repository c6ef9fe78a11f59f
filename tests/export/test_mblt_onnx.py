"""Shape of the exported graph: layouts, names, extra outputs, external data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from xdsl.dialects.builtin import TensorType, f32

from qbc.dialects import mblt
from qbc.errors import QBCompilerError
from qbc.execute.float_ort import FloatSession
from qbc.execute.float_torch import FloatProgram
from qbc.export import onnx_mblt
from qbc.export.onnx import export_mblt, mblt_to_onnx, save_mblt_onnx
from tests.support.mblt_graphs import MbltGraph


def _residual_net(graph: MbltGraph):
    x = graph.input((1, 12, 12, 3), layout="nchw")
    stem = graph.op(
        mblt.Conv2dOp, x, kernel=[3, 3], weight=graph.weight(8, 3, 3, 3), padding=[1, 1, 1, 1], activation="relu"
    )
    branch = graph.op(mblt.Conv2dOp, stem, kernel=[1, 1], weight=graph.weight(8, 1, 1, 8))
    joined = graph.op(mblt.AddOp, stem, branch, activation="relu")
    gate = graph.op(mblt.ReduceMeanOp, joined, axes=[1, 2], keep_dims=True)
    gate = graph.op(mblt.Conv2dOp, gate, kernel=[1, 1], weight=graph.weight(8, 1, 1, 8))
    scaled = graph.op(mblt.MulOp, joined, graph.op(mblt.HardSigmoidOp, gate))
    scaled = graph.op(mblt.MulOp, scaled, graph.constant(np.arange(8).reshape(1, 1, 1, 8)))
    both = graph.op(mblt.ConcatOp, scaled, joined, axis=3)
    pooled = graph.op(mblt.MaxPool2dOp, both, kernel=[2, 2], strides=[2, 2])
    mean = graph.op(mblt.ReduceMeanOp, pooled, axes=[1, 2], keep_dims=True)
    flat = graph.op(mblt.ReshapeOp, mean, result_type=TensorType(f32, [1, 16]))
    return graph.finish(graph.op(mblt.LinearOp, flat, weight=graph.weight(40, 16))), [stem, branch, joined, gate, flat]


def test_cnn_runs_channel_first_without_transposes() -> None:
    graph = MbltGraph()
    func, _ = _residual_net(graph)
    kinds = Counter(node.op_type for node in mblt_to_onnx(func, graph.store, source_layout=True).graph.node)
    assert "Transpose" not in kinds
    inner = Counter(node.op_type for node in mblt_to_onnx(func, graph.store).graph.node)
    assert inner["Transpose"] == 1


def test_names_follow_the_source() -> None:
    graph = MbltGraph()
    func, _ = _residual_net(graph)
    model = mblt_to_onnx(func, graph.store)
    assert [entry.name for entry in model.graph.input] == ["x0"]
    assert [entry.name for entry in model.graph.output] == ["y0"]
    assert "conv2d_1" in {node.name for node in model.graph.node} | {
        name for node in model.graph.node for name in node.output
    }


def test_session_hands_out_values_in_mblt_layout() -> None:
    graph = MbltGraph()
    func, values = _residual_net(graph)
    feed, seen = graph.samples(), {}
    FloatProgram(func, graph.store).run(
        feed, {value: lambda array, v=value: seen.update({v: array}) for value in values}
    )
    found = FloatSession(func, graph.store, values).run(feed)
    assert list(found) == values
    for value in values:
        np.testing.assert_allclose(found[value], seen[value], rtol=1e-4, atol=1e-4)


def test_session_hands_out_arguments_constants_and_results() -> None:
    graph = MbltGraph()
    x, constant = graph.input((2, 3)), graph.constant(np.arange(6).reshape(2, 3))
    total = graph.op(mblt.AddOp, x, constant)
    func = graph.finish(total, total, x)
    session = FloatSession(func, graph.store, [x, constant, total])
    feed = graph.samples()
    found = session.run(feed)
    np.testing.assert_array_equal(found[x], feed["x0"])
    np.testing.assert_array_equal(found[constant], np.arange(6).reshape(2, 3))
    np.testing.assert_allclose(found[total], feed["x0"] + np.arange(6).reshape(2, 3))
    outputs = session.run_outputs(feed)
    assert list(outputs) == ["y0", "y1", "y2"]
    np.testing.assert_array_equal(outputs["y2"], feed["x0"])


def test_wrong_inputs_are_refused() -> None:
    graph = MbltGraph()
    func = graph.finish(graph.op(mblt.ReluOp, graph.input((2, 3))))
    for engine in (FloatSession(func, graph.store).run_outputs, FloatProgram(func, graph.store).run):
        with pytest.raises(QBCompilerError, match="no value for input 'x0'"):
            engine({})
        with pytest.raises(QBCompilerError, match=r"shape \[3, 2\], expected \[2, 3\]"):
            engine({"x0": np.zeros((3, 2), np.float32)})


def test_large_weights_go_to_a_file_beside_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = MbltGraph()
    func, _ = _residual_net(graph)
    feed = graph.samples()
    expected = FloatSession(func, graph.store).run_outputs(feed)["y0"]
    monkeypatch.setattr(onnx_mblt, "EXTERNAL_DATA_BYTES", 100)
    with pytest.raises(QBCompilerError, match="external data"):
        export_mblt(func, graph.store).to_model()
    save_mblt_onnx(func, graph.store, tmp_path / "net.onnx", source_layout=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.onnx", "net.onnx.data"]
    onnx.checker.check_model(str(tmp_path / "net.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"))
    np.testing.assert_allclose(session.run(None, feed)[0], expected, rtol=1e-5, atol=1e-6)


def test_dynamic_dimension() -> None:
    graph = MbltGraph()
    x = graph.input((-1, 8, 8, 3), layout="nchw")
    y = graph.op(mblt.Conv2dOp, x, kernel=[3, 3], weight=graph.weight(4, 3, 3, 3))
    y = graph.op(mblt.ReshapeOp, y, result_type=TensorType(f32, [-1, 144]))
    func = graph.finish(y)
    session = FloatSession(func, graph.store)
    feed = {"x0": graph.random.standard_normal((5, 8, 8, 3)).astype(np.float32)}
    found = session.run_outputs(feed)["y0"]
    assert found.shape == (5, 144)
    np.testing.assert_allclose(found, FloatProgram(func, graph.store).run(feed)["y0"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("size", "scale", "target"), [(7, 1.5, 10), (10, 0.33, 3), (3, 2.9999999, 9)])
def test_resize_keeps_the_size_of_the_ir(size: int, scale: float, target: int) -> None:
    graph = MbltGraph()
    x = graph.input((1, size, size, 2))
    kind = TensorType(f32, [1, target, target, 2])
    func = graph.finish(graph.op(mblt.ResizeOp, x, mode="linear", scales=[scale, scale], result_type=kind))
    feed = graph.samples()
    found = FloatSession(func, graph.store).run_outputs(feed)["y0"]
    assert found.shape == (1, target, target, 2)
    np.testing.assert_allclose(found, FloatProgram(func, graph.store).run(feed)["y0"], atol=1e-5)
