"""`qbcompiler` and `python -m qbcompiler`."""

from __future__ import annotations

import sys

from qbc.driver.interrupts import end_on_signals, run_process

LEFT = "no partial output was left"


def main() -> int:
    """Run the command line of this process."""
    from qbcompiler.channel import ended_lines, speaks_json

    if speaks_json():
        end_on_signals(lambda reason: ended_lines("INTERRUPTED", f"{reason}, {LEFT}"), descriptor=1)
    else:
        end_on_signals(lambda reason: f"ERROR [INTERRUPTED]: {reason}, {LEFT}")
    from qbcompiler.cli import main as run

    return run_process(run)


if __name__ == "__main__":
    sys.exit(main())
