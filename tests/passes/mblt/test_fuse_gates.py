"""SiLU, hard sigmoid, hard swish and residuals around gates written out, and near misses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qbc.dialects import mblt
from tests.support.mblt_expressions import SHAPE, add, c, div, finish, mul
from tests.support.mblt_graphs import MbltGraph
from tests.support.mblt_passes import check_pass


def test_silu() -> None:
    for order in (False, True):
        g, func = finish(
            lambda g, x, o=order: mul(g, *((x, g.op(mblt.SigmoidOp, x)) if o else (g.op(mblt.SigmoidOp, x), x)))
        )
        assert check_pass(g, func, "mblt-fuse-silu") == ["silu"]


@pytest.mark.parametrize(
    "build",
    [
        lambda g, x: mul(g, g.op(mblt.AbsOp, x), g.op(mblt.SigmoidOp, x)),
        lambda g, x: g.op(mblt.MulOp, x, g.op(mblt.SigmoidOp, x), activation="relu"),
        lambda g, x: mul(g, x, g.op(mblt.TanhOp, x)),
    ],
)
def test_not_silu(build) -> None:
    g, func = finish(build)
    assert "silu" not in check_pass(g, func, "mblt-fuse-silu")


def test_silu_with_shared_sigmoid_stays() -> None:
    def build(g, x):
        gate = g.op(mblt.SigmoidOp, x)
        return gate, mul(g, x, gate)

    g, func = finish(build, share=True)
    assert check_pass(g, func, "mblt-fuse-silu") == ["sigmoid", "mul"]


def ramp(g, x, shift=3.0, high=6.0):
    return g.op(mblt.ClipOp, add(g, x, c(g, shift)), min=0.0, max=high)


HARD_SWISHES = {
    "x*clip/6": lambda g, x: div(g, mul(g, x, ramp(g, x)), c(g, 6.0)),
    "x*(clip/6)": lambda g, x: mul(g, x, div(g, ramp(g, x), c(g, 6.0))),
    "x*clip*(1/6)": lambda g, x: mul(g, mul(g, ramp(g, x), x), c(g, 1 / 6)),
    "x/6*clip": lambda g, x: mul(g, div(g, x, c(g, 6.0)), ramp(g, x)),
    "hard sigmoid": lambda g, x: mul(g, x, g.op(mblt.HardSigmoidOp, x, alpha=1 / 6, beta=0.5)),
    "clip(x/6+1/2)": lambda g, x: mul(
        g, x, g.op(mblt.ClipOp, add(g, mul(g, x, c(g, 1 / 6)), c(g, 0.5)), min=0.0, max=1.0)
    ),
}
HARD_SIGMOIDS = {
    "clip/6": (lambda g, x: div(g, ramp(g, x), c(g, 6.0)), 1 / 6, 0.5),
    "clip(0.2x+0.5)": (
        lambda g, x: g.op(mblt.ClipOp, add(g, mul(g, x, c(g, 0.2)), c(g, 0.5)), min=0.0, max=1.0),
        0.2,
        0.5,
    ),
    "1.2x+3 in 6": (lambda g, x: mul(g, ramp(g, mul(g, x, c(g, 1.2))), c(g, 1 / 6)), 0.2, 0.5),
}
NEITHER = {
    "other shift times x": lambda g, x: div(g, mul(g, x, ramp(g, x, shift=2.0)), c(g, 6.0)),
    "other height": lambda g, x: div(g, mul(g, x, ramp(g, x, high=5.0)), c(g, 6.0)),
    "other divisor": lambda g, x: div(g, mul(g, x, ramp(g, x)), c(g, 5.0)),
    "other value": lambda g, x: div(g, mul(g, g.op(mblt.AbsOp, x), ramp(g, x)), c(g, 6.0)),
    "low bound": lambda g, x: g.op(mblt.ClipOp, add(g, x, c(g, 3.0)), min=-1.0, max=1.0),
    "plain clip": lambda g, x: g.op(mblt.ClipOp, x, min=0.0, max=1.0),
    "relu": lambda g, x: g.op(mblt.ClipOp, add(g, x, c(g, 3.0)), min=0.0, max=math.inf),
}


@pytest.mark.parametrize("case", HARD_SWISHES)
def test_hard_swish(case: str) -> None:
    g, func = finish(HARD_SWISHES[case])
    assert check_pass(g, func, "mblt-fuse-hard-swish", scale=3.0) == ["hard_swish"]


@pytest.mark.parametrize("case", HARD_SIGMOIDS)
def test_hard_sigmoid(case: str) -> None:
    build, alpha, beta = HARD_SIGMOIDS[case]
    g, func = finish(build)
    assert check_pass(g, func, "mblt-fuse-hard-swish", scale=3.0) == ["hard_sigmoid"]
    op = next(op for op in func.body.block.ops if op.name == "mblt.hard_sigmoid")
    assert op.value_of("alpha") == pytest.approx(alpha)
    assert op.value_of("beta") == pytest.approx(beta)


@pytest.mark.parametrize("case", NEITHER)
def test_neither_hard_swish_nor_hard_sigmoid(case: str) -> None:
    g, func = finish(NEITHER[case])
    names = check_pass(g, func, "mblt-fuse-hard-swish", scale=3.0)
    assert "hard_swish" not in names
    assert "hard_sigmoid" not in names


def test_residual_around_a_gate_moves_into_the_gate() -> None:
    for order in (False, True):
        g = MbltGraph()
        x, gate = g.input(SHAPE), g.op(mblt.SigmoidOp, g.input((2, 1, 8)))
        scaled = mul(g, gate, x) if order else mul(g, x, gate)
        func = g.finish(g.op(mblt.AddOp, *((x, scaled) if order else (scaled, x)), activation="relu"))
        assert check_pass(g, func, "mblt-fold-residual-gate") == ["sigmoid", "add", "mul"]


@pytest.mark.parametrize("case", ["large gate", "shared", "other residual", "activation", "constant"])
def test_residual_that_stays(case: str) -> None:
    g = MbltGraph()
    x, gate = g.input(SHAPE), g.input(SHAPE if case == "large gate" else (2, 1, 8))
    if case == "constant":
        gate = g.constant(np.ones((1, 1, 8)))
    scaled = g.op(mblt.MulOp, x, gate, activation="relu" if case == "activation" else None)
    total = add(g, g.input(SHAPE) if case == "other residual" else x, scaled)
    func = g.finish(total, *([scaled] if case == "shared" else []))
    assert check_pass(g, func, "mblt-fold-residual-gate") == ["mul", "add"]
