"""The numeric gate: every float pass keeps the result, wrong ones are found, what is not compared is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qbc.driver.context import DriverContext, make_context
from qbc.driver.files import read_module
from qbc.driver.gate import numeric_gate, relative_distance
from qbc.driver.opt import main
from qbc.driver.plan import CompileOptions, make_plan
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, FunctionPass
from qbc.pipelines import registry
from qbc.pipelines.grammar import Pipeline, parse_pipeline
from qbc.pipelines.instrumentation import NumericGate
from qbc.pipelines.runner import run_pipeline
from qbc.pipelines.text import parse_ir
from qbcompiler.demo import digits_model_path

SUBTRACT = """
func.func @main(%a: tensor<2x3xf32> {framework.name = "a"}, %b: tensor<2x3xf32> {framework.name = "b"})
    -> (tensor<2x3xf32> {framework.name = "y"}) {
  %0 = framework.Sub(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = framework.Sqrt(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = framework.Transpose(%1) {perm = [0, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
"""

IDENTITY_OF_TEXT = """
func.func @main(%a: tensor<2x!framework.string> {framework.name = "a"})
    -> (tensor<2x!framework.string> {framework.name = "y"}) {
  %0 = framework.Identity(%a) : (tensor<2x!framework.string>) -> tensor<2x!framework.string>
  func.return %0 : tensor<2x!framework.string>
}
"""
CALIBRATED = ("--use-random-calib", "--target-device", "aries-rb")


@dataclass(frozen=True)
class DropActivations(FunctionPass):
    """A wrong rewrite."""

    name = "test-drop-activations"

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for inner in op.walk():
            inner.properties.pop("activation", None)


@dataclass(frozen=True)
class SwapOperands(FunctionPass):
    """A wrong rewrite of framework operations."""

    name = "test-swap-operands"

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for inner in op.walk():
            if inner.name == "framework.Sub":
                inner.operands = list(reversed(inner.operands))


@dataclass(frozen=True)
class TurnTransposes(FunctionPass):
    """A rewrite after which types are wrong, which only running shows."""

    name = "test-turn-transposes"

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for inner in op.walk():
            if inner.name == "framework.Transpose":
                inner.properties["perm"] = type(inner.properties["perm"]).from_list(  # type: ignore[attr-defined]
                    inner.properties["perm"].elt_type,  # type: ignore[attr-defined]
                    [1, 0],
                )


@pytest.fixture(autouse=True)
def known_passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    original = registry._find_class
    known: dict[str, Any] = {cls.name: cls for cls in (DropActivations, SwapOperands, TurnTransposes)}
    monkeypatch.setattr(registry, "_find_class", lambda name: known.get(name) or original(name))
    registry.pass_class.cache_clear()
    yield
    registry.pass_class.cache_clear()


def _parse_pipeline() -> Pipeline:
    plan = make_plan(CompileOptions())
    return plan.pipelines["import"] + plan.pipelines["convert"]


def _gated(module: ModuleOp, pipeline: Pipeline, ctx: DriverContext, *, verify: bool = True) -> NumericGate:
    gate = numeric_gate(1e-5)
    run_pipeline(module, pipeline, ctx, instrumentations=[gate], verify=verify)
    return gate


def test_every_pass_of_import_and_convert_keeps_the_result() -> None:
    ctx = make_context()
    pipeline = _parse_pipeline()
    gate = _gated(read_module(digits_model_path(), ctx), pipeline, ctx)
    assert [name for name, _ in gate.rows] == [call.name for call in pipeline.calls()]
    assert max(distance for _, distance in gate.rows) <= 1e-5
    assert not ctx.notices


def test_a_wrong_pass_is_named() -> None:
    ctx = make_context()
    pipeline = _parse_pipeline() + parse_pipeline("func.func(test-drop-activations),cse")
    with pytest.raises(QBCompilerError, match="outputs differ") as caught:
        _gated(read_module(digits_model_path(), ctx), pipeline, ctx)
    assert caught.value.pass_name == DropActivations.name


def test_a_wrong_pass_on_a_framework_module_is_named() -> None:
    """Roots of negative numbers are NaN on both sides and do not hide the others."""
    ctx = make_context()
    module = parse_ir(ctx, SUBTRACT, "x")
    assert [name for name, distance in _gated(module, parse_pipeline("cse,symbol-dce"), ctx).rows if distance == 0]
    with pytest.raises(QBCompilerError, match="outputs differ") as caught:
        _gated(module, parse_pipeline("cse,test-swap-operands,cse"), ctx)
    assert caught.value.pass_name == SwapOperands.name


def test_a_pass_after_which_nothing_runs_is_named() -> None:
    ctx = make_context()
    with pytest.raises(QBCompilerError, match=r"cannot be run after the pass|outputs differ") as caught:
        _gated(parse_ir(ctx, SUBTRACT, "x"), parse_pipeline("cse,test-turn-transposes"), ctx, verify=False)
    assert caught.value.pass_name == TurnTransposes.name


def test_a_pass_that_changes_outputs_on_purpose_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = "convert-framework-to-mblt,mblt-add-outputs{layers='*Sub*'},cse,canonicalize"
    path = tmp_path / "x.mlir"
    path.write_text(
        SUBTRACT.replace(
            "Sub(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
            'Sub(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("Sub_0")',
        )
    )
    assert main([str(path), "-p", pipeline, "--numeric-gate"]) == 0
    told = "notice: the numeric gate does not compare mblt-add-outputs, which changes inputs or outputs\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    "text, pipeline, told",
    [
        (SUBTRACT, "convert-framework-to-mblt,convert-mblt-to-quant,quant-assign-bits", "does not run quant modules"),
        (
            SUBTRACT.replace("Sqrt", "Tanh"),
            "convert-framework-to-mblt,convert-mblt-to-quant,quant-assign-bits,quant-collect,quant-assign-ranges,"
            "quant-insert-requant,quant-materialize,convert-quant-to-npu",
            "does not run npu modules",
        ),
        (SUBTRACT.replace("2x3", "?x3"), "cse", "does not run modules whose inputs have open dimensions"),
        (SUBTRACT.replace("@main", "@other"), "cse", "cannot run the module, passes are not compared: the module has"),
        (
            SUBTRACT.replace("framework.Sqrt(%0)", "framework.RandomNormalLike(%0)"),
            "cse",
            "does not run modules with random results",
        ),
        (
            IDENTITY_OF_TEXT,
            "cse",
            "cannot run the module, passes are not compared: input",
        ),
        ('func.func @main() {\n  "other.op"() : () -> ()\n  func.return\n}', "cse", "does not run other modules"),
    ],
    ids=["quantized", "lowered", "open", "nameless", "random", "strings", "unregistered"],
)
def test_what_is_not_compared_is_told(
    text: str, pipeline: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(text)
    assert main([str(path), "-p", pipeline, "--numeric-gate", "--allow-unregistered-dialect", *CALIBRATED]) == 0
    assert f"notice: the numeric gate {told}" in capsys.readouterr().err


def test_a_module_without_its_weights_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(digits_model_path()), "-o", str(tmp_path / "x.mlir")]) == 0
    (tmp_path / "x.mlir").rename(tmp_path / "y.mlir")
    assert main([str(tmp_path / "y.mlir"), "-p", "cse", "--numeric-gate"]) == 0
    assert "the numeric gate cannot run the module, passes are not compared: blob" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wanted, got, distance",
    [
        ([1.0, 2.0], [1.0, 2.5], 0.25),
        ([1.0, np.nan], [1.0, np.nan], 0.0),
        ([np.inf, 2.0], [np.inf, 1.0], 0.5),
        ([np.inf, 2.0], [-np.inf, 2.0], np.inf),
        ([1.0, np.nan], [1.0, 1.0], np.inf),
        ([1.0, 1.0], [1.0, np.nan], np.inf),
        ([True, False], [True, True], 1.0),
        (["a"], ["b"], np.inf),
        (["a"], ["a"], 0.0),
        ([1.0], [[1.0]], np.inf),
        ([], [], 0.0),
    ],
    ids=str,
)
def test_distance(wanted: Any, got: Any, distance: float) -> None:
    assert relative_distance({"y": np.array(wanted)}, {"y": np.array(got)}) == distance
