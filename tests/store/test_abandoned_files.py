"""Temporary files that killed processes left: the next run on the same output removes them, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from qbc.atomic import atomic_write, check_writable

KILLED = """
import os, signal, sys
from pathlib import Path
import qbc.atomic

os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with qbc.atomic.atomic_write(Path(sys.argv[1])) as handle:
    handle.write(b"half of it")
"""
WRITING = """
import sys
from pathlib import Path
import qbc.atomic

qbc.atomic.os.O_TMPFILE = 0  # as on a file system without unnamed files
with qbc.atomic.atomic_write(Path(sys.argv[1])) as handle:
    print("ready", flush=True)
    sys.stdin.read()
    handle.write(b"new")
"""


@pytest.fixture
def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("name", ["out.mxq", "out [1]*.mxq"])
def test_kill_between_link_and_rename(tmp_path: Path, name: str) -> None:
    output = tmp_path / name
    output.write_bytes(b"old")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(output)])
    assert process.wait() == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == sorted([name, f".{name}.{process.pid}.tmp"])
    check_writable(output)
    assert os.listdir(tmp_path) == [name]
    assert output.read_bytes() == b"old"


def test_a_running_writer_keeps_its_file(tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [sys.executable, "-c", WRITING, str(output)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        check_writable(output)
        assert os.listdir(tmp_path) == [f".out.{process.pid}.tmp"]
        process.stdin.close()
        assert process.wait() == 0
    assert output.read_bytes() == b"new"


def test_a_locked_file_stays(tmp_path: Path, ended: int) -> None:
    """Its writer may run in another process namespace, where its number means something else."""
    locked = tmp_path / f".out.{ended}.tmp"
    holder = (
        "import fcntl, sys; f = open(sys.argv[1], 'wb'); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    )
    command = [sys.executable, "-c", holder, str(locked)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        check_writable(tmp_path / "out")
        assert locked.exists()
        process.communicate("\n")
    check_writable(tmp_path / "out")
    assert not locked.exists()


FOREIGN: dict[str, Callable[[Path], object]] = {
    ".other.{ended}.tmp": lambda path: path.touch(),
    ".out.x{ended}.tmp": lambda path: path.touch(),
    ".out.{ended}.tmp2": lambda path: path.touch(),
    "out.{ended}.tmp": lambda path: path.touch(),
    ".out.1.tmp": lambda path: path.touch(),
    ".out.{ended}.tmp": lambda path: path.mkdir(),
    ".out.0{ended}.tmp": lambda path: path.symlink_to("target"),
    ".out.00{ended}.tmp": lambda path: os.mkfifo(path),
}


@pytest.mark.parametrize("form", FOREIGN)
def test_other_files_stay(tmp_path: Path, ended: int, form: str) -> None:
    name = form.format(ended=ended)
    FOREIGN[form](tmp_path / name)
    (tmp_path / "target").touch()
    check_writable(tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == sorted([name, "target"])


def test_a_process_number_that_came_back(tmp_path: Path) -> None:
    """In containers a process often has the number of the one before."""
    output = tmp_path / "out"
    abandoned = tmp_path / f".out.{os.getpid()}.tmp"
    abandoned.touch()
    check_writable(output)
    assert not abandoned.exists()
    with atomic_write(output) as handle:
        handle.write(b"new")
        check_writable(output)
    assert os.listdir(tmp_path) == ["out"]
