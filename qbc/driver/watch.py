"""Instrumentations that command-line options ask for."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from qbc.driver.files import write_ir
from qbc.pipelines.instrumentation import CrashReproducer, DumpOnChange, Instrumentation, PrintIR, Timing


@contextmanager
def instrumentations_of(options: Namespace) -> Iterator[list[Instrumentation]]:
    """Yield the instrumentations for the options of `qbc-opt`; on leaving, print what they collected on stderr."""
    watching: list[Instrumentation] = []
    after = options.print_after or (["*"] if options.after_change else [])
    if options.print_before or after:
        watching.append(
            PrintIR(sys.stderr, tuple(options.print_before), tuple(after), options.after_change, options.generic)
        )
    if options.dump_ir is not None:
        watching.append(DumpOnChange(options.dump_ir, write_ir))
    if options.numeric_gate is not None:
        from qbc.driver.gate import numeric_gate

        watching.append(numeric_gate(options.numeric_gate))
    if options.crash_reproducer is not None:
        watching.append(CrashReproducer(options.crash_reproducer, write_ir))
    timing = Timing() if options.timing else None
    if timing is not None:
        watching.append(timing)
    try:
        yield watching
    finally:
        if timing is not None:
            sys.stderr.write(timing.render())
