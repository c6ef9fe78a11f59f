"""Weights of IR text: every file that is written has what it names beside it, whichever passes ran."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from qbc.driver.opt import main
from qbcompiler.demo import digits_model_path


def _opt(*arguments: str | Path) -> int:
    return main([str(part) for part in arguments])


def _weights(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} if directory.is_dir() else set()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "read" / "model.mlir"
    path.parent.mkdir()
    assert _opt(digits_model_path(), "-o", path) == 0
    assert _weights(path.with_suffix(".blobs"))
    return path


@pytest.mark.parametrize("pipeline", ["", "cse", "canonicalize", "framework-eliminate-dead"])
def test_passes_that_read_no_weights_keep_them(pipeline: str, text: Path, tmp_path: Path) -> None:
    written = tmp_path / "written" / "x.mlir"
    written.parent.mkdir()
    assert _opt(text, "-p", pipeline, "-o", written) == 0
    assert _weights(written.with_suffix(".blobs")) == _weights(text.with_suffix(".blobs"))
    assert _opt(written, "-p", "convert-framework-to-mblt", "-o", tmp_path / "next.mlir") == 0


def test_parts_of_a_split_file_keep_their_weights(text: Path, tmp_path: Path) -> None:
    written = tmp_path / "x.mlir"
    assert _opt(text, "--split-input-file", "-o", written) == 0
    assert _weights(tmp_path / "x.blobs") == _weights(text.with_suffix(".blobs"))


def test_dumps_keep_weights_that_no_pass_read(text: Path, tmp_path: Path) -> None:
    assert _opt(text, "-p", "symbol-dce", "--dump-ir", tmp_path / "dump", "-o", tmp_path / "x.mlir") == 0
    assert _weights(tmp_path / "dump" / "00-input.blobs") == _weights(text.with_suffix(".blobs"))


def test_a_named_directory_takes_the_weights_of_every_input(text: Path, tmp_path: Path) -> None:
    expected = _weights(text.with_suffix(".blobs"))
    for number, source in enumerate((digits_model_path(), text)):
        directory, written = tmp_path / f"weights{number}", tmp_path / f"x{number}.mlir"
        assert _opt(source, "--blobs", directory, "-o", written) == 0
        assert _weights(directory) == expected
        assert not written.with_suffix(".blobs").exists()


def test_pipes_go_on_from_a_named_directory(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _opt(text, "--blobs", tmp_path / "weights") == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(capsys.readouterr().out))
    assert _opt("--blobs", tmp_path / "weights", "-p", "convert-framework-to-mblt", "-o", tmp_path / "x.mlir") == 0


def test_a_missing_directory_is_no_place_to_read_from(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text.read_text()))
    assert _opt("--blobs", tmp_path / "nosuch") == 1
    assert "nosuch' does not exist" in capsys.readouterr().err
    assert not (tmp_path / "nosuch").exists()


def test_a_file_is_no_directory_of_weights(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _opt(text, "--blobs", text) == 1
    assert "is not a directory" in capsys.readouterr().err
