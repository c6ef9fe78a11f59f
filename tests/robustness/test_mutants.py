"""100 mutants of each format: success, or one documented error; never a crash, a hang or a partial file."""

from __future__ import annotations

import subprocess
import sys

import pytest

COUNT = 100


@pytest.mark.parametrize("format_name", ["onnx", "mblt", "mxq", "npy", "mlir"])
def test_mutants(format_name: str) -> None:
    command = [sys.executable, "-m", "tests.robustness.campaign", format_name, str(COUNT), "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-2]) >= COUNT // 3
