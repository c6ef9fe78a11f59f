"""The one command of the benchmarks knows every script."""

from __future__ import annotations

from pathlib import Path

import benchmarks
from benchmarks.__main__ import NAMED, SCRIPTS


def test_every_script_is_listed() -> None:
    folder = Path(benchmarks.__file__).parent
    scripts = {
        path.stem for path in folder.glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    assert scripts - {"__main__"} == {*SCRIPTS, *NAMED}


def test_scripts_say_how_to_run_them() -> None:
    for name in (*SCRIPTS, *NAMED):
        text = (Path(benchmarks.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        assert f"    python -m benchmarks.{name}" in text.split('"""')[1], name
