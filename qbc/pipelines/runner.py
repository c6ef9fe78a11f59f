"""Running a pipeline on a module: nesting, declared needs, verification, instrumentation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from qbc.errors import QBCompilerError, file_error
from qbc.extensions import find_extension
from qbc.passes.base import CompileContext, Pass, locate_blob
from qbc.passes.levels import check_needs
from qbc.passes.parameter_rows import prune_rows
from qbc.pipelines.grammar import Nest, PassCall, Pipeline
from qbc.pipelines.registry import complete, instantiate, is_own
from qbc.pipelines.verify import verify_module

if TYPE_CHECKING:
    from qbc.pipelines.instrumentation import Instrumentation


@dataclass(frozen=True)
class Step:
    """One pass of a pipeline in the order it runs."""

    index: int
    anchor: str
    call: PassCall
    instance: Pass

    @property
    def name(self) -> str:
        """Name of the pass."""
        return self.call.name


def steps_of(pipeline: Pipeline) -> list[Step]:
    """Build all passes of a pipeline; any mistake in names or options is raised before anything runs."""
    steps: list[Step] = []
    for item in complete(pipeline).items:
        inner = item.items if isinstance(item, Nest) else (item,)
        anchor = item.anchor if isinstance(item, Nest) else "builtin.module"
        for call in inner:
            if isinstance(call, PassCall):
                steps.append(Step(len(steps), anchor, call, instantiate(call)))
    return steps


def remaining_pipeline(steps: Sequence[Step]) -> Pipeline:
    """Return the pipeline of `steps`, each nested on its anchor."""
    items = [step.call if step.anchor == "builtin.module" else Nest(step.anchor, (step.call,)) for step in steps]
    return complete(Pipeline(tuple(items)))


def run_pipeline(
    module: ModuleOp,
    pipeline: Pipeline,
    ctx: CompileContext,
    *,
    instrumentations: Sequence[Instrumentation] = (),
    verify_each: bool = False,
    verify: bool = True,
) -> None:
    """Run all passes of `pipeline` on `module` in place.

    The module is verified before the first and after the last pass, and after each pass with `verify_each`. Rows of the
    parameter table whose last value a pass removed are erased behind it. Errors of passes get the name of the pass;
    anything a pass raises that is not a QBCompilerError is a defect and becomes INTERNAL_ERROR, or EXTENSION_ERROR for
    a pass of another package (with the original exception as its cause).
    """
    steps = steps_of(pipeline)
    with ExitStack() as stack:
        for instrumentation in instrumentations:
            stack.enter_context(instrumentation)
        if verify:
            verify_module(module)
        for step in steps:
            _run_step(module, step, steps[step.index :], ctx, instrumentations, verify_each)
        if verify and steps and not verify_each:
            _verify_at_end(module)


def _run_step(
    module: ModuleOp,
    step: Step,
    remaining: Sequence[Step],
    ctx: CompileContext,
    instrumentations: Sequence[Instrumentation],
    verify_each: bool,
) -> None:
    for instrumentation in instrumentations:
        instrumentation.before_pass(step, module, ctx)
    ctx.current_pass = step.name
    started = time.perf_counter()
    try:
        check_needs(step.instance, module)
        for anchor_op in list(_anchors(module, step.anchor)):
            _guarded(step.instance, anchor_op, ctx)
        prune_rows(module)
        elapsed = time.perf_counter() - started
        if verify_each:
            _verify_after(module, step.name)
    except QBCompilerError as error:
        error.pass_name = error.pass_name or step.name
        if error.code == "MISSING_BLOB" and error.operation is None:
            locate_blob(error, module)
        for instrumentation in instrumentations:
            instrumentation.failed(step, remaining, error)
        raise
    finally:
        ctx.current_pass = ""
    for instrumentation in reversed(instrumentations):
        instrumentation.after_pass(step, module, ctx, elapsed)


def _guarded(instance: Pass, op: Operation, ctx: CompileContext) -> None:
    try:
        with _guard(instance):
            instance.run(op, ctx)
    except QBCompilerError:
        raise
    except DiagnosticException as error:
        raise QBCompilerError(_first_line(error), code="VERIFY_ERROR") from error
    except MemoryError as error:
        raise QBCompilerError(
            f"pass {instance.name!r} needs more memory than there is", code="RESOURCE_ERROR"
        ) from error
    except OSError as error:
        raise file_error(error) from error
    except Exception as error:  # the boundary where any defect of a pass becomes one documented error
        message = f"pass {instance.name!r} failed: {type(error).__name__}: {_first_line(error)}"
        raise QBCompilerError(message, code="INTERNAL_ERROR") from error


def _guard(instance: Pass) -> AbstractContextManager[None]:
    """Return what makes failures of a pass of another package errors of that package."""
    extension = None if is_own(instance.name) else find_extension("pass", instance.name)
    if extension is None:
        return nullcontext()
    return extension.guarded(passing=(DiagnosticException, MemoryError, OSError))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _anchors(module: ModuleOp, anchor: str) -> Iterator[Operation]:
    if anchor == "builtin.module":
        yield module
        return
    for op in module.ops:
        if op.name == anchor and any(region.blocks for region in op.regions):
            yield op


def _verify_at_end(module: ModuleOp) -> None:
    try:
        verify_module(module)
    except QBCompilerError as error:
        error.hint = error.hint or "find the pass that broke it with --verify-each"
        raise


def _verify_after(module: ModuleOp, name: str) -> None:
    try:
        verify_module(module)
    except QBCompilerError as error:
        error.pass_name = name
        raise
