"""Layer norms written out, in many spellings, and near misses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qbc.dialects import mblt
from tests.support.mblt_expressions import add, c, div, finish, mul, reduced, sub
from tests.support.mblt_graphs import MbltGraph
from tests.support.mblt_passes import check_pass


def normalized(g, x, axes=(2,), inner_axes=None, epsilon=1e-5, square="square", divide="div", variance_of=None):
    centered = sub(g, x, reduced(g, mblt.ReduceMeanOp, x, axes))
    base = centered if variance_of is None else variance_of(g, x)
    squares = {
        "square": lambda: g.op(mblt.SquareOp, base),
        "pow": lambda: g.op(mblt.PowOp, base, c(g, 2.0)),
        "mul": lambda: mul(g, base, base),
        "again": lambda: g.op(mblt.SquareOp, sub(g, x, reduced(g, mblt.ReduceMeanOp, x, axes))),
    }
    variance = add(g, reduced(g, mblt.ReduceMeanOp, squares[square](), inner_axes or axes), c(g, epsilon))
    if divide == "div":
        return div(g, centered, g.op(mblt.SqrtOp, variance))
    if divide == "rsqrt":
        return mul(g, g.op(mblt.RsqrtOp, variance), centered)
    if divide == "reciprocal":
        return mul(g, centered, g.op(mblt.ReciprocalOp, g.op(mblt.SqrtOp, variance)))
    return div(g, centered, g.op(mblt.PowOp, variance, c(g, 0.5)))


@pytest.mark.parametrize("square", ["square", "pow", "mul", "again"])
@pytest.mark.parametrize("divide", ["div", "rsqrt", "reciprocal", "pow"])
def test_layer_norm(square: str, divide: str) -> None:
    g, func = finish(lambda g, x: normalized(g, x, square=square, divide=divide, epsilon=1e-6))
    assert check_pass(g, func, "mblt-fuse-layer-norm") == ["layer_norm"]
    op = next(op for op in func.body.block.ops if op.name == "mblt.layer_norm")
    assert op.value_of("normalized_rank") == 1
    assert op.value_of("epsilon") == pytest.approx(1e-6)


def test_layer_norm_over_two_axes() -> None:
    g, func = finish(lambda g, x: normalized(g, x, axes=(1, 2)))
    assert check_pass(g, func, "mblt-fuse-layer-norm") == ["layer_norm"]


def fast_norm(g, x, axis=2, other=False, count=None, clamp=None):
    """`(x - m) * (gamma / sqrt(max(mean(x^2) - m^2, 0) + e)) + beta` with means as sums times a constant."""
    size = mblt.shape_of(x)[axis]
    inverse = c(g, 1 / (count or size))
    mean = mul(g, reduced(g, mblt.ReduceSumOp, x, (axis,)), inverse)
    squares = mul(g, reduced(g, mblt.ReduceSumOp, g.op(mblt.SquareOp, x), (axis,)), inverse)
    subtrahend = reduced(g, mblt.ReduceMinOp, x, (axis,)) if other else mean
    variance = sub(g, squares, g.op(mblt.SquareOp, subtrahend))
    clamps = {
        None: lambda v: g.op(mblt.MaximumOp, c(g, 0.0), v),
        "clip": lambda v: g.op(mblt.ClipOp, v, min=0.0, max=math.inf),
        "relu": lambda v: g.op(mblt.ReluOp, v),
        "no": lambda v: v,
    }
    deviation = g.op(mblt.SqrtOp, add(g, clamps[clamp](variance), c(g, 1e-2)))
    shape = [size if place == axis else 1 for place in range(3)]
    gamma = g.constant(np.linspace(0.5, 2, size).reshape(shape))
    factor = mul(g, g.op(mblt.ReciprocalOp, deviation), gamma)
    return add(g, mul(g, sub(g, x, mean), factor), g.constant(np.arange(size).reshape(shape)))


@pytest.mark.parametrize("clamp", [None, "clip", "relu", "no"])
def test_layer_norm_with_variance_from_squares(clamp: str | None) -> None:
    g, func = finish(lambda g, x: fast_norm(g, x, clamp=clamp))
    assert check_pass(g, func, "mblt-fuse-layer-norm", "mblt-fold-norm-affine") == ["layer_norm"]


def test_layer_norm_over_inner_axis() -> None:
    g, func = finish(lambda g, x: fast_norm(g, x, axis=1))
    names = check_pass(g, func, "mblt-fuse-layer-norm", "mblt-fold-norm-affine")
    assert names == ["transpose", "layer_norm", "transpose"]
    g, func = finish(lambda g, x: normalized(g, x, axes=(1,)))
    assert check_pass(g, func, "mblt-fuse-layer-norm") == ["transpose", "layer_norm", "transpose"]


def factored_norm(g, x, gamma=True, beta_shape=(1, 1, 8), wrong_mean=False):
    mean = reduced(g, mblt.ReduceMeanOp, x)
    centered = sub(g, x, mean)
    variance = add(g, reduced(g, mblt.ReduceMeanOp, g.op(mblt.SquareOp, centered)), c(g, 1e-3))
    factor = g.op(mblt.RsqrtOp, variance)
    if gamma:
        factor = mul(g, factor, g.constant(np.linspace(0.5, 2, 8).reshape(1, 1, 8)))
    if wrong_mean:
        mean = reduced(g, mblt.ReduceMaxOp, x)
    beta = g.constant(np.arange(np.prod(beta_shape)).reshape(beta_shape))
    return add(g, mul(g, x, factor), sub(g, beta, mul(g, mean, factor)))


@pytest.mark.parametrize("gamma", [True, False])
def test_factored_layer_norm(gamma: bool) -> None:
    g, func = finish(lambda g, x: factored_norm(g, x, gamma=gamma))
    assert check_pass(g, func, "mblt-fuse-layer-norm") == ["layer_norm"]


NOT_NORMS = {
    "leading axes": lambda g, x: normalized(g, x, axes=(0, 1)),
    "not the square of the mean": lambda g, x: fast_norm(g, x, other=True),
    "sum with another factor": lambda g, x: fast_norm(g, x, count=7),
    "axes differ": lambda g, x: normalized(g, x, axes=(2,), inner_axes=(1, 2)),
    "not centered": lambda g, x: normalized(g, x, variance_of=lambda g, v: v),
    "negative epsilon": lambda g, x: normalized(g, g.op(mblt.AbsOp, x), epsilon=-1e-6),
    "wrong mean": lambda g, x: factored_norm(g, x, wrong_mean=True),
    "beta varies elsewhere": lambda g, x: factored_norm(g, x, beta_shape=(1, 3, 8)),
}


@pytest.mark.parametrize("case", NOT_NORMS)
def test_not_layer_norm(case: str) -> None:
    g, func = finish(NOT_NORMS[case])
    assert "layer_norm" not in check_pass(g, func, "mblt-fuse-layer-norm")


def test_constants_that_broadcast_the_value_stop_the_fusion() -> None:
    g = MbltGraph()
    x = g.input((1, 3, 8))
    wide = g.constant(np.full((2, 1, 1), 1e-5))
    centered = sub(g, x, reduced(g, mblt.ReduceMeanOp, x))
    variance = add(g, reduced(g, mblt.ReduceMeanOp, g.op(mblt.SquareOp, centered)), wide)
    norm = div(g, centered, g.op(mblt.SqrtOp, variance))
    bound = g.op(mblt.MaximumOp, reduced(g, mblt.ReduceMaxOp, x), wide)
    e = g.op(mblt.ExpOp, sub(g, x, bound))
    func = g.finish(norm, div(g, e, reduced(g, mblt.ReduceSumOp, e)))
    names = check_pass(g, func, "mblt-fuse-layer-norm", "mblt-fuse-softmax")
    assert "layer_norm" not in names
    assert "softmax" not in names


def test_layer_norm_over_an_unknown_size_stays() -> None:
    g = MbltGraph()
    func = g.finish(normalized(g, g.input((2, 3, -1))))
    assert "layer_norm" not in check_pass(g, func, "mblt-fuse-layer-norm")


def test_layer_norm_with_shared_variance_stays() -> None:
    def build(g, x):
        centered = sub(g, x, reduced(g, mblt.ReduceMeanOp, x))
        variance = add(g, reduced(g, mblt.ReduceMeanOp, g.op(mblt.SquareOp, centered)), c(g, 1e-3))
        return variance, div(g, centered, g.op(mblt.SqrtOp, variance))

    g, func = finish(build, share=True)
    assert "layer_norm" not in check_pass(g, func, "mblt-fuse-layer-norm")


def test_affine_folds_into_norm() -> None:
    def build(g, x):
        y = g.op(mblt.LayerNormOp, x, normalized_rank=1)
        y = mul(g, y, g.constant(np.linspace(0.5, 2, 8).reshape(1, 1, 8)))
        y = add(g, g.constant(np.arange(8).reshape(1, 1, 8)), y)
        y = div(g, y, c(g, 3.0))
        return sub(g, y, c(g, 0.25))

    g, func = finish(build)
    assert check_pass(g, func, "mblt-fold-norm-affine") == ["layer_norm"]
    g, func = finish(lambda g, x: mul(g, g.op(mblt.InstanceNormOp, x, scale=g.weight(8), bias=g.weight(8)), c(g, 2.0)))
    assert check_pass(g, func, "mblt-fold-norm-affine") == ["instance_norm"]


@pytest.mark.parametrize(
    "build",
    [
        lambda g, y: mul(g, y, g.constant(np.arange(3).reshape(1, 3, 1))),
        lambda g, y: sub(g, c(g, 1.0), y),
        lambda g, y: div(g, c(g, 1.0), y),
        lambda g, y: g.op(mblt.MulOp, y, c(g, 2.0), activation="relu"),
    ],
)
def test_affine_that_does_not_fold(build) -> None:
    g, func = finish(lambda g, x: build(g, g.op(mblt.LayerNormOp, x, normalized_rank=1)))
    assert len(check_pass(g, func, "mblt-fold-norm-affine", tolerance=1e-4)) == 2
