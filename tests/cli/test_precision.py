"""`info --layers` of an executable: the bits of each command are those that were asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbcompiler.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name)
        for name, shape in (("w", (4, 3, 3, 3)), ("v", (4, 4, 1, 1)))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "first"),
        helper.make_node("Tanh", ["a"], ["b"], "squash"),
        helper.make_node("Conv", ["b", "v"], ["c"], "second"),
        helper.make_node("MaxPool", ["c"], ["y"], "pool", kernel_shape=[2, 2]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 5, 5])]
    path = tmp_path_factory.mktemp("precision") / "model.onnx"
    graph = helper.make_graph(nodes, "bits", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


def rows_of(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *wide: str
) -> list[dict[str, Any]]:
    (folder / "bits.yaml").write_text(json.dumps({"bit": {"layerOverrides": {"activation16Bits": list(wide)}}}))
    call = ["compile", "--model", str(model), "--output", str(folder / "a.mxq"), "--use-random-calib", "--quiet"]
    promote = ["--compile-config", str(folder / "bits.yaml"), "--target-device", "aries-rb"]
    assert main([*call, *promote]) == 0
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setenv("QBCOMPILER_JSONL", "1")
        assert main(["info", str(folder / "a.mxq"), "--layers"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (data,) = [line["data"] for line in lines if line["kind"] == "result"]
    assert set(data) == {"layers"}
    rows: list[dict[str, Any]] = data["layers"]
    return rows


def test_bytes(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of(model, tmp_path, monkeypatch, capsys)
    assert {bits for row in rows for bits in (*row["input_bits"], row["output_bits"])} == {8}
    assert {row["weight_bits"] for row in rows if row["operation"] == "conv2d"} == {8}
    assert [row["weight_bits"] for row in rows if row["operation"] == "max_pool2d"] == [None]
    assert [row["number"] for row in rows] == list(range(len(rows)))
    assert rows[-1]["shape"] == "1x5x5x4" and rows[-1]["name"] == "pool"
    assert main(["info", str(tmp_path / "a.mxq"), "--layers"]) == 0
    assert f"core mode single: {len(rows)} commands, 0 with 16-bit values" in capsys.readouterr().out


def test_a_layer_of_16_bits(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of(model, tmp_path, monkeypatch, capsys, "first")
    first = [row for row in rows if row["name"] == "first"]
    assert first and {row["output_bits"] for row in first} == {16} and {row["weight_bits"] for row in first} == {8}
    (squash,) = [row for row in rows if "squash" in row["name"]]
    assert (squash["input_bits"], squash["output_bits"]) == ([16], 8)
    assert main(["info", str(tmp_path / "a.mxq"), "--layers", "--map"]) == 0
    text = capsys.readouterr().out
    assert "2 with 16-bit values" in text and "source node" in text
