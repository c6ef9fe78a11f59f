"""Long mutation campaign: 2,000 mutants of every format.

    python -m benchmarks.robustness [--count 2000] [--seed 1] [onnx mblt mxq npy mlir]

Each is accepted or ends in one documented error; anything else is a fault, which is printed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.measure import Row, show


def rows(formats: Sequence[str], count: int, seed: int) -> Iterator[Row]:
    """Run the campaigns and yield a row for each; the faults of one are printed before its row."""
    for name in formats:
        started = time.monotonic()
        command = [sys.executable, "-m", "tests.robustness.campaign", name, str(count), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True)
        print(done.stdout, done.stderr, sep="", end="", flush=True)
        passed = done.returncode == 0
        measured = f"{'none' if passed else 'some'} in {count} ({time.monotonic() - started:.0f} s)"
        yield Row(f"faults of damaged files, {name}", measured, "none", passed)


def main() -> int:
    """Run the campaigns and print every fault; the exit status is 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", default=["onnx", "mblt", "mxq", "npy", "mlir"])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return show(rows(options.formats, options.count, options.seed))


if __name__ == "__main__":
    raise SystemExit(main())
