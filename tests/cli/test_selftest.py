"""`qbcompiler target selftest` with and without a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbc.store import read_container, write_container
from qbcompiler.cli import main
from tests.support.networks import compiled


def test_families_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["target", "selftest"]) == 0
    assert "kernel family" in capsys.readouterr().out


def test_replay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["target", "selftest", str(compiled("digits"))]) == 0
    assert "records equal" in capsys.readouterr().out
    container = read_container(compiled("digits"))
    sections = {name: bytes(view) for name, view in container.sections.items()}
    sections["golden/single/0"] = sections["golden/single/0"].replace(b'"records":["', b'"records":["0')
    write_container(tmp_path / "other.mxq", "MXQ", sections)
    assert main(["target", "selftest", str(tmp_path / "other.mxq")]) == 1
    assert "record 0 differs" in capsys.readouterr().out
