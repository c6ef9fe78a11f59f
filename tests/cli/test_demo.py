"""The demo and the examples do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

ROOT = Path(__file__).resolve().parents[2]


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--output-dir", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    floating, compiled = (float(text) for text in re.findall(r"accuracy \(\w+\)\s+([\d.]+)%", shown))
    assert floating >= 97.0
    assert compiled >= floating - 1.0
    assert "classifier" in shown and "latency on aries-rb" in shown
    assert (tmp_path / "demo" / "digits.mxq").exists()
    assert list((tmp_path / "demo" / "ir").glob("*-convert-quant-to-npu.mlir"))


def test_the_network_is_small_package_data() -> None:
    assert digits_model_path().stat().st_size < 200_000


def test_compile_and_run_example(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "compile_and_run.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split(":")[1].strip().rstrip("%")) >= 95.0
