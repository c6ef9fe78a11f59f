"""`run`, `demo` and `target selftest`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(options: argparse.Namespace) -> int:
    """Run an executable on the simulator."""
    from qbcompiler.run import run_program

    return run_program(options.mxq, options.input, options.output_dir, options.repeat, options.core_mode)


def demo(options: argparse.Namespace) -> int:
    """Compile and run the digits network."""
    from qbcompiler.demo import run_demo

    return run_demo(options.output_dir, options.target_device)


def target_selftest(options: argparse.Namespace) -> int:
    """Prove the kernels of this machine."""
    from qbcompiler.selftest import run_selftest

    return run_selftest(Path(options.mxq) if options.mxq else None)
