"""Running pipelines: order, errors, verification, and what watches."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import ModuleOp, StringAttr, i32
from xdsl.dialects.func import FuncOp

from qbc.driver.context import make_context
from qbc.driver.files import write_ir
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, FunctionPass, ModulePass
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.instrumentation import CrashReproducer, DumpOnChange, Instrumentation, NumericGate, PrintIR, Timing
from qbc.pipelines.runner import remaining_pipeline, run_pipeline, steps_of
from qbc.pipelines.text import parse_ir
from qbc.pipelines.verify import VerificationError, verify_module

TEXT = """
func.func @one() {
  func.return
}
func.func @two() {
  func.return
}
func.func private @declared() -> ()
"""


@dataclass(frozen=True)
class Mark(FunctionPass):
    """Adds an attribute to each function."""

    name = "test-mark"
    label: str = "m"

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        op.attributes[self.label] = StringAttr("x")
        ctx.count("marked")


@dataclass(frozen=True)
class Nothing(ModulePass):
    """Changes nothing."""

    name = "test-nothing"

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        return None


@dataclass(frozen=True)
class Break(ModulePass):
    """Has a defect."""

    name = "test-break"

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        raise KeyError("lost")


@dataclass(frozen=True)
class UseBeforeDef(ModulePass):
    """Leaves a use before its definition, which xDSL itself does not notice."""

    name = "test-disorder"

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        block = next(iter(op.ops)).regions[0].block
        definition = test_dialect.TestOp(result_types=[i32])
        block.insert_ops_before([test_dialect.TestOp(operands=[definition.results[0]]), definition], block.last_op)


@dataclass(frozen=True)
class OnMblt(FunctionPass):
    """Works on another dialect."""

    name = "test-on-mblt"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        raise AssertionError("must not run")


def _module(ctx: Any, text: str = TEXT) -> ModuleOp:
    return parse_ir(ctx, text, "t.mlir")


def _run(register: Any, text: str, **options: Any) -> tuple[ModuleOp, Any]:
    register(Mark, Nothing, Break, UseBeforeDef, OnMblt)
    ctx = make_context()
    module = _module(ctx)
    run_pipeline(module, parse_pipeline(text), ctx, **options)
    return module, ctx


def test_function_passes_run_on_each_function_with_a_body(register: Any) -> None:
    module, ctx = _run(register, "func.func(test-mark{label=a},test-mark{label=b})")
    marks = {func.sym_name.data: set(func.attributes) for func in module.ops if isinstance(func, FuncOp)}
    assert marks == {"one": {"a", "b"}, "two": {"a", "b"}, "declared": set()}
    assert ctx.statistics == {"test-mark": {"marked": 4}}


def test_a_mistake_in_a_later_pass_is_found_before_anything_runs(register: Any) -> None:
    register(Mark)
    ctx = make_context()
    module = _module(ctx)
    with pytest.raises(QBCompilerError, match="unknown pass"):
        run_pipeline(module, parse_pipeline("test-mark,test-nonexistent"), ctx)
    assert not any("m" in op.attributes for op in module.ops)


def test_a_defect_becomes_an_internal_error_with_the_pass(register: Any) -> None:
    with pytest.raises(QBCompilerError) as caught:
        _run(register, "test-mark,test-break")
    assert caught.value.code == "INTERNAL_ERROR"
    assert caught.value.pass_name == "test-break"
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("verify_each", [False, True])
def test_use_before_definition_is_found(register: Any, verify_each: bool) -> None:
    with pytest.raises(VerificationError, match="before its definition") as caught:
        _run(register, "test-disorder", verify_each=verify_each)
    assert caught.value.pass_name == ("test-disorder" if verify_each else None)


def test_a_pass_on_another_dialect_is_refused(register: Any) -> None:
    register(OnMblt)
    ctx = make_context()
    module = _module(ctx)
    block = next(iter(module.ops)).regions[0].block
    block.insert_ops_before([test_dialect.TestOp()], block.last_op)
    with pytest.raises(QBCompilerError, match="works on mblt operations, found test"):
        run_pipeline(module, parse_pipeline("func.func(test-on-mblt)"), ctx)


def test_all_violations_are_reported_at_once() -> None:
    ctx = make_context()
    text = "".join(f"func.func @f{n}() -> i32 {{\n  func.return\n}}\n" for n in range(3))
    with pytest.raises(VerificationError) as caught:
        verify_module(parse_ir(ctx, text, "t.mlir"))
    assert len(caught.value.violations) == 3
    assert caught.value.describe().startswith("3 violations:")
    assert caught.value.describe().count("'func.return' op") == 3


def test_remaining_pipeline_starts_at_the_failing_pass(register: Any) -> None:
    register(Mark, Nothing)
    steps = steps_of(parse_pipeline("test-mark,test-nothing,test-mark{label=z}"))
    expected = "builtin.module(test-nothing,func.func(test-mark{label=z}))"
    assert str(remaining_pipeline(steps[1:])) == expected


class _Record(Instrumentation):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def before_pass(self, step: Any, module: ModuleOp, ctx: CompileContext) -> None:
        self.seen.append(f"before {step.name}")

    def after_pass(self, step: Any, module: ModuleOp, ctx: CompileContext, seconds: float) -> None:
        self.seen.append(f"after {step.name}")


def test_hooks_surround_each_pass(register: Any) -> None:
    record = _Record()
    _run(register, "test-mark,test-nothing", instrumentations=[record])
    assert record.seen == ["before test-mark", "after test-mark", "before test-nothing", "after test-nothing"]


def test_timing_adds_up(register: Any) -> None:
    timing = Timing(phase="first")
    _run(register, "test-mark,test-nothing", instrumentations=[timing])
    assert [name for _, name, _ in timing.rows] == ["test-mark", "test-nothing"]
    assert sum(seconds for _, _, seconds in timing.rows) <= timing.phase_seconds["first"]
    assert "test-nothing" in timing.render()


def test_print_ir_shows_chosen_passes_and_changes(register: Any) -> None:
    stream = io.StringIO()
    _run(register, "test-mark,test-nothing", instrumentations=[PrintIR(stream, after=("*",), only_changes=True)])
    assert "IR Dump After test-mark{label=m}" in stream.getvalue()
    assert "IR after test-nothing: no change" in stream.getvalue()


def test_dump_writes_a_file_for_each_change(register: Any, tmp_path: Path) -> None:
    _run(register, "test-mark,test-nothing,test-mark{label=z}", instrumentations=[DumpOnChange(tmp_path, write_ir)])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "00-input.mlir",
        "01-test-mark.mlir",
        "03-test-mark.mlir",
    ]


def test_reproducer_holds_the_module_before_the_failure_and_the_rest(register: Any, tmp_path: Path) -> None:
    path = tmp_path / "crash.mlir"
    with pytest.raises(QBCompilerError):
        _run(register, "test-mark,test-break,test-nothing", instrumentations=[CrashReproducer(path, write_ir)])
    lines = path.read_text().splitlines()
    assert lines[0] == "// qbc-opt reproducer: builtin.module(test-break,test-nothing)"
    assert "xdsl" in lines[1]
    module = _module(make_context(), path.read_text())
    assert all("m" in op.attributes for op in module.ops if isinstance(op, FuncOp) and op.body.blocks)


def test_the_numeric_gate_names_the_pass_that_changes_results(register: Any) -> None:
    def measure(module: ModuleOp, ctx: CompileContext) -> int | None:
        count = sum("z" in op.attributes for op in module.ops)
        return None if any("m" in op.attributes for op in module.ops) and not count else count

    gate = NumericGate(measure, lambda a, b: abs(a - b), tolerance=1)
    with pytest.raises(QBCompilerError, match="outputs differ by 2") as caught:
        _run(register, "test-nothing,test-mark,test-nothing,test-mark{label=z}", instrumentations=[gate])
    assert caught.value.pass_name == "test-mark"
    assert gate.rows == [("test-nothing", 0), ("test-mark", 2)]
