"""GELU, SiLU, hard swish, softmax and layer norm written out, in many spellings, and near misses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qbc.dialects import mblt
from qbc.passes.base import source_names
from tests.support.mblt_graphs import MbltGraph
from tests.support.mblt_passes import check_pass

SHAPE = (2, 3, 8)


def c(g: MbltGraph, value: float):
    """A scalar constant of rank 3."""
    return g.constant(np.full((1, 1, 1), value))


def add(g, a, b):
    return g.op(mblt.AddOp, a, b)


def sub(g, a, b):
    return g.op(mblt.SubOp, a, b)


def mul(g, a, b):
    return g.op(mblt.MulOp, a, b)


def div(g, a, b):
    return g.op(mblt.DivOp, a, b)


def finish(build, *, share: bool = False):
    g = MbltGraph()
    x = g.input(SHAPE)
    found = build(g, x)
    inner, result = found if isinstance(found, tuple) else (None, found)
    return g, g.finish(*([result, inner] if share else [result]))


# --- GELU ------------------------------------------------------------------------------------------------------


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


# --- SiLU, hard sigmoid and hard swish --------------------------------------------------------------------------


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


# --- softmax ---------------------------------------------------------------------------------------------------


def reduced(g, cls, x, axes=(2,), keep=True):
    return g.op(cls, x, axes=list(axes), keep_dims=keep)


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


# --- gates -----------------------------------------------------------------------------------------------------


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


# --- layer norm ------------------------------------------------------------------------------------------------


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
