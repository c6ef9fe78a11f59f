"""Variables of the environment that older releases read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from qbcompiler import mblt_compile
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

MODEL = str(digits_model_path())


@pytest.fixture
def older_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MBLT_HL_PARSER_NUM_WORK", "4")
    monkeypatch.setenv("MBLT_HL_PARSER_RANDOM_SEED", "1")
    monkeypatch.setenv("MBLT_HL_PARSER_NOVEL", "1")


NOTICE = (
    "no effect in this version: MBLT_HL_PARSER_NOVEL, MBLT_HL_PARSER_NUM_WORK (parsing runs in one process), "
    "MBLT_HL_PARSER_RANDOM_SEED (nothing is drawn at random)"
)


@pytest.mark.usefixtures("older_settings")
def test_settings_of_the_older_parser_are_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["parse", "--model", MODEL, "--output", str(tmp_path / "a.mblt"), "--quiet"]) == 0
    assert capsys.readouterr().err.count("MBLT_HL_PARSER_NUM_WORK") == 1
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        mblt_compile(MODEL, tmp_path / "b.mblt")
    assert [record.getMessage() for record in caplog.records] == [NOTICE]
    assert main(["export", "--mblt", str(tmp_path / "a.mblt"), "--output", str(tmp_path / "a.onnx")]) == 0
    assert "MBLT_HL_PARSER" not in capsys.readouterr().err  # a snapshot is parsed already


def test_files_do_not_depend_on_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mblt_compile(MODEL, tmp_path / "a.mblt")
    monkeypatch.setenv("MBLT_HL_PARSER_DYNAMIC", "1")
    result = mblt_compile(MODEL, tmp_path / "b.mblt")
    assert any("MBLT_HL_PARSER_DYNAMIC" in notice for notice in result.ctx.notices)
    assert (tmp_path / "a.mblt").read_bytes() == (tmp_path / "b.mblt").read_bytes()
