"""`qbcompiler` and `python -m qbcompiler`."""

from __future__ import annotations

import sys

from qbc.driver.interrupts import end_on_interrupt

INTERRUPTED = "interrupted, no partial output was left"


def main() -> int:
    """Run the command line of this process."""
    from qbcompiler.channel import PROTOCOL_VERSION, speaks_json

    if speaks_json():
        event = f'"kind": "error", "code": "INTERRUPTED", "message": "{INTERRUPTED}"'
        rest = '"hint": null, "node": null, "pass": null'
        end_on_interrupt(f'{{"version": {PROTOCOL_VERSION}, {event}, {rest}}}', descriptor=1)
    else:
        end_on_interrupt(f"ERROR [INTERRUPTED]: {INTERRUPTED}")
    from qbcompiler.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
