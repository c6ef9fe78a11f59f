"""What benchmark scripts share: CPU times, pairs timed in turns, processes, rows of measured and required values.

All times are CPU seconds (user and system), which other jobs of a machine disturb least; ratios are between two things
that were timed in turns in one run, and the median of the pairs is reported.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One line of the table: what, the measured value, the required one, and whether it holds (None: only reported)."""

    what: str
    measured: str
    required: str = ""
    holds: bool | None = None

    def __str__(self) -> str:
        verdict = {True: "ok", False: "MISSED", None: ""}[self.holds]
        return f"{self.what:<62} {self.measured:<34} {self.required:<22} {verdict}".rstrip()


@dataclass(frozen=True)
class Usage:
    """What a finished process took."""

    cpu_seconds: float
    peak_bytes: int


def single_thread() -> None:
    """Let numerical libraries use one thread that does not spin; call before they are imported."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of one call in this process."""
    start = time.process_time()
    call()
    return time.process_time() - start


def in_turns(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Time two calls in turns; return both medians and the median of first / second."""
    pairs = [(cpu_seconds(first), cpu_seconds(second)) for _ in range(rounds)]
    a, b = (median(pair[side] for pair in pairs) for side in range(2))
    return a, b, median(x / y for x, y in pairs)


def run_process(command: Sequence[str]) -> Usage:
    """Run a command to its end, quietly, and return its CPU time and peak memory; a failure ends the benchmark.

    Python keeps its byte code, as it does where nothing forbids it: the first run of a command is slower.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{errors.decode()}")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def arguments(description: str | None) -> argparse.Namespace:
    """Parse the arguments that every script takes: `--quick` for fewer rounds and smaller inputs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds; figures are less steady")
    return parser.parse_args()


def show(rows: Iterable[Row]) -> int:
    """Print rows as they come; the status is 1 when a required value is missed."""
    missed = False
    for row in rows:
        print(row, flush=True)
        missed |= row.holds is False
    return int(missed)
