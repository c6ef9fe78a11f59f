"""Fusions into layers: outputs stay, ops vanish, and what must not fuse does not."""

from __future__ import annotations

import numpy as np
import pytest

from qbc.dialects import mblt
from qbc.passes.base import source_names
from tests.support.mblt_graphs import MbltGraph, op_names
from tests.support.mblt_passes import check_pass

IMAGE = (2, 6, 5, 3)


def _conv(g: MbltGraph, x, out: int = 4, **options):
    properties = {"kernel": [3, 3], "weight": g.weight(out, 3, 3, 3), "bias": g.weight(out), **options}
    return g.op(mblt.Conv2dOp, x, **properties)


def _batch_norm(g: MbltGraph, x, channels: int):
    variance = g.blob((g.random.random(channels) + 0.2).astype(np.float32))
    return g.op(
        mblt.BatchNormOp,
        x,
        scale=g.weight(channels),
        bias=g.weight(channels),
        mean=g.weight(channels),
        variance=variance,
        epsilon=1e-3,
    )


LAYERS = {
    "conv2d": lambda g: _conv(g, g.input(IMAGE), padding=[1, 1, 1, 1]),
    "conv2d without bias": lambda g: _conv(g, g.input(IMAGE), bias=None),
    "transpose_conv2d": lambda g: g.op(
        mblt.TransposeConv2dOp, g.input(IMAGE), kernel=[2, 2], strides=[2, 2], weight=g.weight(4, 2, 2, 3)
    ),
    "linear": lambda g: g.op(mblt.LinearOp, g.input((3, 7)), weight=g.weight(4, 7), bias=g.weight(4)),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_batch_norm_folds_into_layer(layer: str) -> None:
    g = MbltGraph()
    func = g.finish(_batch_norm(g, LAYERS[layer](g), 4))
    names = check_pass(g, func, "mblt-fold-batch-norm")
    assert names == [layer.split()[0]]
    assert len(source_names(next(iter(func.body.block.ops)))) == 2


def test_batch_norm_alone_becomes_mul_and_add() -> None:
    g = MbltGraph()
    func = g.finish(_batch_norm(g, g.input(IMAGE), 3))
    assert check_pass(g, func, "mblt-fold-batch-norm") == ["mul", "add"]


def test_batch_norm_after_shared_or_activated_layer_does_not_fold() -> None:
    g = MbltGraph()
    shared = _conv(g, g.input(IMAGE))
    func = g.finish(_batch_norm(g, shared, 4), shared)
    assert check_pass(g, func, "mblt-fold-batch-norm") == ["conv2d", "mul", "add"]
    g = MbltGraph()
    func = g.finish(_batch_norm(g, _conv(g, g.input(IMAGE), activation="relu"), 4))
    assert check_pass(g, func, "mblt-fold-batch-norm") == ["conv2d", "mul", "add"]


@pytest.mark.parametrize("cls", [mblt.AddOp, mblt.SubOp, mblt.MulOp, mblt.DivOp])
@pytest.mark.parametrize("constant_first", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_constant_after_layer_fuses(layer: str, cls: type, constant_first: bool) -> None:
    g = MbltGraph()
    x = LAYERS[layer](g)
    constant = g.constant(g.random.standard_normal([1] * (len(mblt.shape_of(x)) - 1) + [4]) + 3)
    operands = (constant, x) if constant_first else (x, constant)
    func = g.finish(g.op(cls, *operands, activation="relu6"))
    names = check_pass(g, func, "mblt-fuse-bias")
    if cls is mblt.DivOp and constant_first:
        assert names == [layer.split()[0], "div"]
        return
    assert names == [layer.split()[0]]
    assert next(op for op in func.body.block.ops if op.operands).value_of("activation") == "relu6"


def test_scalar_and_chain_of_constants_fuse() -> None:
    g = MbltGraph()
    x = _conv(g, g.input(IMAGE), bias=None)
    for value, cls in ((0.5, mblt.MulOp), (2.0, mblt.AddOp), (3.0, mblt.MulOp)):
        x = g.op(cls, x, g.constant(np.full((1, 1, 1, 1), value)))
    assert check_pass(g, g.finish(x), "mblt-fuse-bias") == ["conv2d"]


def test_constants_that_vary_elsewhere_or_broadcast_the_layer_do_not_fuse() -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.AddOp, _conv(g, g.input(IMAGE)), g.constant(np.ones((1, 4, 1, 4)))))
    assert check_pass(g, func, "mblt-fuse-bias") == ["conv2d", "add"]
    g = MbltGraph()
    func = g.finish(g.op(mblt.AddOp, _conv(g, g.input(IMAGE), out=1), g.constant(np.ones((1, 1, 1, 4)))))
    assert check_pass(g, func, "mblt-fuse-bias") == ["conv2d", "add"]
    g = MbltGraph()
    shared = _conv(g, g.input(IMAGE))
    func = g.finish(g.op(mblt.AddOp, shared, g.constant(np.ones((1, 1, 1, 4)))), shared)
    assert check_pass(g, func, "mblt-fuse-bias") == ["conv2d", "add"]


@pytest.mark.parametrize(
    ("clamps", "expected"),
    [
        ([("relu",)], ("relu", None, None)),
        ([("clip", 0.0, 6.0)], ("relu6", None, None)),
        ([("clip", 0.0, float("inf"))], ("relu", None, None)),
        ([("clip", -0.5, 0.5)], ("clip", -0.5, 0.5)),
        ([("relu",), ("clip", -1.0, 0.5)], ("clip", 0.0, 0.5)),
        ([("clip", -3.0, -1.0), ("relu",)], ("clip", 0.0, 0.0)),
    ],
)
def test_clamps_fuse(clamps: list, expected: tuple) -> None:
    g = MbltGraph()
    x = _conv(g, g.input(IMAGE))
    for kind, *bounds in clamps:
        x = g.op(mblt.ReluOp, x) if kind == "relu" else g.op(mblt.ClipOp, x, min=bounds[0], max=bounds[1])
    func = g.finish(x)
    assert check_pass(g, func, "mblt-fuse-activation") == ["conv2d"]
    conv = next(iter(func.body.block.ops))
    assert tuple(conv.value_of(n) for n in ("activation", "activation_min", "activation_max")) == expected


@pytest.mark.parametrize("cls", [mblt.AddOp, mblt.SubOp, mblt.MulOp, mblt.DivOp, mblt.MaximumOp, mblt.MinimumOp])
def test_relu_fuses_into_arithmetic(cls: type) -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.ReluOp, g.op(cls, g.input(IMAGE), g.input(IMAGE))))
    assert check_pass(g, func, "mblt-fuse-activation") == [cls.name.partition(".")[2]]


def test_relu_of_shared_value_or_other_op_does_not_fuse() -> None:
    g = MbltGraph()
    shared = _conv(g, g.input(IMAGE))
    func = g.finish(g.op(mblt.ReluOp, shared), shared)
    assert check_pass(g, func, "mblt-fuse-activation") == ["conv2d", "relu"]
    g = MbltGraph()
    func = g.finish(g.op(mblt.ReluOp, g.op(mblt.TanhOp, g.input(IMAGE))))
    assert check_pass(g, func, "mblt-fuse-activation") == ["tanh", "relu"]
    assert op_names(func) == ["tanh", "relu"]
