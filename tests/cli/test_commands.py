"""Commands around compilation, JSON lines, and configurations on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

MODEL = str(digits_model_path())


def run(*arguments: object) -> int:
    return main([str(part) for part in arguments])


@pytest.fixture
def mblt(tmp_path: Path) -> Path:
    path = tmp_path / "digits.mblt"
    assert run("parse", "--model", MODEL, "--output", path, "--quiet") == 0
    return path


@pytest.fixture
def partly(tmp_path: Path) -> Path:
    """A model with an operator that has no form on the NPU."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "relu"),
        helper.make_node("Det", ["a"], ["y"], "determinant"),
    ]
    graph = helper.make_graph(
        nodes, "partly",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )  # fmt: skip
    path = tmp_path / "partly.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def json_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return what was written to stdout, every line a JSON object; nothing of the protocol goes to stderr."""
    captured = capsys.readouterr()
    assert "ERROR" not in captured.err and "notice" not in captured.err
    return [json.loads(line) for line in captured.out.splitlines()]


def test_layers_and_map(mblt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", "--mblt", mblt, "--layers", "--map") == 0
    text = capsys.readouterr().out
    assert "stem/conv + stem/norm + stem/relu" in text and "Convolution" in text
    sources = {node.name for node in onnx.load(MODEL).graph.node}
    shown = {line.split("  ")[0].strip() for line in text.partition("source node")[2].splitlines()}
    assert sources <= shown
    assert run("info", "--mxq", mblt.with_suffix(".mxq"), "--layers") == 1


def test_validate(partly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("validate", "--model", MODEL) == 0
    assert "every operator has a form on the NPU" in capsys.readouterr().out
    assert run("validate", "--model", partly) == 0
    assert "determinant" in capsys.readouterr().out


def test_export_computes_the_same(mblt: Path, tmp_path: Path) -> None:
    assert run("export", "--mblt", mblt, "--output", tmp_path / "e.onnx") == 0
    image = np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)
    first, second = (
        onnxruntime.InferenceSession(path).run(None, {"image": image})[0] for path in (MODEL, str(tmp_path / "e.onnx"))
    )
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)


def test_extract_body(mblt: Path, partly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("extract-body", "--mblt", mblt, "--output", tmp_path / "b.mblt") == 0
    assert (tmp_path / "b.mblt").read_bytes() == mblt.read_bytes()
    assert run("parse", "--model", partly, "--output", tmp_path / "p.mblt", "--quiet") == 0
    assert run("extract-body", "--mblt", tmp_path / "p.mblt", "--output", tmp_path / "c.mblt") == 1
    assert "determinant" in capsys.readouterr().err
    assert not (tmp_path / "c.mblt").exists()


def test_presets_and_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("presets") == 0
    assert "classification_torchvision" in capsys.readouterr().out
    assert run("presets", "--name", "yolo_640") == 0
    assert "letterbox" in capsys.readouterr().out
    assert run("check") == 0
    assert "parse, quantize" in capsys.readouterr().out


def test_dump_config_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    assert run("dump-config", "--preset", "detection") == 0
    assert yaml.safe_load(capsys.readouterr().out)["quantization"]["calibration"]["output"] == 1


@pytest.mark.parametrize("value", ["1", "true", "YES", "on"])
def test_json_lines_of_small_commands(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QBCOMPILER_JSONL", value)
    assert run("presets") == 0
    started, result, finished = json_lines(capsys)
    assert started == {"version": 1, "kind": "status", "command": "presets", "status": "started"}
    assert {entry["name"] for entry in result["data"]["presets"]} >= {"llm", "yolo_640"}
    assert set(result["data"]["presets"][0]) == {"name", "base", "description", "config", "missing"}
    assert finished["status"] == "finished"


def test_json_lines_of_a_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QBCOMPILER_JSONL", "1")
    output = tmp_path / "a.mxq"
    assert run("compile", "--model", MODEL, "--output", output, "--use-random-calib") == 0
    lines = json_lines(capsys)
    assert {line["kind"] for line in lines} == {"status", "progress", "log", "result"}
    (result,) = [line for line in lines if line["kind"] == "result"]
    assert result["data"]["output"] == str(output) and result["data"]["bytes"] == output.stat().st_size
    assert result["data"]["accuracy"]["outputs"] and result["data"]["latency"]["npu_ms"] > 0
    assert any("random data" in line["message"] for line in lines if line["kind"] == "log")
    assert run("run", "--mxq", output) == 0
    (ran,) = [line["data"] for line in json_lines(capsys) if line["kind"] == "result"]
    assert ran["random_inputs"] and [entry["name"] for entry in ran["outputs"]] == ["logits"]
    assert run("target", "selftest", output) == 0
    (proved,) = [line["data"] for line in json_lines(capsys) if line["kind"] == "result"]
    assert set(proved["kernels"]) >= {"conv2d", "linear"} and all(entry["passed"] for entry in proved["programs"])


def test_errors_as_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QBCOMPILER_JSONL", "1")
    assert run("compile", "--model", MODEL, "--output", tmp_path / "a.mxq") == 1
    *_, error, failed = json_lines(capsys)
    assert (error["kind"], error["code"]) == ("error", "NO_CALIBRATION_DATA")
    assert "No calibration dataset is provided" in error["message"]
    assert set(error) == {"version", "kind", "code", "message", "hint", "node", "pass"}
    assert failed["status"] == "failed"
    assert run("compil") == 1
    (only,) = json_lines(capsys)
    assert "did you mean compile" in only["hint"]


@pytest.mark.parametrize(
    "arguments, hint",
    [
        (["compil"], "did you mean compile?"),
        (["compile", "--modle", "x"], "did you mean --model?"),
        (["parse", "--modle", "x", "--output", "y"], "unrecognized arguments: --modle; the following arguments are "
         "required: --model/--compile-from (did you mean --model?"),
        (["quantize", "--mbtl=x", "--output", "y"], "did you mean --mblt?"),
        (["run", "--mqx", "x"], "did you mean --mxq?"),
        (["parse", "--output", "y"], "ERROR [ARGUMENT_ERROR]: the following arguments are required: --model"),
        (["compile", "--model", MODEL, "--output", "{out}", "--config-preset", "detecton", "--use-random-calib"],
         "did you mean 'detection'?"),
        (["compile", "--model", MODEL, "--output", "{out}", "--compile-config", "{config}", "--use-random-calib"],
         "did you mean 'calibration'?"),
        (["compile", "--model", MODEL, "--output", "{out}", "--compile-config", "x.toml", "--use-random-calib"],
         "name it .json, .yaml, .yml"),
        (["completion", "bsh"], "did you mean bash?"),
        (["quantize", "--mblt", "a.mblt", "--output", "{out}", "--cpu-offload"],
         "--cpu-offload is a flag of compile, parse, validate;"),
    ],
)  # fmt: skip
def test_hints(arguments: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("calibratoin: {}")
    known = {"out": tmp_path / "a.mxq", "config": config}
    assert run(*(part.format(**known) for part in arguments)) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ERROR")]
    assert hint in line


def test_strict_configurations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("calibration: {mode: 0}\nquantization: {calibration: {mode: 1}}\n")
    arguments = ["compile", "--model", MODEL, "--output", tmp_path / "a.mxq", "--use-random-calib", "--quiet"]
    assert run(*arguments, "--compile-config", config) == 0
    assert "the grouped one is used" in capsys.readouterr().err
    assert run(*arguments, "--compile-config", config, "--strict-config") == 1
    assert "ERROR [CONFIG_ERROR]" in capsys.readouterr().err


def test_the_preset_wins_over_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compile", "--model", MODEL, "--output", tmp_path / "a.mxq", "--use-random-calib", "--quiet"]
    assert run(*arguments, "--compile-config", "none.yaml", "--config-preset", "classification") == 0
    assert "none.yaml is not read" in capsys.readouterr().err


def test_verbose_names_every_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("parse", "--model", MODEL, "--output", tmp_path / "a.mblt", "--verbose") == 0
    assert "mblt-fold-batch-norm" in capsys.readouterr().err


def test_the_version_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"qbcompiler \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)
