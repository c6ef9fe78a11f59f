"""`qbcompiler` and `python -m qbcompiler`."""

from __future__ import annotations

import sys

from qbc.driver.interrupts import end_on_interrupt


def main() -> int:
    """Run the command line of this process."""
    end_on_interrupt("ERROR [INTERRUPTED]: interrupted, no partial output was left")
    from qbcompiler.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
