"""Where events of a compilation go: into the log, and to a callback of the user."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from qbc.argument_types import described
from qbc.driver.events import Event, EventSink, payload_of
from qbc.errors import ArgumentError

_logger = logging.getLogger("qbcompiler")
ProgressCallback = Callable[[dict[str, Any]], None]
Result = TypeVar("Result")


class _Stop(BaseException):
    """Carries an exception of a callback through passes and drivers, which take exceptions for defects of their own."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def log_event(event: Event) -> None:
    """Event sink that writes notices and phases into the log."""
    if event.kind == "notice":
        _logger.warning("%s", event.name)
    elif event.kind == "phase":
        _logger.info("phase %s", event.name)


def run_with_callback(callback: ProgressCallback | None, run: Callable[[EventSink], Result]) -> Result:
    """Return `run(sink)`, where the sink calls `callback`; an exception of the callback is raised as it is.

    Raises ArgumentError where the callback is none.
    """
    if callback is None:
        raise ArgumentError("no callback is given", hint="pass callback, a function that takes one dictionary")
    if not callable(callback):
        raise ArgumentError(f"callback is {described(callback)}, expected a function")

    def tell(event: Event) -> None:
        log_event(event)
        try:
            callback(payload_of(event))
        except Exception as error:  # whatever it is, it belongs to the caller
            raise _Stop(error) from None

    try:
        return run(tell)
    except _Stop as stop:
        error = stop.error
    raise error  # outside of the handler, so that nothing is added to its context
