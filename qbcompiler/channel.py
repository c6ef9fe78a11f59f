"""Where a command speaks: to people on the console, or to programs as one JSON object a line.

The environment variable QBCOMPILER_JSONL (1, true, yes, on) chooses JSON lines on stdout. Every line has `version` (of
this protocol) and `kind`; the other keys depend on the kind:

- `status`: `command`, `status` ("started", "finished" or "failed")
- `progress`: `event` ("phase", "pass", "sample" or "write"), `name`, `done`, `total`, `fraction`;
  `remaining_seconds` of samples
- `log`: `level` ("notice" or "info"), `message`
- `result`: `command`, `data`
- `error`: `code`, `message`, `hint`, `node`, `pass` (null where there is none)

Keys may be added without a new version; a key that changes its meaning raises the version.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

from qbc.errors import QBCompilerError

if TYPE_CHECKING:
    from qbc.driver.events import Event, EventSink

PROTOCOL_VERSION = 1
VARIABLE = "QBCOMPILER_JSONL"


class Channel:
    """Speaks to people: results on stdout, the rest on stderr."""

    def status(self, command: str, status: str) -> None:
        """Tell that a command begins or has ended."""

    def result(self, command: str, data: Any, text: str | Callable[[], str]) -> None:
        """Show a result: `data` for programs, `text` (or what makes it) for people."""
        shown = text if isinstance(text, str) else text()
        if shown:
            print(shown)

    def notice(self, text: str) -> None:
        """Tell something that the user should know."""
        sys.stderr.write(f"notice: {text}\n")

    def error(self, error: QBCompilerError) -> None:
        """Show the error that ends a command."""
        text = one_line(error.describe())
        running = f" (in pass {error.pass_name})" if error.pass_name else ""
        sys.stderr.write(f"ERROR [{error.code}]: {text}{running}\n")

    def sink(self, *, quiet: bool, verbose: bool = False) -> EventSink:
        """Return where a compilation tells its progress."""
        from qbcompiler.console import progress_printer

        return progress_printer(quiet=quiet, verbose=verbose)


def one_line(text: str) -> str:
    """Return a message of several lines on one: entries of a list are parted by semicolons."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    joined = lines[0] if lines else ""
    for before, line in zip(lines, lines[1:], strict=False):
        joined += f" {line}" if before.endswith((":", ".")) else f"; {line}"
    return joined


class JsonLines(Channel):
    """Speaks to programs: one JSON object a line on stdout, nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._running: str | None = None

    @property
    def running(self) -> str | None:
        """The command that has begun and not ended."""
        return self._running

    def emit(self, kind: str, **values: Any) -> None:
        """Write one line."""
        self._stream.write(f"{_event(kind, **values)}\n")
        self._stream.flush()

    def status(self, command: str, status: str) -> None:
        self._running = command if status == "started" else None
        self.emit("status", command=command, status=status)

    def result(self, command: str, data: Any, text: str | Callable[[], str]) -> None:
        self.emit("result", command=command, data=data)

    def notice(self, text: str) -> None:
        self.emit("log", level="notice", message=text)

    def error(self, error: QBCompilerError) -> None:
        message = one_line(error.message)
        self.emit(
            "error", code=error.code, message=message, hint=error.hint, node=error.node, **{"pass": error.pass_name}
        )
        if self._running is not None:
            self.status(self._running, "failed")

    def sink(self, *, quiet: bool, verbose: bool = False) -> EventSink:
        def tell(event: Event) -> None:
            from qbc.driver.events import payload_of

            if event.kind == "notice":
                self.notice(event.name)
            elif event.kind != "result":
                self.emit("progress", **payload_of(event))

        return tell


def _event(kind: str, **values: Any) -> str:
    return json.dumps({"version": PROTOCOL_VERSION, "kind": kind, **values}, ensure_ascii=False, default=str)


class _Lines(io.TextIOBase):
    """Text that a command prints, as events: nothing but JSON may reach stdout."""

    def __init__(self, channel: JsonLines) -> None:
        self._channel = channel
        self._rest = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line:
                self._channel.emit("log", level="info", message=line)
        return len(text)


_current: ContextVar[Channel | None] = ContextVar("channel", default=None)


def channel() -> Channel:
    """Return the channel of the running command."""
    return _current.get() or Channel()


def ended_lines(code: str, message: str) -> str:
    """Return the lines for a process that ends at once: the error, and that the running command failed."""
    now = _current.get()
    command = now.running if isinstance(now, JsonLines) else None
    error = _event("error", code=code, message=message, hint=None, node=None, **{"pass": None})
    return error if command is None else f"{error}\n{_event('status', command=command, status='failed')}"


def speaks_json() -> bool:
    """Return whether the environment asks for JSON lines."""
    return os.environ.get(VARIABLE, "").lower() in ("1", "true", "yes", "on")


@contextmanager
def open_channel() -> Iterator[Channel]:
    """Choose the channel by the environment and make it the current one."""
    if not speaks_json():
        yield Channel()
        return
    lines = JsonLines(sys.stdout)
    token = _current.set(lines)
    printed: Any = _Lines(lines)
    try:
        with redirect_stdout(printed):
            yield lines
            printed.write("\n")
    finally:
        _current.reset(token)
