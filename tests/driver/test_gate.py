"""The numeric gate over the convert phase: every pass keeps the float result, and a wrong one is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from qbc.driver.context import make_context
from qbc.driver.files import read_module
from qbc.driver.gate import numeric_gate
from qbc.driver.plan import CompileOptions, make_plan
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, FunctionPass
from qbc.pipelines import registry
from qbc.pipelines.grammar import Pipeline, parse_pipeline
from qbc.pipelines.runner import run_pipeline
from qbcompiler.demo import digits_model_path


@dataclass(frozen=True)
class DropActivations(FunctionPass):
    """A wrong rewrite."""

    name = "test-drop-activations"

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for inner in op.walk():
            inner.properties.pop("activation", None)


def _parse_pipeline() -> Pipeline:
    plan = make_plan(CompileOptions())
    return plan.pipelines["import"] + plan.pipelines["convert"]


def test_every_pass_of_the_convert_phase_keeps_the_result() -> None:
    ctx = make_context()
    gate = numeric_gate(1e-5)
    run_pipeline(
        read_module(digits_model_path(), ctx), _parse_pipeline(), ctx, instrumentations=[gate], verify_each=True
    )
    assert len(gate.rows) >= 5
    assert max(distance for _, distance in gate.rows) <= 1e-5


def test_a_wrong_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    original = registry._find_class
    known: dict[str, Any] = {DropActivations.name: DropActivations}
    monkeypatch.setattr(registry, "_find_class", lambda name: known.get(name) or original(name))
    registry.pass_class.cache_clear()
    ctx = make_context()
    pipeline = _parse_pipeline() + parse_pipeline("func.func(test-drop-activations),cse")
    with pytest.raises(QBCompilerError, match="outputs differ") as caught:
        run_pipeline(read_module(digits_model_path(), ctx), pipeline, ctx, instrumentations=[numeric_gate()])
    assert caught.value.pass_name == DropActivations.name
    registry.pass_class.cache_clear()
