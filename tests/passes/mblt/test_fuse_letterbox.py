"""Letterbox as part of the program: the float graph on source pictures equals OpenCV and torch in front of it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from qbc.dialects import mblt
from qbc.dialects.common.graph import LETTERBOXED
from qbc.dialects.mblt import shape_of
from qbc.errors import QBCompilerError
from qbc.execute.float_ort import FloatSession
from qbc.execute.float_torch import FloatProgram
from qbc.passes.mblt.mblt_fuse_letterbox import FuseLetterboxPass
from qbc.passes.mblt.mblt_fuse_normalize import FuseNormalizePass
from qbc.passes.mblt.mblt_uint8_inputs import Uint8InputsPass
from tests.support.mblt_graphs import MbltGraph, op_names
from tests.support.photos import photos

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# target, source: factors 1 to 7, rests above and below, left and right, even and odd
CASES = [
    ((8, 8), (8, 5)),
    ((8, 8), (16, 16)),
    ((9, 8), (10, 16)),
    ((8, 11), (16, 10)),
    ((7, 9), (21, 12)),
    ((6, 10), (9, 30)),
    ((12, 9), (20, 36)),
    ((5, 5), (25, 10)),
    ((5, 6), (24, 36)),
    ((4, 3), (7, 21)),
]


def by_opencv(pixels: np.ndarray, target: tuple[int, int], centered: bool) -> np.ndarray:
    height, width = pixels.shape[:2]
    ratio = min(target[0] / height, target[1] / width)
    small = cv2.resize(pixels, (round(width * ratio), round(height * ratio)), interpolation=cv2.INTER_LINEAR)
    return with_border(small, target, centered, cv2.BORDER_CONSTANT)


def with_border(small: np.ndarray, target: tuple[int, int], centered: bool, kind: int) -> np.ndarray:
    rest_h, rest_w = target[0] - small.shape[0], target[1] - small.shape[1]
    top, left = (rest_h // 2, rest_w // 2) if centered else (0, 0)
    return cv2.copyMakeBorder(small, top, rest_h - top, left, rest_w - left, kind, value=(114, 114, 114))


def by_torch(pixels: np.ndarray, target: tuple[int, int], centered: bool) -> np.ndarray:
    height, width = pixels.shape[:2]
    ratio = min(target[0] / height, target[1] / width)
    planes = torch.from_numpy(pixels).permute(2, 0, 1)[None].double()
    size = (round(height * ratio), round(width * ratio))
    small = torch.nn.functional.interpolate(planes, size=size, mode="bilinear", align_corners=False)
    return with_border(small[0].permute(1, 2, 0).numpy(), target, centered, cv2.BORDER_CONSTANT)


def fused(target: tuple[int, int], source: tuple[int, int], centered: bool = True, **options) -> FuseLetterboxPass:
    return FuseLetterboxPass(*target, *source, centered=centered, **options)


@pytest.mark.parametrize(("target", "source"), CASES)
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("factor", [None, 255.0])
def test_same_pixels(target: tuple[int, int], source: tuple[int, int], centered: bool, factor: float | None) -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.MulOp, g.input((1, *target, 3)), g.constant(np.full((1, 1, 1, 1), factor or 1.0))))
    if factor is not None:
        Uint8InputsPass(division_factor=factor).run(func, g.context)
    fused(target, source, centered).run(func, g.context)
    g.module.verify()
    assert shape_of(func.args[0]) == (1, *source, 3) and LETTERBOXED in func.arg_attrs.data[0].data
    pixels = g.random.integers(0, 256, (*source, 3), dtype=np.uint8)
    given = {"x0": (pixels[None] / (factor or 1)).astype(np.float32)}
    want = by_torch(pixels, target, centered)
    (found,) = FloatProgram(func, g.store, float_type="float64").run(given).values()
    assert np.allclose(found[0], want, rtol=0, atol=1e-4)
    ((_, by_onnx),) = FloatSession(func, g.store, []).run_outputs(given).items()
    assert np.allclose(by_onnx[0], want, rtol=0, atol=1e-2)
    assert np.array_equal(np.floor(want + 0.5), by_opencv(pixels, target, centered))


@pytest.mark.parametrize("source", [(720, 1280), (1920, 1080), (960, 2560), (640, 483)])
def test_photographs_of_cameras(source: tuple[int, int]) -> None:
    """At full size OpenCV takes its vectorized paths: equal bytes after rounding halves up, torch equal floats."""
    target = (640, 640)
    g = MbltGraph()
    func = g.finish(g.op(mblt.MulOp, g.input((1, *target, 3)), g.constant(np.ones((1, 1, 1, 1)))))
    fused(target, source).run(func, g.context)
    pixels = cv2.resize(photos()[4], source[::-1], interpolation=cv2.INTER_CUBIC)
    (found,) = FloatProgram(func, g.store).run({"x0": pixels[None].astype(np.float32)}).values()
    assert np.allclose(found[0], by_torch(pixels, target, True), rtol=0, atol=1e-3)
    assert np.array_equal(np.floor(found[0].astype(np.float64) + 0.5 + 1e-4), by_opencv(pixels, target, True))


@pytest.mark.parametrize("factor", [None, 255.0, 100.0])
def test_normalization_behind_it(factor: float | None) -> None:
    """The border is the padding value before the normalisation, and the padding of the convolution 0 behind it."""
    g = MbltGraph(5)
    image = g.input((1, 9, 8, 3))
    weights = {"kernel": [3, 3], "weight": g.weight(4, 3, 3, 3), "bias": g.weight(4)}
    func = g.finish(g.op(mblt.Conv2dOp, image, padding=[1, 1, 1, 1], **weights))
    pixels = g.random.integers(0, 256, (10, 16, 3), dtype=np.uint8)
    seen = (by_torch(pixels, (9, 8), True) / 255 - MEAN) / STD
    (want,) = FloatProgram(func, g.store, float_type="float64").run({"x0": seen[None].astype(np.float32)}).values()
    if factor is not None:
        Uint8InputsPass(division_factor=factor).run(func, g.context)
    FuseNormalizePass(MEAN, STD).run(func, g.context)
    fused((9, 8), (10, 16)).run(func, g.context)
    assert op_names(func) == ["resize", "pad", "pad", "conv2d"]
    given = (pixels[None] / (factor or 1)).astype(np.float32)
    (found,) = FloatProgram(func, g.store, float_type="float64").run({"x0": given}).values()
    assert np.allclose(found, want, rtol=1e-5, atol=2e-5)


def test_every_reader_gets_the_letterboxed_picture() -> None:
    g = MbltGraph()
    image = g.input((1, 4, 4, 1))
    func = g.finish(g.op(mblt.MulOp, image, image), image)
    fused((4, 4), (8, 4)).run(func, g.context)
    g.module.verify()
    pixels = np.arange(32, dtype=np.float32).reshape(1, 8, 4, 1)
    square, picture = FloatProgram(func, g.store).run({"x0": pixels}).values()
    want = by_torch(pixels[0].astype(np.uint8), (4, 4), True)
    assert np.array_equal(picture[0], want.reshape(4, 4, 1)) and np.array_equal(square, picture**2)


def test_names_choose_inputs() -> None:
    g = MbltGraph()
    func = g.finish(*(g.op(mblt.SigmoidOp, g.input(shape)) for shape in ((1, 4, 4, 3), (1, 4, 4, 3), (1, 5))))
    fused((4, 4), (8, 8), exclude=("x0",)).run(func, g.context)
    assert [shape_of(argument) for argument in func.args] == [(1, 4, 4, 3), (1, 8, 8, 3), (1, 5)]
    fused((4, 4), (12, 12), inputs=("x0",)).run(func, g.context)
    assert shape_of(func.args[0]) == (1, 12, 12, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inputs": ("x1",)}, "'x1' is no image"),
        ({"inputs": ("x2",)}, "'x2' is no image"),
        ({"inputs": ("x9",)}, "x9"),
        ({"exclude": ("x9",)}, "x9"),
        ({}, "4x4 pixels, input 'x0' has 6x4"),
    ],
)
def test_mistakes(options: dict[str, tuple[str, ...]], words: str) -> None:
    g = MbltGraph()
    image, vector, integers = g.input((1, 6, 4, 3)), g.input((1, 5)), g.input((1, 4, 4, 3), "int32")
    func = g.finish(g.op(mblt.SigmoidOp, image), vector, integers)
    with pytest.raises(QBCompilerError, match=words) as caught:
        fused((4, 4), (8, 8), **options).run(func, g.context)
    assert caught.value.code == "CONFIG_ERROR" and caught.value.hint


def test_a_model_without_images() -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.SigmoidOp, g.input((1, 5))))
    with pytest.raises(QBCompilerError, match="no image"):
        fused((4, 4), (8, 8)).run(func, g.context)


@pytest.mark.parametrize(
    ("target", "source"), [((4, 4), (6, 6)), ((8, 8), (4, 4)), ((640, 640), (1081, 1920)), ((4, 4), (8, 7))]
)
def test_factors_are_whole(target: tuple[int, int], source: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="whole factor"):
        fused(target, source)
