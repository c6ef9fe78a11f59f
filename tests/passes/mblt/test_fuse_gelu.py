"""GELU written out, in many spellings, and near misses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qbc.dialects import mblt
from qbc.passes.base import source_names
from tests.support.mblt_expressions import add, c, div, finish, mul
from tests.support.mblt_passes import check_pass


def erf_gate(g, x, root=1.4142135, one=1.0):
    return add(g, g.op(mblt.ErfOp, div(g, x, c(g, root))), c(g, one))


def cube(g, x):
    return g.op(mblt.PowOp, x, c(g, 3.0))


def tanh_gate(g, x, cubic=0.044715, power=cube):
    inner = add(g, x, mul(g, power(g, x), c(g, cubic)))
    return add(g, c(g, 1.0), g.op(mblt.TanhOp, mul(g, c(g, math.sqrt(2 / math.pi)), inner)))


def factored_tanh_gate(g, x):
    inner = mul(g, x, add(g, c(g, 1.0), mul(g, g.op(mblt.SquareOp, x), c(g, 0.044715))))
    return add(g, g.op(mblt.TanhOp, mul(g, inner, c(g, 0.7978845608))), c(g, 1.0))


GELUS = {
    "x*gate*0.5": lambda g, x: mul(g, mul(g, x, erf_gate(g, x)), c(g, 0.5)),
    "0.5*x then gate": lambda g, x: mul(g, mul(g, c(g, 0.5), x), erf_gate(g, x)),
    "0.5*gate then x": lambda g, x: mul(g, x, mul(g, erf_gate(g, x), c(g, 0.5))),
    "divided by two": lambda g, x: div(g, mul(g, x, erf_gate(g, x)), c(g, 2.0)),
    "multiplied argument": lambda g, x: mul(
        g, mul(g, x, add(g, c(g, 1.0), g.op(mblt.ErfOp, mul(g, x, c(g, 0.70710678))))), c(g, 0.5)
    ),
    "half inside": lambda g, x: mul(
        g, x, add(g, mul(g, g.op(mblt.ErfOp, mul(g, x, c(g, 0.70710678))), c(g, 0.5)), c(g, 0.5))
    ),
}
TANH_GELUS = {
    "power": lambda g, x: mul(g, mul(g, c(g, 0.5), x), tanh_gate(g, x)),
    "products": lambda g, x: mul(g, mul(g, x, tanh_gate(g, x, power=lambda g, v: mul(g, mul(g, v, v), v))), c(g, 0.5)),
    "factored": lambda g, x: mul(g, mul(g, x, factored_tanh_gate(g, x)), c(g, 0.5)),
}
NOT_GELUS = {
    "wrong root": lambda g, x: mul(g, mul(g, x, erf_gate(g, x, root=1.5)), c(g, 0.5)),
    "wrong one": lambda g, x: mul(g, mul(g, x, erf_gate(g, x, one=0.9)), c(g, 0.5)),
    "wrong half": lambda g, x: mul(g, mul(g, x, erf_gate(g, x)), c(g, 0.6)),
    "wrong cubic": lambda g, x: mul(g, mul(g, x, tanh_gate(g, x, cubic=0.05)), c(g, 0.5)),
    "other factor": lambda g, x: mul(g, mul(g, g.op(mblt.AbsOp, x), erf_gate(g, x)), c(g, 0.5)),
    "vector constant": lambda g, x: mul(
        g, mul(g, x, erf_gate(g, x)), g.constant(np.linspace(0.4, 0.6, 8).reshape(1, 1, 8))
    ),
}


@pytest.mark.parametrize("case", GELUS)
def test_erf_gelu(case: str) -> None:
    g, func = finish(GELUS[case])
    assert check_pass(g, func, "mblt-fuse-gelu") == ["gelu"]
    op = next(op for op in func.body.block.ops if op.name == "mblt.gelu")
    assert op.value_of("approximate") == "none"
    assert len(source_names(op)) >= 5


@pytest.mark.parametrize("case", TANH_GELUS)
def test_tanh_gelu(case: str) -> None:
    g, func = finish(TANH_GELUS[case])
    assert check_pass(g, func, "mblt-fuse-gelu") == ["gelu"]
    assert next(op for op in func.body.block.ops if op.name == "mblt.gelu").value_of("approximate") == "tanh"


@pytest.mark.parametrize("case", NOT_GELUS)
def test_not_gelu(case: str) -> None:
    g, func = finish(NOT_GELUS[case])
    assert "gelu" not in check_pass(g, func, "mblt-fuse-gelu")


def test_gelu_with_shared_gate_stays() -> None:
    def build(g, x):
        gate = erf_gate(g, x)
        return gate, mul(g, mul(g, x, gate), c(g, 0.5))

    g, func = finish(build, share=True)
    assert "gelu" not in check_pass(g, func, "mblt-fuse-gelu")
