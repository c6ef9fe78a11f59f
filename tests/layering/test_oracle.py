"""The oracle stands on the text of the arithmetic alone: it reaches nothing of the compiler, nor what feeds it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ORACLE = ROOT / "tests" / "oracle"
FILES = sorted(ORACLE.rglob("*.py"))


def foreign_imports(text: str) -> list[str]:
    """Return the imports of a module of the oracle that are neither its own, numpy nor Python's."""
    allowed = sys.stdlib_module_names | {"numpy"}
    found = []
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level != 1:
            names = ["." * node.level + (node.module or "")]
        found += [name for name in names if name.split(".")[0] not in allowed]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_imports(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert foreign_imports(text) == []
    assert "import_module" not in text
    assert "__import__" not in text


def test_what_would_be_noticed() -> None:
    assert foreign_imports("def f():\n    from qbc.kernels import CODE_RANGES\n") == ["qbc.kernels"]
    assert foreign_imports("import numpy, qbcompiler.runtime") == ["qbcompiler.runtime"]
    assert foreign_imports("from tests.oracle_checks.compare import spec") == ["tests.oracle_checks.compare"]
    assert foreign_imports("from ..support import networks") == ["..support"]
    assert foreign_imports("from .arithmetic import exact\nimport math") == []


def test_it_runs_where_there_is_no_compiler() -> None:
    """Isolated from installed packages except numpy, with only the folder of the oracle on the path."""
    code = (
        f"import sys; sys.path.insert(0, {str(ORACLE.parent)!r})\n"
        "class Wall:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('qbc', 'qbcompiler', 'tests'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Wall())\n"
        "import numpy, oracle\n"
        "x = numpy.array([-128, -1, 0, 127])\n"
        "rule = dict(zx=0, m=3, s=1, z=0, lo=-128, hi=127)\n"
        "print(oracle.run('requantize', [x], rule, {}, x.shape, 'i8').tolist())\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[-128, -1, 0, 127]", done.stderr
