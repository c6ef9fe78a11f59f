"""The parameter table between passes: dangling and unused rows are errors, rows that lost their last value go."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qbc.dialects.quant import LutOp, ParamsOp, ParamTable
from qbc.driver.context import make_context
from qbc.passes.base import CompileContext, FunctionPass, ModulePass
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.runner import run_pipeline
from qbc.pipelines.text import parse_ir
from qbc.pipelines.verify import VerificationError, verify_module

TEXT = """
quant.params "a"
quant.params "b"
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"a">> loc("in")
  %1 = quant.lut %0 {function = "tanh"} : tensor<1x2x!quant.q<"a">> -> tensor<1x2x!quant.q<"b">> loc("Tanh_3")
  %y = quant.dequantize %1 : tensor<1x2x!quant.q<"b">> -> tensor<1x2xf32> loc("Tanh_3")
  func.return %y : tensor<1x2xf32>
}
"""


@dataclass(frozen=True)
class DropTables(FunctionPass):
    """Replaces each lookup by its operand."""

    name = "test-drop-tables"

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, LutOp):
                inner.results[0].replace_all_uses_with(inner.operands[0])
                inner.detach()
                inner.erase()


@dataclass(frozen=True)
class DropRows(ModulePass):
    """Erases all rows, which values still name."""

    name = "test-drop-rows"

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        for inner in list(op.ops):
            if isinstance(inner, ParamsOp):
                op.body.block.erase_op(inner)


def run(register: Any, pipeline: str, **options: Any) -> ModuleOp:
    register(DropTables, DropRows)
    ctx = make_context()
    module = parse_ir(ctx, TEXT, "t.mlir")
    run_pipeline(module, parse_pipeline(pipeline), ctx, **options)
    return module


@pytest.mark.parametrize("options", [{"verify_each": True}, {}, {"verify": False}])
def test_a_row_goes_with_its_last_value(register: Any, options: dict[str, bool]) -> None:
    module = run(register, "func.func(test-drop-tables)", **options)
    assert list(ParamTable(module).rows) == ["a"]
    verify_module(module)


@pytest.mark.parametrize("verify_each", [False, True])
def test_a_pass_that_leaves_values_without_rows_is_found(register: Any, verify_each: bool) -> None:
    with pytest.raises(VerificationError) as caught:
        run(register, "test-drop-rows", verify_each=verify_each)
    assert [str(violation) for violation in caught.value.violations] == [
        "'quant.quantize' op has a value of row 'a', which does not exist",
        "'quant.lut' op has a value of row 'b', which does not exist",
    ]
    assert caught.value.node == "in"
    assert caught.value.pass_name == ("test-drop-rows" if verify_each else None)


def test_nothing_runs_on_a_table_that_is_wrong(register: Any) -> None:
    register(DropTables)
    ctx = make_context()
    module = parse_ir(ctx, TEXT.replace('quant.params "b"', 'quant.params "c"'), "t.mlir")
    with pytest.raises(VerificationError) as caught:
        run_pipeline(module, parse_pipeline("func.func(test-drop-tables)"), ctx)
    assert (caught.value.node, caught.value.code) == ("Tanh_3", "VERIFY_ERROR")
    assert "row 'b', which does not exist" in str(caught.value.violations[0])
    assert "defines row 'c', which no value names" in str(caught.value.violations[1])
    assert any(isinstance(op, LutOp) for op in module.walk())


def test_the_dialect_is_not_loaded_for_modules_without_it() -> None:
    code = (
        "import sys\n"
        "from qbc.driver.context import make_context\n"
        "from qbc.pipelines.grammar import parse_pipeline\n"
        "from qbc.pipelines.runner import run_pipeline\n"
        "from qbc.pipelines.text import parse_ir\n"
        "ctx = make_context()\n"
        "text = 'func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\\n  %0 = mblt.relu %x : tensor<2xf32> -> "
        "tensor<2xf32>\\n  func.return %0 : tensor<2xf32>\\n}'\n"
        "run_pipeline(parse_ir(ctx, text, 't'), parse_pipeline('canonicalize'), ctx, verify_each=True)\n"
        "assert 'qbc.dialects.quant' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
