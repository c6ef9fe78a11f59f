"""Encodings of uint8 inputs: fixed, and kept apart from values of another origin."""

from __future__ import annotations

import numpy as np
import pytest

from qbc.calibration import ArraySamples, InputSpec
from qbc.dialects import mblt, quant
from qbc.dialects.quant import ParamTable
from qbc.passes.mblt.mblt_uint8_inputs import Uint8InputsPass
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.runner import run_pipeline
from tests.support.mblt_graphs import MbltGraph

SHAPE = (1, 4, 4, 3)


def quantized(g: MbltGraph, *results, names: tuple[str, ...] = ("x0",), pipeline: str = "") -> list[quant.QuantOp]:
    func = g.finish(*results)
    Uint8InputsPass(names).run(func, g.context)
    run_pipeline(g.module, parse_pipeline(pipeline or "convert-mblt-to-quant"), g.context)
    return [op for op in g.module.walk() if isinstance(op, quant.QuantOp)]


def encoding(g: MbltGraph, value):
    row = ParamTable(g.module).row_of(value)
    assert row is not None
    return row.encoding if row.is_fixed else None


@pytest.mark.parametrize("factor", [255.0, 1.0])
def test_moved_bytes_keep_the_encoding(factor: float) -> None:
    g = MbltGraph()
    moved = g.op(mblt.TransposeOp, g.input(SHAPE), permutation=[0, 2, 1, 3])
    func = g.finish(g.op(mblt.SigmoidOp, moved))
    Uint8InputsPass(division_factor=factor).run(func, g.context)
    run_pipeline(g.module, parse_pipeline("convert-mblt-to-quant"), g.context)
    enter, turned, last = [op for op in g.module.walk() if isinstance(op, quant.QuantOp)][:3]
    for op in (enter, turned):
        bits, scale, zero = encoding(g, op.results[0])
        assert (bits, zero) == ("i8", -128) and scale == np.float32(1 / factor)
    assert ParamTable(g.module).row_of(last.results[0]) is not ParamTable(g.module).row_of(turned.results[0])


def test_bytes_beside_floats_are_requantized() -> None:
    g = MbltGraph()
    image, other = g.input(SHAPE), g.input(SHAPE)
    pipeline = "convert-mblt-to-quant,quant-assign-bits,quant-collect,quant-group-scales,quant-assign-ranges,"
    pipeline += "quant-insert-requant,quant-canonicalize,quant-materialize,quant-verify"
    rng = np.random.default_rng(0)
    g.context.samples = ArraySamples(
        tuple(
            {"x0": rng.integers(0, 256, SHAPE, dtype=np.uint8), "x1": rng.standard_normal(SHAPE, dtype=np.float32) * 9}
            for _ in range(4)
        ),
        (InputSpec("x0", SHAPE, division_factor=255.0), InputSpec("x1", SHAPE)),
    )
    ops = quantized(g, g.op(mblt.ConcatOp, image, other, axis=3), pipeline=pipeline)
    assert [op.name for op in ops].count("quant.requantize") == 1
    from qbc.execute.integer import IntegerProgram

    function = next(op for op in g.module.body.block.ops if op.name == "func.func")
    pixels, values = rng.integers(0, 256, SHAPE), rng.standard_normal(SHAPE) * 5
    given = {"x0": (pixels / 255).astype(np.float32), "x1": values.astype(np.float32)}
    (result,) = IntegerProgram(function, g.store).run(given).values()
    assert np.abs(result - np.concatenate([given["x0"], given["x1"]], axis=3)).max() < 0.3


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_resized_bytes_keep_the_encoding(mode: str) -> None:
    g = MbltGraph()
    moved = g.op(mblt.TransposeOp, g.input(SHAPE), permutation=[0, 2, 1, 3])
    smaller = g.op(mblt.ResizeOp, moved, mode=mode, scales=[0.5, 0.5])
    larger = g.op(mblt.ResizeOp, smaller, mode=mode, scales=[4.0, 2.0])
    ops = quantized(g, g.op(mblt.SigmoidOp, larger))
    *bytes_, last = (op.results[0] for op in ops if not isinstance(op, quant.DequantizeOp))
    assert {encoding(g, value) for value in bytes_} == {("i8", np.float32(1 / 255), -128)}
    assert ParamTable(g.module).row_of(last) is not ParamTable(g.module).row_of(bytes_[0])


def test_resized_values_of_another_origin_have_their_own_encoding() -> None:
    g = MbltGraph()
    joined = g.op(mblt.ConcatOp, g.input(SHAPE), g.input(SHAPE), axis=3)
    ops = quantized(g, g.op(mblt.ResizeOp, joined, mode="linear", scales=[0.5, 0.5]))
    (resized,) = (op for op in ops if isinstance(op, quant.ResizeOp))
    assert [op.name for op in ops].count("quant.requantize") == 1
    assert encoding(g, resized.operands[0]) is None and encoding(g, resized.results[0]) is None
