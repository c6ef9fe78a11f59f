"""Ends compilations by signals and judges what they leave: one line and no file after Ctrl-C, no file after a kill.

    python -m tests.robustness.interruptions KILLS SEED

Compilations of the digits network run in processes forked from this one. SIGINT comes once in every phase, SIGKILL at
KILLS random moments, over a new and over an existing output. It prints one line for each fault.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.robustness.campaign import TARGET, preload
from tests.robustness.outcome import Outcome
from tests.support.networks import NETWORKS, calibration

PHASES = ("import", "convert", "quantize", "lower", "encode")
OLD = b"what was there before"


class Compilation:
    """A running compilation in a forked process."""

    def __init__(self, output: Path) -> None:
        self._stderr, writer = os.pipe()
        self._text = ""
        self.pid = os.fork()
        if self.pid == 0:
            _compile(output, writer)
        os.close(writer)

    def wait_for(self, text: str) -> bool:
        """Read stderr until `text` comes; returns whether it came."""
        while text not in self._text:
            piece = os.read(self._stderr, 4096)
            if not piece:
                return False
            self._text += piece.decode()
        return True

    def end(self, number: signal.Signals | None = None) -> Outcome:
        """Send a signal, wait for the end and return it."""
        if number is not None:
            os.kill(self.pid, number)
        _, status = os.waitpid(self.pid, 0)
        self.wait_for("\0")  # what is left to read
        os.close(self._stderr)
        return Outcome(os.waitstatus_to_exitcode(status), self._text)


def _compile(output: Path, stderr: int) -> None:
    status = 99
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(stderr, 2)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        from qbcompiler import __main__ as entry

        model = ["--model", str(NETWORKS["digits"].path()), "--calib-data-path", str(calibration("digits"))]
        sys.argv = ["qbcompiler", "compile", *model, *TARGET, "--output", str(output)]
        status = entry.main()
        sys.stderr.flush()
    finally:
        os._exit(status)


def interrupt(directory: Path, phase: str, delay: float) -> str | None:
    """Press Ctrl-C `delay` seconds into a phase; returns what is wrong with the ending."""
    running = Compilation(directory / "out.mxq")
    if not running.wait_for(f"phase {phase}\n"):
        return f"SIGINT in {phase}: the phase did not come: {running.end().stderr[-300:]}"
    time.sleep(delay)
    outcome = running.end(signal.SIGINT)
    left = os.listdir(directory)
    if outcome.status == 0 and left == ["out.mxq"]:
        return None  # it was done before the signal came
    if outcome.status == 1 and outcome.code == "INTERRUPTED" and outcome.fault() is None and not left:
        return None
    return f"SIGINT in {phase} after {delay:.3f} s: status {outcome.status}, left {left}: {outcome.stderr[-300:]}"


def kill(directory: Path, delay: float, expected: bytes) -> str | None:
    """Kill a compilation; the output must be whole or untouched, and nothing may lie beside it."""
    output = directory / "out.mxq"
    before = output.read_bytes() if output.exists() else None
    running = Compilation(output)
    time.sleep(delay)
    running.end(signal.SIGKILL)
    after = output.read_bytes() if output.exists() else None
    left = sorted(name for name in os.listdir(directory) if name != "out.mxq")
    if left or after not in (before, expected):
        return f"SIGKILL after {delay:.3f} s: {left} beside, output of {len(after or b'')} bytes"
    return None


def run_interruptions(directory: Path, kills: int, seed: int) -> list[str]:
    """Return the faults."""
    rng = np.random.default_rng(seed)
    preload()
    calibration("digits")
    whole = directory / "whole.mxq"
    started = time.monotonic()
    Compilation(whole).end()
    seconds = time.monotonic() - started
    expected = whole.read_bytes()
    faults = []
    for phase in PHASES:
        work = Path(tempfile.mkdtemp(dir=directory))
        faults.append(interrupt(work, phase, float(rng.uniform(0, 0.05))))
    work = Path(tempfile.mkdtemp(dir=directory))
    for index in range(kills):
        if index == kills // 2:
            (work / "out.mxq").write_bytes(OLD)
        faults.append(kill(work, float(rng.uniform(0, 1.1 * seconds)), expected))
    if Compilation(work / "out.mxq").end().status != 0 or (work / "out.mxq").read_bytes() != expected:
        faults.append("the compilation after the kills gives another file")
    return [fault for fault in faults if fault is not None]


def main(arguments: list[str]) -> int:
    """Run the interruptions; the exit status is 1 when there are faults."""
    with tempfile.TemporaryDirectory() as directory:
        faults = run_interruptions(Path(directory), int(arguments[0]), int(arguments[1]))
    print("\n".join([*faults, f"{len(faults)} faults"]))
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
