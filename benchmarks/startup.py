"""CPU seconds of starting the tools, beside the stock xdsl-opt on the same text.

    python -m benchmarks.startup [REPEATS]

`qbc-opt` reads three lines, parses, verifies and prints them; `qbcompiler --help` prints its usage.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

THREE_LINES = "func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {\n  func.return %x : tensor<1x3xf32>\n}\n"
LIMIT_SECONDS = 0.3


def cpu_seconds(command: list[str], repeats: int) -> float:
    """Return the median CPU time (user and system) of a command over several runs."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def main() -> int:
    """Print the table; the exit status is 1 when a tool takes longer than the limit."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "three.mlir"
        path.write_text(THREE_LINES)
        rows = {
            "qbc-opt, three lines": cpu_seconds([str(scripts / "qbc-opt"), str(path)], repeats),
            "xdsl-opt, three lines": cpu_seconds([str(scripts / "xdsl-opt"), str(path)], repeats),
            "qbcompiler --help": cpu_seconds([str(scripts / "qbcompiler"), "--help"], repeats),
        }
    for name, seconds in rows.items():
        print(f"{name:24s} {seconds:6.3f} CPU s")
    ratio = rows["qbc-opt, three lines"] / rows["xdsl-opt, three lines"]
    print(f"qbc-opt / xdsl-opt       {ratio:6.2f}   (goal: at most 1.0)")
    ours = [seconds for name, seconds in rows.items() if not name.startswith("xdsl")]
    return 0 if max(ours) < LIMIT_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
