"""CPU seconds of starting the tools, beside the stock xdsl-opt on the same text.

    python -m benchmarks.startup [--quick]

`qbc-opt` reads three lines, parses, verifies and prints them; `qbcompiler --help` prints its usage. Tests assert which
modules are not loaded; here are the times.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Row, arguments, run_process, show

THREE_LINES = "func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {\n  func.return %x : tensor<1x3xf32>\n}\n"
LIMIT_SECONDS, GOAL = 0.3, 1.0


def rows(quick: bool) -> Iterator[Row]:
    """Yield the time of each tool and the ratio to xdsl-opt."""
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "three.mlir"
        path.write_text(THREE_LINES)
        commands = (
            [str(scripts / "qbc-opt"), str(path)],
            [str(scripts / "xdsl-opt"), str(path)],
            [str(scripts / "qbcompiler"), "--help"],
        )
        for command in commands:
            run_process(command)
        runs = [[run_process(command).cpu_seconds for command in commands] for _ in range(5 if quick else 15)]
    ours, peer, face = (median(times) for times in zip(*runs, strict=True))
    ratio = median(times[0] / times[1] for times in runs)
    for name, seconds in (("qbc-opt, three lines", ours), ("qbcompiler --help", face)):
        yield Row(f"start-up, {name}", f"{seconds:.3f} s", f"< {LIMIT_SECONDS} s", seconds < LIMIT_SECONDS)
    yield Row("start-up, qbc-opt / xdsl-opt", f"{ratio:.2f} (xdsl-opt {peer:.3f} s)", f"<= {GOAL}", ratio <= GOAL)


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
