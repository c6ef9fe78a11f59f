"""All benchmarks with one command: measured values beside the required ones.

    python -m benchmarks [--quick] [NAME ...]

Each script also runs alone (`python -m benchmarks.simulator`); a failing one does not stop the others. The exit status
is 1 when a required value is missed. Some run only when they are named: long campaigns, and the times of kernels.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

SCRIPTS = {
    "startup": "seconds of qbc-opt and qbcompiler --help, against xdsl-opt",
    "parse": "ONNX to .mblt as a process, against onnxslim",
    "snapshot": "reading an .mblt of 5,000 operations, against parsing its text",
    "simulator": "the simulator against onnxruntime float32",
    "float_model": "the float .mblt of every network, against onnxruntime",
    "labelled": "labelled images that float model and program name right",
    "latency": "the latency estimate beside published figures and bounds",
    "calibration": "quantization with 64 images, against onnxruntime MinMax",
    "oracle": "every record of every network against the oracle",
    "mutation": "share of seeded changes to the kernels that the oracle notices",
}
NAMED = {
    "accuracy": "accuracy of all networks, against onnxruntime's static quantization",
    "robustness": "2,000 damaged files of every format",
    "configurations": "10,000 damaged configuration files and calibration manifests",
    "kernels": "single kernels against onnxruntime float32",
}
HAS_QUICK = tuple(SCRIPTS)


def main() -> int:
    """Run the scripts one after the other, each in a process of its own."""
    known = {**SCRIPTS, **NAMED}
    listing = "\n".join(f"  {name:14} {what}" for name, what in known.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"scripts:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts to run")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller networks and samples")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are {', '.join(known)}")
    print(f"{'what':<62} {'measured':<34} {'required':<22}")
    failed = []
    for name in options.names or SCRIPTS:
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        if options.quick and name in HAS_QUICK:
            command.append("--quick")
        started = time.monotonic()
        status = subprocess.run(command).returncode
        print(f"-- {name}: {time.monotonic() - started:.0f} s", flush=True)
        if status:
            failed.append(name)
    if failed:
        print(f"missed or failed: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
