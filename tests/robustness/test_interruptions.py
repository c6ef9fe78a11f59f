"""Ctrl-C in every phase and kills at random moments leave nothing unfinished."""

from __future__ import annotations

import subprocess
import sys


def test_interruptions() -> None:
    command = [sys.executable, "-m", "tests.robustness.interruptions", "10", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
