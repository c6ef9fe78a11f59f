"""Mutates one format many times and collects every ending that is not a success or one documented error.

    python -m tests.robustness.campaign FORMAT COUNT SEED

Mutants run in processes forked from this one, which therefore computes nothing itself: the thread pools of torch do not
survive a fork. It prints one line for each fault, how often each error code came, and how many mutants were refused.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numba
import numpy as np

import qbc
import qbcompiler
from qbc.errors import ERROR_CODES
from tests.robustness.mutate import BY_FORMAT
from tests.robustness.outcome import leftovers, run_cli
from tests.robustness.zoo import write_zoo, zoo_inputs
from tests.support.networks import NETWORKS, scratch

LIBRARIES = ("torch", "onnx", "onnx.version_converter", "onnxruntime")
LIT_TESTS = Path(__file__).parents[2] / "lit_tests"
PIPELINE = re.compile(r"--pass-pipeline='([^']*)'")
TARGET = ("--target-device", "aries-rb")


_MODEL_CODES = ["SHAPE_ERROR", "UNSUPPORTED_OP", "QUANTIZATION_ERROR", "RESOURCE_ERROR", "INVALID_CALIBRATION_DATA"]
_SNAPSHOT_CODES = ("INVALID_SNAPSHOT", "UNSUPPORTED_VERSION")
# The codes that damage of a format may end in. VERIFY_ERROR is not among them: IR that we make is valid.
CODES: dict[str, frozenset[str]] = {
    "onnx": frozenset(
        {"INVALID_MODEL", "MISSING_EXTERNAL_DATA", "UNSUPPORTED_OPSET", "UNSUPPORTED_FEATURE", *_MODEL_CODES}
    ),
    "mblt": frozenset({*_SNAPSHOT_CODES, "TARGET_ERROR", *_MODEL_CODES}),
    "mxq": frozenset({*_SNAPSHOT_CODES, "INVALID_INPUT", "RUNTIME_ERROR"}),
    "npy": frozenset({"INVALID_CALIBRATION_DATA", "NO_CALIBRATION_DATA", "QUANTIZATION_ERROR"}),
    "mlir": frozenset(ERROR_CODES) - {"INTERNAL_ERROR", "INVALID_MODEL", "INTERRUPTED", "INVALID_INPUT"},
}


@dataclass(frozen=True)
class Origin:
    """A sound model (or lit test) with two samples, and the file of the format to be damaged."""

    network: str
    model: Path
    samples: Path
    file: Path


Prepare = Callable[[Path, Path, Origin], tuple[list[str], set[str]]]


def _onnx(mutant: Path, work: Path, origin: Origin) -> tuple[list[str], set[str]]:
    """Parse every other mutant, compile the rest."""
    if int(work.name.removeprefix("onnx")) % 4 < 2:
        return ["parse", "--model", str(mutant), "--output", str(work / "out.mblt")], {mutant.name}
    output = ["--output", str(work / "out.mxq"), *TARGET]
    return ["compile", "--model", str(mutant), "--use-random-calib", *output], {mutant.name}


def _mblt(mutant: Path, work: Path, origin: Origin) -> tuple[list[str], set[str]]:
    """Quantize most mutants, view the rest."""
    if _is_viewed(work, "mblt"):
        return _view(mutant, work)
    output = ["--output", str(work / "out.mxq"), *TARGET]
    return ["quantize", "--mblt", str(mutant), "--calib-data-path", str(origin.samples), *output], {mutant.name}


def _mxq(mutant: Path, work: Path, origin: Origin) -> tuple[list[str], set[str]]:
    """Run most mutants, view the rest."""
    if _is_viewed(work, "mxq"):
        return _view(mutant, work)
    shutil.copy(next(origin.samples.iterdir()), work / "x.npy")
    arguments = ["run", "--mxq", str(mutant), "--input", str(work / "x.npy"), "--output-dir", str(work / "out")]
    return arguments, {mutant.name, "x.npy"}


def _is_viewed(work: Path, format_name: str) -> bool:
    return int(work.name.removeprefix(format_name)) % 4 == 3


def _view(mutant: Path, work: Path) -> tuple[list[str], set[str]]:
    return ["view", str(mutant), "--output", str(work / "out.onnx")], {mutant.name}


def _npy(mutant: Path, work: Path, origin: Origin) -> tuple[list[str], set[str]]:
    """Quantize with one sound sample and the mutant, which comes first."""
    samples = work / "samples"
    samples.mkdir()
    mutant.rename(samples / "0.npy")
    shutil.copy(origin.samples / "1.npy", samples)
    snapshot = ["quantize", "--mblt", str(_origin(origin.network, "mblt").file), *TARGET]
    return [*snapshot, "--calib-data-path", str(samples), "--output", str(work / "out.mxq")], {"samples"}


def _mlir(mutant: Path, work: Path, origin: Origin) -> tuple[list[str], set[str]]:
    """Run the pipeline that the lit test of the text names."""
    found = PIPELINE.search(origin.model.read_text(encoding="utf-8"))
    pipeline = found[1] if found is not None else "canonicalize"
    return [str(mutant), "--use-random-calib", *TARGET, "--pass-pipeline", pipeline], {mutant.name}


_PREPARE: dict[str, Prepare] = {"onnx": _onnx, "mblt": _mblt, "mxq": _mxq, "npy": _npy, "mlir": _mlir}


@cache
def _origin(network: str, format_name: str) -> Origin:
    """Make the sound file; in a process of its own, because this one forks."""
    directory = Path(tempfile.mkdtemp(dir=scratch()))
    is_zoo = network == "zoo"
    model = write_zoo(directory / "zoo.onnx") if is_zoo else NETWORKS[network].path()
    samples = directory / "samples"
    samples.mkdir()
    for index, sample in enumerate(zoo_inputs(2, 1) if is_zoo else NETWORKS[network].inputs(2, 1)):
        np.save(samples / f"{index}.npy", sample)
    if format_name == "onnx":
        return Origin(network, model, samples, model)
    if format_name == "npy":
        return Origin(network, model, samples, samples / "0.npy")
    file = directory / f"origin.{format_name}"
    command = ["parse"] if format_name == "mblt" else ["compile", *TARGET, "--calib-data-path", str(samples)]
    arguments = [*command, "--model", str(model), "--output", str(file), "--quiet"]
    subprocess.run([sys.executable, "-m", "qbcompiler", *arguments], check=True, capture_output=True)
    return Origin(network, model, samples, file)


@cache
def _texts() -> list[Origin]:
    """Every part of every lit test."""
    origins = []
    for test in sorted(LIT_TESTS.glob("*/*.mlir")):
        for part in re.split(r"^// -----.*$", test.read_text(encoding="utf-8"), flags=re.MULTILINE):
            file = scratch() / f"{test.stem}-{len(origins)}.mlir"
            file.write_text(re.sub(r"^ *//.*$\n?", "", part, flags=re.MULTILINE), encoding="utf-8")
            if file.read_text(encoding="utf-8").strip():
                origins.append(Origin(test.stem, test, test, file))
    return origins


def preload() -> None:
    """Load what mutants need before they fork, or each of them would load it again."""
    for package in (qbc, qbcompiler):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(("__main__", "qbcompiler.demo")):
                importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    numba.njit(lambda x: x + 1)(1)
    gc.collect()
    gc.freeze()


def run_campaign(format_name: str, count: int, directory: Path, seed: int = 0) -> tuple[list[str], Counter[str]]:
    """Return the faults, one line each with the mutation to repeat it, and how often each error code came."""
    origins = _texts() if format_name == "mlir" else [_origin(network, format_name) for network in ("digits", "zoo")]
    preload()
    faults: list[str] = []
    codes: Counter[str] = Counter()
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        mutation = BY_FORMAT[format_name][int(rng.integers(len(BY_FORMAT[format_name])))]
        work = directory / f"{format_name}{index}"
        work.mkdir()
        mutant = work / f"mutant.{format_name}"
        origin = origins[int(rng.integers(len(origins)))]
        mutation(origin.file, mutant, rng)
        arguments, expected = _PREPARE[format_name](mutant, work, origin)
        outcome = run_cli(arguments, "qbc-opt" if format_name == "mlir" else "qbcompiler")
        codes[outcome.code] += 1
        fault = outcome.fault()
        if fault is None and outcome.status == 1 and outcome.code not in CODES[format_name]:
            fault = f"unexpected code: {outcome.stderr[-400:]}"
        if fault is None and outcome.status == 1 and leftovers(work, expected):
            fault = f"left {leftovers(work, expected)} behind"
        if fault is not None:
            faults.append(f"{format_name} mutant {index} ({mutation.__name__}): {fault}")
        shutil.rmtree(work)
    return faults, codes


def main(arguments: list[str]) -> int:
    """Run one campaign; the exit status is 1 when there are faults."""
    format_name, count, seed = arguments[0], int(arguments[1]), int(arguments[2])
    with tempfile.TemporaryDirectory() as directory:
        faults, codes = run_campaign(format_name, count, Path(directory), seed)
    listed = ", ".join(f"{code} {number}" for code, number in codes.most_common())
    print("\n".join([*faults, listed, f"{count - codes['ok']} refused"]))
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
