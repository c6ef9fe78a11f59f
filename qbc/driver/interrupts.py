"""Ctrl-C in the command-line tools."""

from __future__ import annotations

import os
import signal
from types import FrameType

from qbc.atomic import remove_unfinished


def end_on_interrupt(message: str, descriptor: int = 2) -> None:
    """Let SIGINT end this process with a line on stderr and exit status 1; nothing unfinished is left.

    An exception raised by a signal handler gets lost wherever Python calls back from C, and becomes another one
    inside of imports, so the process ends at once instead. A signal that is ignored (background jobs) stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return

    def end(_signal: int, _frame: FrameType | None) -> None:
        remove_unfinished()
        os.write(descriptor, f"{message}\n".encode())
        os._exit(1)

    signal.signal(signal.SIGINT, end)
