"""A snapshot whose recorded pipeline is damaged is a damaged snapshot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qbc.store import read_container, write_container
from qbcompiler.cli import main
from tests.support.networks import parsed


@pytest.mark.parametrize("text", ["x", "builtin.module(", "mblt-fuse-pad{no-such-option=1}"])
def test_damaged_pipeline(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    container = read_container(parsed("digits"))
    sections = {name: bytes(view) for name, view in container.sections.items()}
    manifest = json.loads(sections["manifest"])
    manifest["pipeline"] = text
    sections["manifest"] = json.dumps(manifest).encode()
    write_container(tmp_path / "m.mblt", "MBLT", sections)
    capsys.readouterr()
    arguments = ["quantize", "--mblt", str(tmp_path / "m.mblt"), "--output", str(tmp_path / "m.mxq")]
    assert main([*arguments, "--use-random-calib"]) == 1
    assert "ERROR [INVALID_SNAPSHOT]" in capsys.readouterr().err
    assert not (tmp_path / "m.mxq").exists()
