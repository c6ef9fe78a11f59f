"""Long mutation campaign: 2,000 mutants of every format.

python -m benchmarks.robustness [--count 2000] [--seed 1] [onnx mblt mxq npy mlir]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time


def main() -> int:
    """Run the campaigns and print every fault; the exit status is 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", default=["onnx", "mblt", "mxq", "npy", "mlir"])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    for name in options.formats:
        started = time.monotonic()
        command = [sys.executable, "-m", "tests.robustness.campaign", name, str(options.count), str(options.seed)]
        done = subprocess.run(command, capture_output=True, text=True)
        failed |= done.returncode != 0
        seconds = time.monotonic() - started
        print(done.stdout, done.stderr, f"{name}: {options.count} mutants, {seconds:.0f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
