"""How processes end from outside: readers that go away, and signals. Nothing partial is left, there is no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qbcompiler.demo import digits_model_path
from tests.support.processes import hear_interrupts

TOOL = [sys.executable, "-m", "qbcompiler"]
COMPILE = [*TOOL, "compile", "--model", str(digits_model_path()), "--use-random-calib", "--target-device", "aries-rb"]
SIGPIPE_STATUS = 128 + signal.SIGPIPE


def read_and_leave(command: list[str], lines: int, *, jsonl: bool, errors_too: bool = False) -> tuple[int, str]:
    """Run a command, read some lines of its output, and close the pipe; returns its status and what else it said."""
    process = subprocess.Popen(
        command,
        env={**os.environ, "QBCOMPILER_JSONL": "1" if jsonl else "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors_too else subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(lines):
        assert process.stdout.readline()
    process.stdout.close()
    rest = "" if process.stderr is None else process.stderr.read()
    return process.wait(), rest


@pytest.mark.parametrize("lines", [0, 1, 20])
def test_programs_that_leave_end_a_compilation(tmp_path: Path, lines: int) -> None:
    found = read_and_leave([*COMPILE, "--output", str(tmp_path / "a.mxq")], lines, jsonl=True)
    assert found == (SIGPIPE_STATUS, "")
    assert os.listdir(tmp_path) == []


def test_a_reader_of_the_progress_that_leaves_ends_a_compilation(tmp_path: Path) -> None:
    command = [*COMPILE, "--output", str(tmp_path / "a.mxq"), "--verbose"]
    assert read_and_leave(command, 1, jsonl=False, errors_too=True) == (SIGPIPE_STATUS, "")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "command",
    [
        [*TOOL, "target", "show", "aries-rb"],
        [*TOOL, "--help"],
        [*TOOL, "dump-config"],
        [*TOOL, "explain", "NO_SUCH_CODE"],
        [sys.executable, "-m", "qbc.driver", "--list-passes"],
    ],
)
@pytest.mark.parametrize("jsonl", [False, True])
def test_nobody_reads_the_result(command: list[str], jsonl: bool) -> None:
    status, said = read_and_leave(command, 0, jsonl=jsonl)
    if "NO_SUCH_CODE" in command and not jsonl:  # the error goes to stderr, which is read
        assert status == 1 and said.startswith("ERROR [ARGUMENT_ERROR]")
        return
    assert (status, said) == (SIGPIPE_STATUS, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("jsonl", [False, True])
def test_signals_end_with_one_error(tmp_path: Path, number: signal.Signals, jsonl: bool) -> None:
    process = subprocess.Popen(
        [*COMPILE, "--output", str(tmp_path / "a.mxq")],
        env={**os.environ, "QBCOMPILER_JSONL": "1" if jsonl else "0"},
        stdout=subprocess.PIPE if jsonl else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if jsonl else subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    stream = process.stdout if jsonl else process.stderr
    assert stream is not None
    while "phase" not in stream.readline():
        pass
    process.send_signal(number)
    lines = stream.read().splitlines()
    assert process.wait() == 1
    assert os.listdir(tmp_path) == []
    if not jsonl:
        assert lines[-1].startswith("ERROR [INTERRUPTED]: ") and sum("ERROR" in line for line in lines) == 1
        return
    error, status = (json.loads(line) for line in lines[-2:])
    assert (error["kind"], error["code"], error["node"]) == ("error", "INTERRUPTED", None)
    assert (status["kind"], status["command"], status["status"]) == ("status", "compile", "failed")


def test_a_quantization_for_onnx_leaves_no_directory(tmp_path: Path) -> None:
    parse = [*TOOL, "parse", "--model", str(digits_model_path()), "--output", str(tmp_path / "a.mblt"), "--quiet"]
    subprocess.run(parse, check=True)
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [*TOOL, "export", "--qdq", "--mblt", str(tmp_path / "a.mblt"), "--output", str(tmp_path / "a.onnx"),
         "--use-random-calib"],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )  # fmt: skip
    while not os.listdir(tmp_path / "tmp"):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 1
    assert os.listdir(tmp_path / "tmp") == [] and not (tmp_path / "a.onnx").exists()
