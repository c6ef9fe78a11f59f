"""Random heads and movements before a graph output: scales of channels are legal and never worse than one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.ir import SSAValue

from qbc.algorithms.fidelity import Fidelity
from qbc.calibration import ArraySamples, InputSpec
from qbc.dialects import mblt, quant
from qbc.execute.float_torch import FloatProgram
from qbc.execute.integer import IntegerProgram
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.runner import run_pipeline
from tests.support.quant_single_op import Graph, function_of

SHAPE = (1, 16, 16, 4)
HEADS = st.lists(st.sampled_from(["conv", "conv", "conv", "relu", "relu6", "sigmoid", "add"]), min_size=1, max_size=3)
MOVES = st.lists(st.sampled_from(["swap", "turn", "rows", "split", "join", "part", "stack", "pool"]), max_size=4)
PIPELINE = (
    "builtin.module(convert-mblt-to-quant{{method={m}}},quant-assign-bits{{preset={bits}}},quant-collect,"
    "quant-group-scales{{method={m}}},quant-assign-ranges{{method={m}}},quant-insert-requant,quant-canonicalize,"
    "quant-output-scales{{output={output} method={m}}},quant-verify{{level=ranged}},quant-materialize,quant-verify)"
)


def head(g: Graph, kind: str, x: SSAValue, rng: np.random.Generator) -> SSAValue:
    """Add a convolution with channels of very different ranges and what follows it."""
    gains = np.exp(rng.uniform(-3, 3, (4, 1, 1, 1)))
    y = g.add(mblt.Conv2dOp.of(x, weight=g.blob(gains * rng.standard_normal((4, 1, 1, 4))), kernel=[1, 1]))
    if kind in ("relu", "relu6"):
        return g.add(mblt.ReluOp.of(y) if kind == "relu" else mblt.ClipOp.of(y, min=0.0, max=6.0))
    if kind == "sigmoid":
        return g.add(mblt.SigmoidOp.of(y))
    return g.add(mblt.AddOp.of(y, y)) if kind == "add" else y


def move(g: Graph, kind: str, x: SSAValue) -> SSAValue:
    """Add one operation that moves codes; the rank stays 4."""
    n, h, w, c = mblt.shape_of(x)
    if kind in ("swap", "turn"):
        return g.add(mblt.TransposeOp.of(x, permutation=[0, 2, 1, 3] if kind == "swap" else [0, 3, 1, 2]))
    if kind == "part":
        return g.add(mblt.SliceOp.of(x, starts=[0, 0, 0, c // 3], ends=[n, h, w, c], steps=[1, 1, 1, 1]))
    if kind == "stack":
        return g.add(mblt.ConcatOp.of(x, x, axis=2))
    if kind == "pool":
        return g.add(mblt.MaxPool2dOp.of(x, kernel=[1, 1], strides=[1, 1], padding=[0, 0, 0, 0]))
    shape = {"rows": (n, h * w, 1, c), "join": (n, h, 1, w * c)}.get(kind)
    if kind == "split":
        shape = (n, h * 2, w, c // 2) if c % 2 == 0 else (n, h, w, c)
    return g.add(mblt.ReshapeOp.of(x, result_type=_like(x, shape)))


def _like(x: SSAValue, shape: Any) -> Any:
    from xdsl.dialects.builtin import TensorType, f32

    return TensorType(f32, shape)


def build(heads: list[str], moves: list[str], seed: int, samples: list[np.ndarray]) -> tuple[Graph, Any]:
    rng = np.random.default_rng(seed)
    g = Graph([samples[0]])
    parts = [head(g, kind, g.args[0], rng) for kind in heads]
    value = parts[0] if len(parts) == 1 else g.add(mblt.ConcatOp.of(*parts, axis=int(rng.integers(1, 4))))
    for kind in moves:
        value = move(g, kind, value)
    g.ctx.samples = ArraySamples(tuple({"x0": x} for x in samples), (InputSpec("x0", SHAPE),))
    return g, g.module(value)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HEADS, MOVES, st.integers(0, 3), st.sampled_from(["w8a8", "w8a8", "w8a16"]), st.integers(0, 2**32 - 1))
def test_random_outputs(heads: list[str], moves: list[str], method: int, bits: str, seed: int) -> None:
    rng = np.random.default_rng(seed + 1)
    samples = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(12)]
    quality = []
    for output in (0, 1):
        g, module = build(heads, moves, seed, samples)
        reference = FloatProgram(function_of(module), g.store, "float64")
        wanted = [reference.run({"x0": x})["y0"] for x in samples]
        run_pipeline(module, parse_pipeline(PIPELINE.format(m=method, bits=bits, output=output)), g.ctx)
        program, fidelity = IntegerProgram(function_of(module), g.store), Fidelity()
        for x, y in zip(samples, wanted, strict=True):
            fidelity.add(y, program.run({"x0": x})["y0"])
        quality.append(fidelity.sqnr)
    assert quality[1] >= quality[0] - 1.0
    scales = [row for row in module.walk() if isinstance(row, quant.ParamsOp)]
    if heads == ["conv"] and "turn" not in moves:
        assert scales or not all(kind in ("swap", "rows", "pool", "stack") for kind in moves)
