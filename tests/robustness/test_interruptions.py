"""Ctrl-C in every phase and kills at random moments leave nothing unfinished."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from qbc.atomic import atomic_write, remove_unfinished
from tests.robustness.conftest import Files
from tests.support.processes import hear_interrupts


def test_interruptions() -> None:
    command = [sys.executable, "-m", "tests.robustness.interruptions", "10", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_get_an_event(files: Files, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "qbcompiler", "compile", "--model", str(files.model), "--use-random-calib"]
    process = subprocess.Popen(
        [*command, "--output", str(tmp_path / "out.mxq")],
        env={**os.environ, "QBCOMPILER_JSONL": "1"},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["kind"] == "status"
    process.send_signal(signal.SIGINT)
    events = [json.loads(line) for line in process.stdout]
    assert process.wait() == 1
    assert [event["kind"] for event in events[-2:]] == ["error", "status"]
    assert (events[-2]["code"], events[-1]["status"]) == ("INTERRUPTED", "failed")
    assert os.listdir(tmp_path) == []


def test_named_temporary_files_are_removed(tmp_path: Path) -> None:
    """Where the file system has no unnamed files, and where an old file is replaced."""
    (tmp_path / "out").write_text("old")
    with atomic_write(tmp_path / "out") as handle:
        handle.write(b"new")
        remove_unfinished()
        assert os.listdir(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out"]
