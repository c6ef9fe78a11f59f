"""The documented keys of results against what every command gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qbcompiler.capabilities import command_names
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path
from qbcompiler.parser import build_parser
from qbcompiler.result_keys import RESULTS

MODEL = str(digits_model_path())
DEVICE = ["--target-device", "aries-rb"]
# For each row of RESULTS, in order: a call that gives such a result.
CALLS = (
    ["compile", "--model", MODEL, "--output", "{mxq}", "--use-random-calib", *DEVICE],
    ["parse", "--model", MODEL, "--output", "{mblt}"],
    ["quantize", "--mblt", "{mblt}", "--output", "{mxq}", "--use-random-calib", *DEVICE],
    ["compile", "--print-pipeline"],
    ["dump-config", "--output", "{dir}/c.json"],
    ["dump-config"],
    ["presets"],
    ["check"],
    ["explain", "PIPELINE_ERROR"],
    ["completion", "fish"],
    ["info", "{mxq}"],
    ["info", "--mblt", "{mblt}"],
    ["info", "{mblt}", "--layers", "--map"],
    ["info", "{mblt}", "--check-source", MODEL],
    ["validate", "--model", MODEL],
    ["export", "--mblt", "{mblt}", "--output", "{dir}/e.onnx"],
    ["export", "--qdq", "--mblt", "{mblt}", "--output", "{dir}/q.onnx", "--use-random-calib"],
    ["view", "{mxq}"],
    ["extract-body", "--mblt", "{mblt}", "--output", "{dir}/b.mblt"],
    ["target", "list"],
    ["target", "show", "aries-rb"],
    ["target", "selftest", "{mxq}"],
    ["run", "--mxq", "{mxq}", "--output-dir", "{dir}/out"],
    ["demo", "--output-dir", "{dir}/demo"],
    ["--version"],
)


def test_every_command_is_in_the_table() -> None:
    documented = {row.command.split()[0] for row in RESULTS}
    assert documented - {"print-pipeline", "version"} == set(command_names(build_parser()))


def test_keys_are_those_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QBCOMPILER_JSONL", "1")
    places = {"dir": tmp_path, "mxq": tmp_path / "a.mxq", "mblt": tmp_path / "a.mblt"}
    for row, call in zip(RESULTS, CALLS, strict=True):
        assert main([part.format(**places) for part in call]) == 0, call
        lines: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        (result,) = [line for line in lines if line["kind"] == "result"]
        assert (result["command"], set(result["data"])) == (row.command, set(row.keys)), call
        assert {line["kind"] for line in lines} <= {"status", "progress", "log", "result"}
        assert [lines[0]["status"], lines[-1]["status"]] == ["started", "finished"]
