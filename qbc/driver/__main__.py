"""`qbc-opt` and `python -m qbc.driver`."""

from __future__ import annotations

import sys

from qbc.driver.interrupts import end_on_signals, run_process


def main() -> int:
    """Run `qbc-opt` as this process."""
    end_on_signals("error[INTERRUPTED]: {}".format)
    from qbc.driver.opt import main as run

    return run_process(run)


if __name__ == "__main__":
    sys.exit(main())
