"""A whole program against the oracle: every record on the inputs that the simulator gave it."""

from __future__ import annotations

import numpy as np

from qbc.kernels.storage import load_codes
from qbc.program import Command
from qbc.runtime.simulator import Simulator
from tests.oracle import run


def differing_records(simulator: Simulator, inputs: dict[str, np.ndarray]) -> list[str]:
    """Run once and return a line for each record whose output is not the oracle's.

    In a mode that takes several images every core gets the same one.
    """
    different: list[str] = []
    whole: dict[tuple[int, int], np.ndarray] = {}  # results of operations whose blocks several records compute

    def check(number: int, command: Command, stored: np.ndarray) -> None:
        call = simulator.kernel_call(command)
        attributes = dict(call.attributes)
        block = attributes.pop("channels", None)
        place = (command.output.address, command.constants.get("weight", -1))
        if block is None or place not in whole:
            whole.clear()
            codes = [load_codes(array).astype(np.int64) for array in simulator.arrays(number)[:-1]]
            shape, dtype = call.output.shape, call.output.dtype
            whole[place] = run(call.kind, codes, attributes, dict(call.constants), shape, dtype)
        expected = whole[place] if block is None else whole[place][..., slice(*block)]
        wrong = int((load_codes(stored) != expected).sum())
        if wrong:
            different.append(f"record {number} {call.kind}: {wrong} of {stored.size} codes differ")

    simulator.run_batch([inputs] * simulator.program.images, observe=check)
    return different
