"""Progress events of a compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp

from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext
from qbc.pipelines.instrumentation import Instrumentation
from qbc.pipelines.runner import Step

Kind = Literal["phase", "pass", "sample", "notice", "write", "result"]


@dataclass(frozen=True)
class Event:
    """Something that happened: a phase or pass begins (`done` of `total` steps are finished), a notice, the result.

    `write`: the passes have run, the file `name` is written next; `result`: it is complete.

    `sample`: the pass `name` has taken `done` of `total` calibration samples; `data["remaining_seconds"]` estimates the
    rest of this pass over the data.
    """

    kind: Kind
    name: str
    done: int = 0
    total: int = 0
    data: Any = None


EventSink = Callable[[Event], None]


def payload_of(event: Event) -> dict[str, Any]:
    """Return an event as plain data: `event`, `name`, `done`, `total`, `fraction` of all steps (None where unknown)."""
    fraction = None
    if event.kind in ("phase", "pass") and event.total:
        fraction = event.done / event.total
    if event.kind == "result":
        fraction = 1.0
    payload = {
        "event": event.kind,
        "name": event.name,
        "done": event.done,
        "total": event.total,
        "fraction": fraction,
    }
    return {**payload, **event.data} if isinstance(event.data, Mapping) else payload


def ignore(event: Event) -> None:
    """Event sink that drops everything."""


@dataclass
class Progress(Instrumentation):
    """Reports each pass of the running phases, and notices as soon as a pass has left them."""

    sink: EventSink
    total: int
    done: int = 0
    _told: int = 0

    def before_pass(self, step: Step, module: ModuleOp, ctx: CompileContext) -> None:
        self.sink(Event("pass", step.name, self.done, self.total))

    def after_pass(self, step: Step, module: ModuleOp, ctx: CompileContext, seconds: float) -> None:
        self.done += 1
        self.tell_notices(ctx)

    def failed(self, step: Step, remaining: Sequence[Step], error: QBCompilerError) -> None:
        return None

    def tell_notices(self, ctx: CompileContext) -> None:
        """Report the notices that were not reported yet."""
        for notice in ctx.notices[self._told :]:
            self.sink(Event("notice", notice))
        self._told = len(ctx.notices)
