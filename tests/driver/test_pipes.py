"""A named pipe where a file is read ends in one error at once, not in a wait for its writer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path


@pytest.mark.parametrize(
    "arguments",
    [
        "--use-random-calib --compile-config {folder}/p.yaml",
        "--use-random-calib --target-device {folder}/p.yaml",
        "--calib-data-path {folder}/p.txt",
        "--calib-data-path {folder}/p.json",
        "--calib-data-path {folder}/p.npy",
    ],
)
def test_a_pipe_is_no_input(arguments: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in (".yaml", ".txt", ".json", ".npy"):
        os.mkfifo(tmp_path / f"p{suffix}")
    given = arguments.format(folder=tmp_path).split()
    command = ["compile", "--model", str(digits_model_path()), "--output", str(tmp_path / "m.mxq"), "--quiet"]
    assert main([*command, *given]) == 1
    assert capsys.readouterr().err.count("ERROR [") == 1
    assert not (tmp_path / "m.mxq").exists()
