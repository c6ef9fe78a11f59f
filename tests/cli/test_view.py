"""The command `view`: files, events, and the viewer that is opened."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import pytest

from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

MODEL = str(digits_model_path())


def run(*arguments: object) -> int:
    return main([str(part) for part in arguments])


@pytest.fixture
def mblt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "digits.mblt"
    assert run("parse", "--model", MODEL, "--output", path, "--quiet") == 0
    capsys.readouterr()
    return path


@pytest.fixture
def mxq(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "digits.mxq"
    arguments = ["--use-random-calib", "--quiet", "--inference-scheme", "all", "--target-device", "aries-rb"]
    assert run("compile", "--model", MODEL, "--output", path, *arguments) == 0
    capsys.readouterr()
    return path


class FakeViewer(ModuleType):
    """Stands for the package netron and remembers what was opened."""

    def __init__(self) -> None:
        super().__init__("netron")
        self.calls: list[str] = []

    def start(self, path: str) -> None:
        onnx.checker.check_model(path)
        self.calls.append(path)

    def wait(self) -> None:
        self.calls.append("wait")


@pytest.fixture
def viewer(monkeypatch: pytest.MonkeyPatch) -> FakeViewer:
    fake = FakeViewer()
    monkeypatch.setitem(sys.modules, "netron", fake)
    return fake


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


def test_the_view_lies_beside_the_file(mblt: Path, viewer: FakeViewer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("view", mblt) == 0
    out = capsys.readouterr().out
    assert f"wrote {mblt}.onnx (12 nodes)" in out and "https://netron.app" in out
    onnx.checker.check_model(f"{mblt}.onnx", full_check=True)
    assert viewer.calls == []  # nobody is there to look


def test_the_viewer_opens_on_a_terminal(
    mblt: Path, viewer: FakeViewer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(monkeypatch)
    assert run("view", mblt, "--output", mblt.with_name("a.onnx")) == 0
    assert viewer.calls == [str(mblt.with_name("a.onnx")), "wait"]
    assert "netron.app" not in capsys.readouterr().out


def test_without_the_package_the_command_says_how_to_open(
    mblt: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "netron", None)
    assert run("view", mblt) == 0
    assert "pip install 'qbcompiler[view]'" in capsys.readouterr().out


def test_no_open(
    mblt: Path, viewer: FakeViewer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(monkeypatch)
    assert run("view", mblt, "--no-open") == 0
    assert viewer.calls == [] and capsys.readouterr().out == f"wrote {mblt}.onnx (12 nodes)\n"


def test_core_modes_as_json_lines(
    mxq: Path, viewer: FakeViewer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QBCOMPILER_JSONL", "1")
    on_a_terminal(monkeypatch)
    assert run("view", mxq, "--core-mode", "multi") == 0
    started, notice, result, finished = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (started["status"], finished["status"], notice["level"]) == ("started", "finished", "notice")
    assert "single, global4, global8" in notice["message"]
    data: dict[str, Any] = result["data"]
    assert data == {
        "output": f"{mxq}.onnx",
        "nodes": len(onnx.load(f"{mxq}.onnx").graph.node),
        "other_core_modes": ["single", "global4", "global8"],
        "opened": False,
    }
    assert viewer.calls == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["{onnx}"], "is an ONNX model"),
        (["{mblt}.none"], "does not exist"),
        (["{config}"], "cannot be shown"),
        (["{mblt}", "--core-mode", "single"], "no program of core mode 'single'"),
        (["{mblt}", "--output", "{mblt}"], "cannot be written"),
        (["{mblt}", "--output", "a.png"], "has not the suffix .onnx"),
        (["{mblt}", "--output", "/none/a.onnx"], "/none"),
        (["{damaged}"], "INVALID_SNAPSHOT"),
        ([], "FILE"),
    ],
)
def test_mistakes(mblt: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    config, damaged = mblt.with_name("c.yaml"), mblt.with_name("d.mblt")
    config.write_text("{}")
    damaged.write_bytes(mblt.read_bytes()[:-1])
    places = {"onnx": MODEL, "mblt": mblt, "config": config, "damaged": damaged}
    assert run("view", *(part.format(**places) for part in arguments)) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ERROR")]
    assert message in line
    assert sorted(path.name for path in mblt.parent.iterdir()) == ["c.yaml", "d.mblt", "digits.mblt"]
