"""How the command-line tools end from outside: signals, and readers of their output that go away."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from qbc.atomic import remove_unfinished

# What a signal says in the line that ends the process.
REASONS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "asked to end (SIGTERM)",
    signal.SIGHUP: "the terminal was closed",
}


def end_on_signals(line: Callable[[str], str], descriptor: int = 2) -> None:
    """Let SIGINT, SIGTERM and SIGHUP end this process with a line and exit status 1; nothing unfinished is left.

    `line` makes the text of the reason, written to `descriptor` (stderr by default). An exception raised by a signal
    handler gets lost wherever Python calls back from C, and becomes another one inside of imports, so the process ends
    at once instead. A signal that is ignored (background jobs) or has a handler keeps it.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        remove_unfinished()
        with suppress(OSError):  # nobody reads it any more
            os.write(descriptor, f"{line(REASONS[signal.Signals(number)])}\n".encode())
        os._exit(1)

    for number in REASONS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, end)


class ReaderLeft(SystemExit):
    """Nobody reads stdout or stderr any more: the process ends as one that SIGPIPE ends, with status 141.

    No Exception, so that nothing between the write and the end of the process takes it for a failure of the work.
    """

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGPIPE)


class PipedStream:
    """A text stream of the process whose writes raise ReaderLeft, not BrokenPipeError; else the stream itself.

    What is written later goes nowhere. SIGPIPE stays ignored, as Python has it: a socket may break without harm.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            raise self._abandoned() from None

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise self._abandoned() from None

    def _abandoned(self) -> ReaderLeft:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        return ReaderLeft()


def run_process(run: Callable[[], int]) -> int:
    """Run the command line of this process; returns the exit status.

    A reader of stdout or stderr that goes away ends it without a word, and with nothing unfinished left.
    """
    if sys.stdout is not None and sys.stderr is not None:  # both are None where the process has none
        sys.stdout, sys.stderr = PipedStream(sys.stdout), PipedStream(sys.stderr)
    try:
        status = run()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except ReaderLeft as gone:
        return int(str(gone.code))
    return status
