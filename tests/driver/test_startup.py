"""Start-up: the command-line tools load no heavy module before they need it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from qbcompiler.demo import digits_model_path

HEAVY = ("numpy", "torch", "onnx", "onnxruntime", "yaml", "pydantic", "rich", "numba", "importlib.metadata")
OTHER_DIALECTS = tuple(f"qbc.dialects.{name}" for name in ("framework", "mblt", "quant", "npu"))
THREE_LINES = "func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {\n  func.return %x : tensor<1x3xf32>\n}\n"


# What an import needs nothing of.
LATER = ("torch", "onnxruntime", "numba", "qbc.dialects.quant", "qbc.dialects.npu", "qbc.kernels", "qbc.runtime")


def _loaded_after(code: str, *arguments: str, watched: tuple[str, ...] = HEAVY) -> set[str]:
    script = f"import sys\n{code}\nprint('LOADED', *[m for m in {watched!r} if m in sys.modules], file=sys.stderr)\n"
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("LOADED")]
    return set(line.split()[1:])


@pytest.mark.parametrize("extra", [[], ["--pass-pipeline", "builtin.module()"], ["-o", "{out}"]])
def test_qbc_opt_on_three_lines(tmp_path: Path, extra: list[str]) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(THREE_LINES)
    extra = [part.format(out=tmp_path / "y.mlir") for part in extra]
    code = "from qbc.driver.opt import main\nassert main(sys.argv[1:]) == 0"
    assert _loaded_after(code, str(path), *extra, watched=(*HEAVY, *OTHER_DIALECTS)) == set()


def test_qbcompiler_help() -> None:
    assert _loaded_after("from qbcompiler.cli import main\nassert main(['--help']) == 0") == set()


def test_importing_the_package() -> None:
    assert _loaded_after("import qbcompiler") == set()


def test_importing_the_functions_does_not_load_torch() -> None:
    loaded = _loaded_after("from qbcompiler import mxq_compile, mblt_compile")
    assert not loaded & {"torch", "onnx", "onnxruntime", "numba"}


def test_parsing_loads_nothing_of_later_phases(tmp_path: Path) -> None:
    arguments = ["parse", "--model", str(digits_model_path()), "--output", str(tmp_path / "digits.mblt"), "--quiet"]
    code = "from qbcompiler.cli import main\nassert main(sys.argv[1:]) == 0"
    assert _loaded_after(code, *arguments, watched=LATER) == set()
