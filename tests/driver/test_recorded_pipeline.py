"""A snapshot whose recorded pipeline or conversion report is damaged is a damaged snapshot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qbc.store import read_container, write_container
from qbcompiler.cli import main
from tests.support.networks import parsed

DAMAGE: list[dict[str, Any]] = [
    {"pipeline": "x"},
    {"pipeline": "builtin.module("},
    {"pipeline": "mblt-fuse-pad{no-such-option=1}"},
    {"reports": {"conversion": 0.5}},
    {"reports": {"conversion": [1]}},
    {"reports": {"conversion": [{"node": "a", "operator": None, "reason": "r"}]}},
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_records(damage: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    container = read_container(parsed("digits"))
    sections = {name: bytes(view) for name, view in container.sections.items()}
    manifest = json.loads(sections["manifest"])
    manifest.update(damage)
    sections["manifest"] = json.dumps(manifest).encode()
    write_container(tmp_path / "m.mblt", "MBLT", sections)
    capsys.readouterr()
    arguments = ["quantize", "--mblt", str(tmp_path / "m.mblt"), "--output", str(tmp_path / "m.mxq")]
    assert main([*arguments, "--use-random-calib"]) == 1
    assert "ERROR [INVALID_SNAPSHOT]" in capsys.readouterr().err
    assert not (tmp_path / "m.mxq").exists()
