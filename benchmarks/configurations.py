"""Long campaign of damaged configuration files and calibration manifests.

    python -m benchmarks.configurations [--count 10000] [--seed 1]

Each ends valid, or with one documented error; anything else stops the run with a traceback.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, show
from tests.config.mutants import try_configurations, try_manifests


def rows(count: int, seed: int) -> Iterator[Row]:
    """Run both campaigns and yield a row for each; a fault ends the run with its traceback."""
    with tempfile.TemporaryDirectory() as directory:
        for name, campaign in (("configurations", try_configurations), ("manifests", try_manifests)):
            started = time.monotonic()
            valid, refused = campaign(Path(directory), seed, count)
            measured = f"{valid} valid, {refused} refused ({time.monotonic() - started:.0f} s)"
            yield Row(f"damaged {name}", measured, "valid or one error", valid + refused == count)


def main() -> int:
    """Run both campaigns and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return show(rows(options.count, options.seed))


if __name__ == "__main__":
    raise SystemExit(main())
