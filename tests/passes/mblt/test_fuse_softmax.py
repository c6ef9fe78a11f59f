"""Softmax and log-softmax written out, and near misses."""

from __future__ import annotations

import pytest

from qbc.dialects import mblt
from tests.support.mblt_expressions import c, div, finish, mul, reduced, sub
from tests.support.mblt_graphs import MbltGraph
from tests.support.mblt_passes import check_pass


def soft(g, x, axes=(2,), total=None):
    e = g.op(mblt.ExpOp, x)
    return div(g, e, reduced(g, mblt.ReduceSumOp, e if total is None else total, axes))


SOFTMAXES = {
    "plain": soft,
    "axis 1": lambda g, x: soft(g, x, axes=(1,)),
    "minus max": lambda g, x: soft(g, sub(g, x, reduced(g, mblt.ReduceMaxOp, x))),
}


@pytest.mark.parametrize("case", SOFTMAXES)
def test_softmax(case: str) -> None:
    g, func = finish(SOFTMAXES[case])
    assert check_pass(g, func, "mblt-fuse-softmax") == ["softmax"]


def test_softmax_by_reciprocal_and_log_softmax() -> None:
    def build(g, x):
        e = g.op(mblt.ExpOp, x)
        return mul(g, g.op(mblt.ReciprocalOp, reduced(g, mblt.ReduceSumOp, e)), e)

    g, func = finish(build)
    assert check_pass(g, func, "mblt-fuse-softmax") == ["softmax"]

    def build_log(g, x):
        d = sub(g, x, reduced(g, mblt.ReduceMaxOp, x))
        return sub(g, d, g.op(mblt.LogOp, reduced(g, mblt.ReduceSumOp, g.op(mblt.ExpOp, d))))

    g, func = finish(build_log)
    assert check_pass(g, func, "mblt-fuse-softmax") == ["log_softmax"]


@pytest.mark.parametrize(
    "build",
    [
        lambda g, x: soft(g, x, axes=(1, 2)),
        lambda g, x: soft(g, x, total=g.op(mblt.AbsOp, x)),
        lambda g, x: div(g, reduced(g, mblt.ReduceSumOp, g.op(mblt.ExpOp, x)), g.op(mblt.ExpOp, x)),
    ],
)
def test_not_softmax(build) -> None:
    g, func = finish(build)
    assert "softmax" not in check_pass(g, func, "mblt-fuse-softmax")


def test_maximum_of_other_axis_stays_outside() -> None:
    g, func = finish(lambda g, x: soft(g, sub(g, x, reduced(g, mblt.ReduceMaxOp, x, axes=(1,)))))
    assert check_pass(g, func, "mblt-fuse-softmax") == ["reduce_max", "sub", "softmax"]


@pytest.mark.parametrize(("factor", "fused"), [(0.25, True), (-1.0, False)])
def test_scale_becomes_beta(factor: float, fused: bool) -> None:
    g, func = finish(lambda g, x: g.op(mblt.SoftmaxOp, mul(g, x, c(g, factor)), axis=2, beta=2.0))
    names = check_pass(g, func, "mblt-fuse-softmax")
    assert names == (["softmax"] if fused else ["mul", "softmax"])


@pytest.mark.parametrize("place", ["a", "b", "both", "moved", "shared"])
def test_scale_before_matmul_becomes_beta(place: str) -> None:
    g = MbltGraph()
    a, b = g.input((2, 3, 8)), g.input((2, 8, 5))
    if place in ("a", "both"):
        a = mul(g, a, c(g, 0.5))
    if place == "b":
        b = div(g, b, c(g, 2.0))
    if place in ("both", "moved"):
        b = mul(g, b, c(g, 0.25))
    if place == "moved":
        b = g.op(mblt.TransposeOp, g.op(mblt.TransposeOp, b, permutation=[0, 2, 1]), permutation=[0, 2, 1])
    shared = [a] if place == "shared" else []
    if shared:
        a = shared[0] = mul(g, a, c(g, 0.5))
    func = g.finish(g.op(mblt.SoftmaxOp, g.op(mblt.MatmulOp, a, b), axis=2), *shared)
    names = check_pass(g, func, "mblt-fuse-softmax")
    assert ("mul" in names or "div" in names) == (place == "shared")
    assert next(op for op in func.body.block.ops if op.name == "mblt.softmax").value_of("beta") == {
        "both": 0.125,
        "moved": 0.25,
        "shared": 1.0,
    }.get(place, 0.5)
