"""Child processes of tests."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Undo an ignored Ctrl-C, which background jobs of a shell hand down; for `preexec_fn` of a child to interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
