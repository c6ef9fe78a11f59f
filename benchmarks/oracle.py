"""Every record of every compiled network against the oracle: equal codes, and the time it takes.

    python -m benchmarks.oracle [--quick]

The oracle is written from `docs/integer_arithmetic.md` alone and computes with Python integers, so large networks take
their time; `--quick` runs the small ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.measure import Row, arguments, show, single_thread

SMALL = ("digits", "resnet8", "vww", "kws", "ad", "det160")


def rows(quick: bool) -> Iterator[Row]:
    """Yield one row for each network."""
    single_thread()
    from qbc.runtime.load import load
    from tests.oracle_checks.program import differing_records
    from tests.support.networks import NETWORKS, compiled

    for name in SMALL if quick else NETWORKS:
        network = NETWORKS[name]
        simulator = load(compiled(name))
        start = time.process_time()
        different = differing_records(simulator, {network.input_name: network.inputs(1, 5)[0]})
        seconds = time.process_time() - start
        records = len(simulator.program.commands)
        yield Row(
            f"records that differ from the oracle, {name}",
            f"{len(different)} of {records} ({seconds:.1f} s)",
            "0",
            not different,
        )
        for line in different:
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
