"""Mutates one format many times and collects every ending that is not a success or one documented error.

    python -m tests.robustness.campaign FORMAT COUNT SEED

Mutants run in processes forked from this one, which therefore computes nothing itself: the thread pools of torch do not
survive a fork. It prints one line for each fault, then the number of mutants that were refused.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.robustness.mutate import BY_FORMAT
from tests.robustness.outcome import leftovers, run_cli
from tests.support.networks import NETWORKS, calibration, scratch

NETWORK = "digits"
PRELOADED = ("torch", "onnx", "onnxruntime", "qbcompiler.cli", "qbc.driver.compile", "qbc.kernels", "qbc.runtime.load")
Prepare = Callable[[Path, Path], tuple[list[str], set[str]]]


def _onnx(mutant: Path, work: Path) -> tuple[list[str], set[str]]:
    return ["parse", "--model", str(mutant), "--output", str(work / "out.mblt")], {mutant.name}


def _mblt(mutant: Path, work: Path) -> tuple[list[str], set[str]]:
    output = ["--output", str(work / "out.mxq"), "--target-device", "aries-rb"]
    return ["quantize", "--mblt", str(mutant), "--use-random-calib", *output], {mutant.name}


def _mxq(mutant: Path, work: Path) -> tuple[list[str], set[str]]:
    np.save(work / "x.npy", NETWORKS[NETWORK].inputs(1, 2)[0])
    arguments = ["run", "--mxq", str(mutant), "--input", str(work / "x.npy"), "--output-dir", str(work / "out")]
    return arguments, {mutant.name, "x.npy"}


def _npy(mutant: Path, work: Path) -> tuple[list[str], set[str]]:
    samples = work / "samples"
    samples.mkdir()
    for path in calibration(NETWORK).iterdir():
        shutil.copy(path, samples)
    mutant.rename(samples / "zzz.npy")
    model = ["compile", "--model", str(NETWORKS[NETWORK].path()), "--target-device", "aries-rb"]
    return [*model, "--calib-data-path", str(samples), "--output", str(work / "out.mxq")], {"samples"}


def _snapshot(command: str, suffix: str, *options: str) -> Path:
    output = scratch() / f"origin.{suffix}"
    model = ["--model", str(NETWORKS[NETWORK].path()), "--output", str(output)]
    subprocess.run([sys.executable, "-m", "qbcompiler", command, *model, *options], check=True, capture_output=True)
    return output


def _parsed() -> Path:
    return _snapshot("parse", "mblt")


def _compiled() -> Path:
    return _snapshot("compile", "mxq", "--target-device", "aries-rb", "--calib-data-path", str(calibration(NETWORK)))


_SOURCES: dict[str, tuple[Callable[[], Path], Prepare]] = {
    "onnx": (lambda: NETWORKS[NETWORK].path(), _onnx),
    "mblt": (_parsed, _mblt),
    "mxq": (_compiled, _mxq),
    "npy": (lambda: next(iter(sorted(calibration(NETWORK).iterdir()))), _npy),
}


def run_campaign(format_name: str, count: int, directory: Path, seed: int = 0) -> tuple[list[str], int]:
    """Return the faults, one line each with the mutation to repeat it, and how many mutants were refused."""
    source, prepare = _SOURCES[format_name]
    origin = source()
    for name in PRELOADED:
        importlib.import_module(name)
    faults, refused = [], 0
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        mutation = BY_FORMAT[format_name][int(rng.integers(len(BY_FORMAT[format_name])))]
        work = directory / f"{format_name}{index}"
        work.mkdir()
        mutant = work / f"mutant.{format_name}"
        mutation(origin, mutant, rng)
        arguments, expected = prepare(mutant, work)
        outcome = run_cli(arguments)
        refused += outcome.status == 1
        fault = outcome.fault()
        if fault is None and outcome.status == 1 and leftovers(work, expected):
            fault = f"left {leftovers(work, expected)} behind"
        if fault is not None:
            faults.append(f"{format_name} mutant {index} ({mutation.__name__}): {fault}")
        shutil.rmtree(work)
    return faults, refused


def main(arguments: list[str]) -> int:
    """Run one campaign; the exit status is 1 when there are faults."""
    format_name, count, seed = arguments[0], int(arguments[1]), int(arguments[2])
    with tempfile.TemporaryDirectory() as directory:
        faults, refused = run_campaign(format_name, count, Path(directory), seed)
    print("\n".join([*faults, f"{refused} refused"]))
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
