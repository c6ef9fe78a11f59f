"""Flags of `qbc-opt`: one that cannot have an effect is an error or a notice, never silence."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from qbc.driver.opt import main
from qbcompiler.cli import main as qbcompiler
from qbcompiler.demo import digits_model_path

TEXT = "func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {\n  func.return %x : tensor<1x3xf32>\n}\n"
REPRODUCER = "// qbc-opt reproducer: builtin.module(cse)\n" + TEXT


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "x.mlir"
    path.write_text(TEXT)
    return path


def _opt(*arguments: str | Path) -> int:
    return main([str(part) for part in arguments])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--input-shape", "x=1x2"), "--input-shape binds inputs of source models, IR text has its shapes"),
        (("--calib-data-path", "/no/such/directory"), "/no/such/directory: no such file or directory"),
        (("-p", "cse", "--pass-pipeline", "canonicalize"), "-p/--pass-pipeline is given twice"),
        (("-o", "a.mlir", "-o", "b.mlir"), "-o/--output is given twice"),
        (("--target-device", "aries-rb", "--target-device", "regulus-ra"), "--target-device is given twice"),
        (("--numeric-gate=nan",), "nan is no tolerance"),
        (("--numeric-gate=-1",), "-1 is no tolerance"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_mistakes(arguments: tuple[str, ...], message: str, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _opt(text, *arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error[") and message in captured.err
    assert not captured.out


def test_the_same_value_twice_is_no_contradiction(text: Path) -> None:
    assert _opt(text, "-p", "cse", "-p", "cse") == 0
    assert _opt(text, "-p", "cse") == 0  # nothing stays behind from the run before


def test_flags_of_qbcompiler_are_given_once_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(tmp_path / "a.mblt")
    arguments = ["parse", "--model", str(digits_model_path()), "--output", output, "--output", f"{output}.mblt"]
    assert qbcompiler(arguments) == 1
    assert "--output is given twice" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_shapes_of_snapshots_are_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = tmp_path / "x.mblt"
    assert qbcompiler(["parse", "--model", str(digits_model_path()), "--output", str(snapshot)]) == 0
    capsys.readouterr()
    assert _opt(snapshot, "--input-shape", "image=1x1x8x8") == 1
    assert "is a snapshot" in capsys.readouterr().err


def test_a_reproducer_has_its_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crash.mlir"
    path.write_text(REPRODUCER)
    assert _opt(path, "--run-reproducer", "-p", "canonicalize") == 1
    assert "--run-reproducer runs the pipeline of the file" in capsys.readouterr().err
    assert _opt(path, "--run-reproducer") == 0


@pytest.mark.parametrize(
    "arguments, notice",
    [
        (("-p", "cse", "--use-random-calib"), "no pass read the calibration data"),
        (("-p", "cse", "--calib-data-path", "."), "no pass read the calibration data"),
        (("-p", "cse", "--print-ir-after=canonicalize"), "--print-ir-after=canonicalize has no effect"),
        (("-p", "cse", "--print-ir-before=canonicalize"), "--print-ir-before=canonicalize has no effect"),
        (("--blobs", "weights"), "--blobs has no effect: the result names no weights"),
        (("--dump-ir", "dump"), "--dump-ir has no effect: no pass runs"),
        (("--numeric-gate",), "--numeric-gate has no effect: no pass runs"),
        (("--crash-reproducer", "crash.mlir"), "--crash-reproducer has no effect: no pass runs"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_has_no_effect_is_told(
    arguments: tuple[str, ...],
    notice: str,
    text: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(text.parent)
    assert _opt(text, *arguments) == 0
    assert f"notice: {notice}" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "\n \n", "// only a comment\n"])
@pytest.mark.parametrize("flags", [(), ("--split-input-file",)])
def test_empty_text(
    content: str, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(content))
    assert _opt(*flags) == 1
    assert capsys.readouterr().err.startswith("error[PARSE_ERROR]: -: the text is empty")


def test_the_hint_for_missing_weights_names_flags_that_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _opt(digits_model_path(), "-o", tmp_path / "x.mlir") == 0
    (tmp_path / "x.mlir").rename(tmp_path / "y.mlir")
    assert _opt(tmp_path / "y.mlir", "-p", "convert-framework-to-mblt") == 1
    assert "NAME.blobs beside it, or in the one that --blobs names" in capsys.readouterr().err
    model, output = str(tmp_path / "y.mlir"), str(tmp_path / "y.mblt")
    assert qbcompiler(["parse", "--model", model, "--output", output]) == 1
    error = capsys.readouterr().err
    assert "NAME.blobs beside it)" in error and "--blobs" not in error
