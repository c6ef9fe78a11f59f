"""A whole program against the oracle: every record on the inputs that the simulator gave it."""

from __future__ import annotations

import numpy as np

from qbc.kernels.storage import load_codes
from qbc.program import Command
from qbc.runtime.simulator import Simulator
from tests.oracle import run


def differing_records(simulator: Simulator, inputs: dict[str, np.ndarray]) -> list[str]:
    """Run once and return a line for each record whose output is not the oracle's."""
    different: list[str] = []

    def check(number: int, command: Command, stored: np.ndarray) -> None:
        call = simulator.kernel_call(command)
        codes = [load_codes(array).astype(np.int64) for array in simulator.arrays(number)[:-1]]
        expected = run(
            call.kind, codes, dict(call.attributes), dict(call.constants), call.output.shape, call.output.dtype
        )
        wrong = int((load_codes(stored) != expected).sum())
        if wrong:
            different.append(f"record {number} {call.kind}: {wrong} of {stored.size} codes differ")

    simulator.run(inputs, observe=check)
    return different
