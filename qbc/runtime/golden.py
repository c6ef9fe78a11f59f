"""Golden vectors: what a program must compute, recorded when it was compiled and replayed on any machine.

Inputs are synthetic codes: byte k of input i is byte k of the SHA-256 stream of `seed/i/block`, so they depend on no
random number generator and never on a user's data. The vectors hold a digest of every record's output and of every
graph output, as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.program import Command
from qbc.program.model import invalid_program
from qbc.runtime.simulator import Simulator
from qbc.store.container import newer_version

GOLDEN_VERSION = 1
SEED = 0
I16_LIMIT = 32639


@dataclass(frozen=True)
class Replay:
    """How a replay ended: the first record whose bytes differ (or None), and whether the graph outputs are equal."""

    records: int
    first_difference: int | None
    outputs_equal: bool

    @property
    def passed(self) -> bool:
        """Whether everything was equal."""
        return self.first_difference is None and self.outputs_equal


def golden_vectors(simulator: Simulator, seed: int = SEED) -> bytes:
    """Run a program on synthetic codes and return its golden vectors."""
    records, outputs = _run(simulator, seed)
    table = {"version": GOLDEN_VERSION, "seed": seed, "records": records, "outputs": outputs}
    return json.dumps(table, separators=(",", ":")).encode()


def replay(simulator: Simulator, vectors: bytes | memoryview) -> Replay:
    """Run again and compare; raises INVALID_SNAPSHOT when the vectors cannot be read or belong to another program."""
    try:
        table = json.loads(bytes(vectors))
        seed, records, outputs = table["seed"], table["records"], table["outputs"]
        version = table["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise invalid_program("the golden vectors cannot be read") from None
    if type(version) is int and version > GOLDEN_VERSION:
        raise newer_version(f"the golden vectors have version {version}", GOLDEN_VERSION)
    if version != GOLDEN_VERSION or type(seed) is not int or not isinstance(records, list):
        raise invalid_program("the golden vectors have an unknown form")
    if len(records) != len(simulator.program.commands):
        raise invalid_program("the golden vectors belong to another program")
    found_records, found_outputs = _run(simulator, seed)
    different = [number for number, pair in enumerate(zip(found_records, records, strict=True)) if pair[0] != pair[1]]
    return Replay(len(records), different[0] if different else None, found_outputs == outputs)


def _run(simulator: Simulator, seed: int) -> tuple[list[str], list[str]]:
    records: list[str] = []

    def observe(number: int, command: Command, stored: npt.NDArray[Any]) -> None:
        records.append(_digest(stored))

    images = [synthetic_inputs(simulator, seed, image) for image in range(simulator.program.images)]
    outputs = simulator.run_images(images, observe=observe)
    return records, [_digest(output) for image in outputs for output in image]


def synthetic_inputs(simulator: Simulator, seed: int, image: int = 0) -> Sequence[npt.NDArray[Any]]:
    """Return stored codes for every graph input; index inputs stay inside the range that the program gathers from."""
    label = f"{seed}/{image}" if image else f"{seed}"
    inputs = []
    for number, tensor in enumerate(simulator.program.inputs):
        operand = tensor.operand
        raw = np.frombuffer(_stream(f"{label}/{number}", operand.nbytes), dtype=np.uint8)
        if operand.dtype == "i8":
            codes: npt.NDArray[Any] = raw
        elif operand.dtype == "i16":
            codes = np.minimum(raw.view("<i2"), np.int16(I16_LIMIT)).astype(np.int16)
        else:
            limit = max(simulator.index_limit(number), 1)
            codes = (raw.view("<u4") % np.uint32(limit)).astype(np.int32)
        inputs.append(codes.reshape(operand.shape))
    return inputs


def _stream(label: str, size: int) -> bytes:
    blocks = [hashlib.sha256(f"{label}/{block}".encode()).digest() for block in range(-(-size // 32))]
    return b"".join(blocks)[:size]


def _digest(stored: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(stored).view(np.uint8).data).hexdigest()[:16]
