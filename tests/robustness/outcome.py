"""Runs a command in a forked process with bounded time and memory, and judges how it ended."""

from __future__ import annotations

import importlib
import os
import re
import resource
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qbc.errors import ERROR_CODES

MODULES = {"qbcompiler": "qbcompiler.cli", "qbc-opt": "qbc.driver.opt"}
MEMORY_BYTES = 6 << 30  # address space: the interpreter with torch maps about 3 GB
TIME_S = 60
ERROR_LINE = re.compile(r"^(?:ERROR |error)\[([A-Z_]+)\]: .+", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """Exit status (negative: killed by that signal) and what was written to stderr."""

    status: int
    stderr: str
    program: str = "qbcompiler"

    @property
    def code(self) -> str:
        """The code of the first error, or `ok`."""
        match = ERROR_LINE.search(self.stderr)
        return match[1] if match is not None and self.status != 0 else "ok" if self.status == 0 else "crash"

    def fault(self) -> str | None:
        """What is wrong with this ending, or None: success, or exactly one documented error."""
        if self.status == 0:
            return None
        if self.status != 1:
            return f"exit status {self.status}: {self.stderr[-400:]}"
        errors = list(ERROR_LINE.finditer(self.stderr))
        enough = len(errors) == 1 or (errors and self.program == "qbc-opt")  # which reports all violations at once
        if "Traceback" in self.stderr or not enough:
            return f"not exactly one error line: {self.stderr[-600:]}"
        return next((match[0] for match in errors if match[1] not in ERROR_CODES or match[1] == "INTERNAL_ERROR"), None)


def run_cli(arguments: Sequence[str], program: str = "qbcompiler") -> Outcome:
    """Run `qbcompiler` or `qbc-opt` with the given arguments in a forked process."""
    with tempfile.TemporaryFile() as captured:
        pid = os.fork()
        if pid == 0:
            _child(program, arguments, captured.fileno())
        _, status = os.waitpid(pid, 0)
        captured.seek(0)
        text = captured.read().decode("utf-8", "replace")
    return Outcome(os.waitstatus_to_exitcode(status), text, program)


def _child(program: str, arguments: Sequence[str], stderr: int) -> None:
    status = 99
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        signal.alarm(TIME_S)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(stderr, 2)
        import sys

        sys.stderr = os.fdopen(2, "w", closefd=False)
        main = importlib.import_module(MODULES[program]).main
        status = main(list(arguments))
        sys.stderr.flush()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 98
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def leftovers(directory: Path, expected: set[str]) -> list[str]:
    """Files in a directory that should not be there."""
    return sorted(name for name in os.listdir(directory) if name not in expected)
