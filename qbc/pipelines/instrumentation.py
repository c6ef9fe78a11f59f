"""What can watch a pipeline: timing, IR printing, numbered dumps, crash reproducers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp

from qbc.atomic import write_file
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext
from qbc.pipelines.grammar import Pipeline
from qbc.pipelines.registry import complete
from qbc.pipelines.runner import Step, remaining_pipeline
from qbc.pipelines.text import print_ir

WriteIR = Callable[[ModuleOp, CompileContext, Path], None]


class Instrumentation:
    """Base: hooks around each pass; entering and leaving spans one pipeline run."""

    def __enter__(self) -> Instrumentation:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def before_pass(self, step: Step, module: ModuleOp, ctx: CompileContext) -> None:
        """Run before a pass."""

    def after_pass(self, step: Step, module: ModuleOp, ctx: CompileContext, seconds: float) -> None:
        """Run after a pass that succeeded."""

    def failed(self, step: Step, remaining: Sequence[Step], error: QBCompilerError) -> None:
        """Run after a pass that failed; `remaining` starts with the failing step."""


@dataclass
class Timing(Instrumentation):
    """Wall time of each pass; `render()` gives a tree: total, phases, passes."""

    phase: str = ""
    rows: list[tuple[str, str, float]] = field(default_factory=list)  # phase, pass, seconds
    phase_seconds: dict[str, float] = field(default_factory=dict)
    _started: float = 0.0

    def __enter__(self) -> Timing:
        self._started = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        elapsed = time.perf_counter() - self._started
        self.phase_seconds[self.phase] = self.phase_seconds.get(self.phase, 0.0) + elapsed

    def after_pass(self, step: Step, module: ModuleOp, ctx: CompileContext, seconds: float) -> None:
        self.rows.append((self.phase, step.name, seconds))

    def render(self) -> str:
        """Return the timing tree as text."""
        total = sum(self.phase_seconds.values())
        lines = ["===- Pass execution timing -===", f"  {total:9.4f} s (100.0%)  total"]
        for phase, seconds in self.phase_seconds.items():
            rows = [(name, spent) for row_phase, name, spent in self.rows if row_phase == phase]
            if phase:
                lines.append(_row(seconds, total, f"  {phase}"))
            indent = "    " if phase else "  "
            lines.extend(_row(spent, total, f"{indent}{name}") for name, spent in rows)
            lines.append(_row(seconds - sum(spent for _, spent in rows), total, f"{indent}(verify and rest)"))
        return "\n".join(lines) + "\n"


def _row(seconds: float, total: float, label: str) -> str:
    share = 100.0 * seconds / total if total else 0.0
    return f"  {seconds:9.4f} s ({share:5.1f}%)  {label}"


@dataclass
class PrintIR(Instrumentation):
    """Prints the module before or after chosen passes; `("*",)` chooses all of them."""

    stream: IO[str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    only_changes: bool = False
    generic: bool = False
    _last: str = ""

    def before_pass(self, step: Step, module: ModuleOp, ctx: CompileContext) -> None:
        if self.only_changes:
            self._last = print_ir(module, generic=self.generic)
        if _chosen(step.name, self.before):
            self._print("Before", step, print_ir(module, generic=self.generic))

    def after_pass(self, step: Step, module: ModuleOp, ctx: CompileContext, seconds: float) -> None:
        if not _chosen(step.name, self.after):
            return
        text = print_ir(module, generic=self.generic)
        if self.only_changes and text == self._last:
            self.stream.write(f"// -----// IR after {step.name}: no change //----- //\n")
            return
        self._print("After", step, text)

    def _print(self, when: str, step: Step, text: str) -> None:
        self.stream.write(f"// -----// IR Dump {when} {step.call} //----- //\n{text}\n")


def _chosen(name: str, names: tuple[str, ...]) -> bool:
    return name in names or "*" in names


@dataclass
class DumpOnChange(Instrumentation):
    """Writes one numbered file for each pass that changed the module, for example `03-mblt-fold-batch-norm.mlir`.

    `number` goes on over several pipeline runs, so one object serves all phases. The file before the first pass is
    `00-input.mlir`.
    """

    directory: Path
    write: WriteIR
    number: int = 0
    _last: str | None = None

    def before_pass(self, step: Step, module: ModuleOp, ctx: CompileContext) -> None:
        text = print_ir(module)
        if self._last is None:
            self.write(module, ctx, self.directory / "00-input.mlir")
        self._last = text

    def after_pass(self, step: Step, module: ModuleOp, ctx: CompileContext, seconds: float) -> None:
        self.number += 1
        text = print_ir(module)
        if text != self._last:
            self.write(module, ctx, self.directory / f"{self.number:02d}-{step.name}.mlir")
        self._last = text


_DEFECTS = ("INTERNAL_ERROR", "EXTENSION_ERROR", "VERIFY_ERROR")


@dataclass
class CrashReproducer(Instrumentation):
    """On failure, writes the module before the failing pass; its first lines hold all that remains to be run.

    These are the remaining passes (after those of this pipeline the passes that `following` returns), the target and
    the versions. `qbc-opt FILE --run-reproducer` runs them, which the error gets as its hint. Written for defects
    (INTERNAL_ERROR, EXTENSION_ERROR and VERIFY_ERROR), not for mistakes in the user's data.
    """

    path: Path
    write: WriteIR
    following: Callable[[], Pipeline] = Pipeline
    _before: ModuleOp | None = None
    _ctx: CompileContext | None = None

    def before_pass(self, step: Step, module: ModuleOp, ctx: CompileContext) -> None:
        self._before = module.clone()
        self._ctx = ctx

    def failed(self, step: Step, remaining: Sequence[Step], error: QBCompilerError) -> None:
        if error.code not in _DEFECTS or self._before is None or self._ctx is None:
            return
        self.write(self._before, self._ctx, self.path)
        write_file(self.path, self._header(remaining) + self.path.read_text(encoding="utf-8"))
        again = f"qbc-opt {self.path} --run-reproducer runs it again"
        error.hint = f"{error.hint}; {again}" if error.hint else again

    def _header(self, remaining: Sequence[Step]) -> str:
        target = getattr(self._ctx, "target", None)
        lines = [
            f"qbc-opt reproducer: {complete(remaining_pipeline(remaining) + self.following())}",
            *([] if target is None else [f"target: {target.name}"]),
            f"versions: {versions_text()}",
        ]
        return "".join(f"// {line}\n" for line in lines)


def versions_text() -> str:
    """Return `python 3.11.7, qbcompiler 0.1.0, xdsl 0.75.0`."""
    import platform
    from importlib.metadata import version

    from qbc.version import own_version

    return f"python {platform.python_version()}, qbcompiler {own_version()}, xdsl {version('xdsl')}"


Measure = Callable[[ModuleOp, CompileContext], Any]
Distance = Callable[[Any, Any], float]


@dataclass
class NumericGate(Instrumentation):
    """Finds the pass that changes what the module computes.

    `measure` evaluates the module (None for a form that is not evaluated) and `distance` compares two evaluations; both
    are given from outside, so this module knows no numerics. A pass after which the distance to the first evaluation is
    above `tolerance`, or after which the module cannot be evaluated any more, is an error (INTERNAL_ERROR). A module
    that cannot be evaluated from the start is a notice.
    """

    measure: Measure
    distance: Distance
    tolerance: float
    rows: list[tuple[str, float]] = field(default_factory=list)
    _reference: Any = None

    def before_pass(self, step: Step, module: ModuleOp, ctx: CompileContext) -> None:
        if self._reference is not None:
            return
        try:
            self._reference = self.measure(module, ctx)
        except QBCompilerError as error:
            ctx.notice(f"the numeric gate cannot run the module, passes are not compared: {error.describe()}")

    def after_pass(self, step: Step, module: ModuleOp, ctx: CompileContext, seconds: float) -> None:
        if self._reference is None:
            return
        if step.instance.changes_interface:
            ctx.notice(f"the numeric gate does not compare {step.name}, which changes inputs or outputs")
            self._reference = None
            return
        try:
            measured = self.measure(module, ctx)
        except QBCompilerError as error:
            raise _gate_error(step, f"the module cannot be run after the pass: {error.describe()}") from error
        if measured is None:
            return
        distance = self.distance(self._reference, measured)
        self.rows.append((step.name, distance))
        if not distance <= self.tolerance:
            limit = f"allowed is {self.tolerance:.3g}"
            raise _gate_error(step, f"the outputs differ by {distance:.3g} of their range after the pass, {limit}")


def _gate_error(step: Step, message: str) -> QBCompilerError:
    error = QBCompilerError(message, code="INTERNAL_ERROR")
    error.pass_name = step.name
    return error
