"""`qbc-opt` and `python -m qbc.driver`."""

from __future__ import annotations

import sys

from qbc.driver.interrupts import end_on_interrupt


def main() -> int:
    """Run `qbc-opt` as this process."""
    end_on_interrupt("error[INTERRUPTED]: interrupted")
    from qbc.driver.opt import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
