"""Uint8 inputs and normalisation as part of the program: same values as the float graph on normalised images."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from qbc.dialects import mblt
from qbc.dialects.common.graph import NORMALIZED, division_factor
from qbc.errors import QBCompilerError
from qbc.execute.float_ort import FloatSession
from qbc.execute.float_torch import FloatProgram
from qbc.passes.mblt.mblt_fuse_normalize import FuseNormalizePass
from qbc.passes.mblt.mblt_uint8_inputs import Uint8InputsPass
from tests.support.mblt_graphs import MbltGraph, op_names

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGE = (1, 9, 7, 3)


def conv(g: MbltGraph, x, out: int = 4, padding=(1, 1, 1, 1), groups: int = 1, **options):
    properties = {"kernel": [3, 3], "weight": g.weight(out, 3, 3, 3 // groups), "bias": g.weight(out), "groups": groups}
    return g.op(mblt.Conv2dOp, x, padding=list(padding), **{**properties, **options})


GRAPHS = {
    "padded": lambda g, x: conv(g, x),
    "one side": lambda g, x: conv(g, x, padding=(0, 0, 1, 1), strides=[2, 2]),
    "no padding": lambda g, x: conv(g, x, padding=(0, 0, 0, 0)),
    "depthwise, no bias": lambda g, x: conv(g, x, 6, groups=3, bias=None),
    "two readers": lambda g, x: g.op(mblt.AddOp, conv(g, x), conv(g, x, dilations=[2, 2], padding=(2, 2, 2, 2))),
    "relu": lambda g, x: conv(g, x, activation="relu"),
    "not foldable": lambda g, x: g.op(mblt.AddOp, g.op(mblt.SigmoidOp, x), conv(g, x, 3)),
    "used twice": lambda g, x: g.op(mblt.MulOp, x, x),
}


def normalized(pixels: np.ndarray) -> np.ndarray:
    return (pixels / 255 - np.array(MEAN)) / np.array(STD)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("factor", [None, 255.0, 127.0])
def test_same_values(graph: str, factor: float | None) -> None:
    g = MbltGraph(3)
    func = g.finish(GRAPHS[graph](g, g.input(IMAGE)))
    pixels = g.random.integers(0, 256, IMAGE).astype(np.float64)
    want = FloatProgram(func, g.store, float_type="float64").run({"x0": normalized(pixels).astype(np.float32)})["y0"]
    if factor is not None:
        Uint8InputsPass(division_factor=factor).run(func, g.context)
    FuseNormalizePass(MEAN, STD).run(func, g.context)
    g.module.verify()
    assert division_factor(func, 0) == factor and NORMALIZED in func.arg_attrs.data[0].data
    given = {"x0": (pixels / (factor or 1)).astype(np.float32)}
    found = FloatProgram(func, g.store, float_type="float64").run(given)["y0"]
    assert np.allclose(found, want, rtol=1e-5, atol=2e-5)
    ((_, by_onnx),) = FloatSession(func, g.store, []).run_outputs(given).items()
    assert np.allclose(by_onnx, want, rtol=1e-3, atol=1e-3)
    is_separate = graph in ("not foldable", "used twice")
    assert any("separate step" in notice for notice in g.context.notices) == is_separate
    assert ("add" in op_names(func)) == (is_separate or graph == "two readers")


@pytest.mark.parametrize(("factor", "is_told"), [(128.0, True), (255.0, False), (1.0, False), (None, False)])
def test_a_division_that_cancels_out_is_told(factor: float | None, is_told: bool) -> None:
    g = MbltGraph()
    func = g.finish(conv(g, g.input(IMAGE)))
    if factor is not None:
        Uint8InputsPass(division_factor=factor).run(func, g.context)
    FuseNormalizePass((0.5,), STD).run(func, g.context)
    expected = "divisionFactor 128 has no effect on input 'x0': normalize with fuseIntoFirstLayer takes the bytes"
    assert [notice.startswith(expected) for notice in g.context.notices] == [True] * is_told


@pytest.mark.parametrize(
    ("mean", "padding", "factor", "is_told"),
    [
        (0.5, 1, 255.0, False),
        (-0.1, 1, 255.0, True),
        (1.1, 1, 255.0, True),
        (1.1, 0, 255.0, False),
        (1.1, 1, None, False),
    ],
)
def test_a_border_that_is_no_byte_is_told(mean: float, padding: int, factor: float | None, is_told: bool) -> None:
    g = MbltGraph()
    func = g.finish(conv(g, g.input(IMAGE), padding=(padding,) * 4))
    if factor is not None:
        Uint8InputsPass(division_factor=factor).run(func, g.context)
    FuseNormalizePass((mean,), STD).run(func, g.context)
    assert [f"{255 * mean:g}" in notice and "'x0'" in notice for notice in g.context.notices] == [True] * is_told


def test_linear() -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.LinearOp, g.input((1, 5)), weight=g.weight(2, 5), bias=g.weight(2)))
    FuseNormalizePass((0.5,), (0.25,), 1.0, inputs=("x0",)).run(func, g.context)
    assert op_names(func) == ["linear"]


def test_only_images_without_names() -> None:
    g = MbltGraph()
    image, vector, tokens = g.input(IMAGE), g.input((1, 5)), g.input((1, 2, 2), "int32")
    func = g.finish(conv(g, image), conv(g, g.input(IMAGE)), vector, tokens)
    FuseNormalizePass(MEAN, STD, exclude=("x3",)).run(func, g.context)
    assert [NORMALIZED in attributes.data for attributes in func.arg_attrs.data] == [True, False, False, False]
    for wrong in (FuseNormalizePass(inputs=("x2",)), FuseNormalizePass(exclude=("x9",))):
        with pytest.raises(QBCompilerError, match="x9|floats"):
            wrong.run(func, g.context)


def test_only_named_inputs() -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.AddOp, conv(g, g.input(IMAGE)), conv(g, g.input(IMAGE))))
    Uint8InputsPass(("x1",)).run(func, g.context)
    FuseNormalizePass(MEAN, STD, inputs=("x1",)).run(func, g.context)
    assert division_factor(func, 0) is None and division_factor(func, 1) == 255.0
    assert op_names(func) == ["conv2d", "pad", "conv2d", "add"]


def test_mistakes() -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.AddOp, g.input(IMAGE), g.input(IMAGE)), g.input((1, 2), "int32"))
    for wrong in (Uint8InputsPass(("x9",)), Uint8InputsPass(("x2",)), FuseNormalizePass((1.0, 2.0), (1.0,))):
        with pytest.raises(QBCompilerError) as caught:
            wrong.run(func, g.context)
        assert caught.value.code == "CONFIG_ERROR" and caught.value.hint
    Uint8InputsPass().run(func, g.context)
    assert [division_factor(func, index) for index in range(3)] == [255.0, 255.0, None]


@pytest.mark.parametrize("wrong", ["channel padding", "length", "mode"])
def test_padding_values_are_checked(wrong: str) -> None:
    g = MbltGraph()
    sides = [0, 1, 1, 1] if wrong == "channel padding" else [0, 1, 1, 0]
    values = g.blob(np.zeros(2 if wrong == "length" else 3, np.float32))
    mode = "edge" if wrong == "mode" else "constant"
    with pytest.raises(VerifyException):
        mblt.PadOp.of(g.input(IMAGE), before=sides, after=sides, values=values, mode=mode).verify()
