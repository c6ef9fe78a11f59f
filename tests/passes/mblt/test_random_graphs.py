"""Random small networks: both float engines agree, and no pass of the convert phase changes an output."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qbc.dialects import mblt
from qbc.execute.float_ort import FloatSession
from qbc.execute.float_torch import run
from qbc.passes.base import FunctionPass
from qbc.pipelines.phases import load_preset
from qbc.pipelines.registry import pass_class
from tests.support.mblt_graphs import MbltGraph
from tests.support.mblt_passes import assert_no_strays

SEEDS = range(int(os.environ.get("QBC_RANDOM_GRAPHS", "40")))
Step = Callable[["_Network", SSAValue], SSAValue]


class _Network:
    """Grows a graph by random steps on maps N, H, W, C; shared values and several outputs occur."""

    def __init__(self, seed: int) -> None:
        self.g = MbltGraph(seed)
        self.random = self.g.random
        self.values = [self.g.input((2, 8, 8, int(self.random.integers(1, 5))), layout="nchw")]

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            source = self.values[-1] if self.random.random() < 0.7 else self.pick(self.values)
            step = STEPS[int(self.random.integers(len(STEPS)))]
            self.values.append(step(self, source))

    def pick(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def coin(self) -> bool:
        return bool(self.random.random() < 0.5)

    def per_channel(self, x: SSAValue) -> SSAValue:
        size = mblt.shape_of(x)[3] if self.coin() else 1
        return self.g.constant(self.random.uniform(0.5, 1.5, (1, 1, 1, size)))

    def scalar(self, value: float) -> SSAValue:
        return self.g.constant(np.full((1, 1, 1, 1), value))


def _conv(n: _Network, x: SSAValue) -> SSAValue:
    channels = mblt.shape_of(x)[3]
    groups = channels if n.coin() else 1
    out = groups * int(n.random.integers(1, 4))
    kernel = n.pick([[1, 1], [3, 3], [1, 3]])
    padding = [k // 2 for k in kernel] * 2 if n.coin() or min(mblt.shape_of(x)[1:3]) < 3 else [0, 0, 0, 0]
    strides = [1, 1] if n.coin() else [2, 1]
    weight = n.g.weight(out, *kernel, channels // groups, scale=0.5)
    bias = n.g.weight(out) if n.coin() else None
    properties = {"kernel": kernel, "padding": padding, "strides": strides, "groups": groups, "bias": bias}
    return n.g.op(mblt.Conv2dOp, x, weight=weight, **properties)


def _arithmetic(n: _Network, x: SSAValue) -> SSAValue:
    cls = n.pick([mblt.AddOp, mblt.SubOp, mblt.MulOp, mblt.DivOp])
    constant = n.per_channel(x)
    return n.g.op(cls, constant, x) if n.coin() and cls is not mblt.DivOp else n.g.op(cls, x, constant)


def _batch_norm(n: _Network, x: SSAValue) -> SSAValue:
    channels = mblt.shape_of(x)[3]
    variance = n.g.blob(n.random.uniform(0.5, 2, channels).astype(np.float32))
    blobs = {"scale": n.g.weight(channels), "bias": n.g.weight(channels), "mean": n.g.weight(channels)}
    return n.g.op(mblt.BatchNormOp, x, variance=variance, **blobs)


def _clamp(n: _Network, x: SSAValue) -> SSAValue:
    if n.coin():
        return n.g.op(mblt.ReluOp, x)
    return n.g.op(mblt.ClipOp, x, min=float(n.random.uniform(-1, 0)), max=float(n.random.uniform(0.5, 2)))


def _gated(n: _Network, x: SSAValue) -> SSAValue:
    if n.coin():
        return n.g.op(mblt.MulOp, x, n.g.op(mblt.SigmoidOp, x))
    ramp = n.g.op(mblt.ClipOp, n.g.op(mblt.AddOp, x, n.scalar(3.0)), min=0.0, max=6.0)
    return n.g.op(mblt.DivOp, n.g.op(mblt.MulOp, x, ramp), n.scalar(6.0))


def _norm(n: _Network, x: SSAValue) -> SSAValue:
    axis = n.pick([3, 1])
    mean = n.g.op(mblt.ReduceMeanOp, x, axes=[axis], keep_dims=True)
    centered = n.g.op(mblt.SubOp, x, mean)
    square = n.g.op(mblt.SquareOp, centered)
    variance = n.g.op(mblt.ReduceMeanOp, square, axes=[axis], keep_dims=True)
    root = n.g.op(mblt.SqrtOp, n.g.op(mblt.AddOp, variance, n.scalar(0.1)))
    return n.g.op(mblt.DivOp, centered, root)


def _softmax(n: _Network, x: SSAValue) -> SSAValue:
    e = n.g.op(mblt.ExpOp, n.g.op(mblt.ClipOp, x, min=-3.0, max=3.0))
    return n.g.op(mblt.DivOp, e, n.g.op(mblt.ReduceSumOp, e, axes=[3], keep_dims=True))


def _squeeze_excite(n: _Network, x: SSAValue) -> SSAValue:
    batch, _, _, channels = mblt.shape_of(x)
    mean = n.g.op(mblt.ReduceMeanOp, x, axes=[1, 2])
    gate = n.g.op(mblt.SigmoidOp, n.g.op(mblt.LinearOp, mean, weight=n.g.weight(channels, channels)))
    gate = n.g.op(mblt.ReshapeOp, gate, result_type=TensorType(f32, [batch, 1, 1, channels]))
    return n.g.op(mblt.MulOp, x, gate)


def _join(n: _Network, x: SSAValue) -> SSAValue:
    shape = mblt.shape_of(x)
    equal = [value for value in n.values if mblt.shape_of(value) == shape]
    similar = [value for value in n.values if mblt.shape_of(value)[:3] == shape[:3]]
    if n.coin():
        return n.g.op(mblt.AddOp, x, n.pick(equal))
    return n.g.op(mblt.ConcatOp, x, n.pick(similar), axis=3)


def _move(n: _Network, x: SSAValue) -> SSAValue:
    if n.coin():
        padded = n.g.op(mblt.PadOp, x, before=[0, 1, 1, 0], after=[0, 1, 0, 0])
        return n.g.op(mblt.AvgPool2dOp, padded, kernel=[2, 2], count_include_pad=n.coin())
    turned = n.g.op(mblt.TransposeOp, x, permutation=[0, 3, 1, 2])
    return n.g.op(mblt.TransposeOp, n.g.op(mblt.TanhOp, turned), permutation=[0, 2, 3, 1])


STEPS: list[Step] = [
    _conv,
    _conv,
    _arithmetic,
    _arithmetic,
    _batch_norm,
    _clamp,
    _gated,
    _norm,
    _softmax,
    _squeeze_excite,
    _join,
    _move,
]


def _difference(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    assert list(found) == list(expected)
    scales = [max(float(np.abs(array).max()), 1e-3) for array in expected.values()]
    differences = [float(np.abs(found[name] - expected[name]).max()) for name in expected]
    return max(difference / scale for difference, scale in zip(differences, scales, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_network(seed: int) -> None:
    network = _Network(seed)
    network.grow(10)
    outputs = [network.values[-1], *([network.pick(network.values[1:])] if network.coin() else [])]
    graph = network.g
    func = graph.finish(*outputs, layouts=["nchw"] * len(outputs))
    feed = graph.samples()
    expected = run(func, graph.store, feed, float_type="float64")
    assert _difference(run(func, graph.store, feed), expected) < 1e-4
    assert _difference(FloatSession(func, graph.store).run_outputs(feed), expected) < 1e-4
    for call in load_preset("default").pipeline("convert").calls():
        if call.name == "convert-framework-to-mblt":
            continue
        instance = pass_class(call.name)()
        instance.run(func if isinstance(instance, FunctionPass) else graph.module, graph.context)
        graph.module.verify()
        assert_no_strays(func)
        assert _difference(run(func, graph.store, feed, float_type="float64"), expected) < 1e-5, call.name
    assert _difference(FloatSession(func, graph.store).run_outputs(feed), expected) < 1e-4
