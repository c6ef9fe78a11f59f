"""The image pipeline against Pillow, OpenCV and torch, each called the way its own users call it."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from PIL import Image
from pydantic import ValidationError

from qbc.calibration.preprocessing import make_pipeline, make_preprocessing
from qbc.config.preprocessing import PreprocessingConfig
from qbc.config.section import ConfigWarning
from qbc.errors import QBCompilerError
from qbc.letterbox import placement, shrink_factor
from tests.support.photos import photos

PILLOW = {"bilinear": Image.BILINEAR, "nearest": Image.NEAREST, "bicubic": Image.BICUBIC}
OPENCV = {"bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "bicubic": cv2.INTER_CUBIC}
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


FUSED_LETTERBOX = {
    "op": "letterbox",
    "height": 40,
    "width": 40,
    "sourceHeight": 80,
    "sourceWidth": 80,
    "fuseIntoFirstLayer": True,
}


def run(array: np.ndarray, *operations: dict[str, Any]) -> np.ndarray:
    settings = PreprocessingConfig(apply=True, pipeline=list(operations)).model_dump()
    for step in make_pipeline(settings["pipeline"]).steps:
        array = step.apply(array)
    return array


def shortest_side(pixels: np.ndarray, size: int) -> tuple[int, int]:
    height, width = pixels.shape[:2]
    return (size, int(size * width / height)) if height <= width else (int(size * height / width), size)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("size", [None, 96])
def test_pillow(mode: str, size: int | None) -> None:
    for pixels in photos():
        height, width = (120, 88) if size is None else shortest_side(pixels, size)
        shape = {"height": 120, "width": 88} if size is None else {"size": size}
        want = np.asarray(Image.fromarray(pixels).resize((width, height), PILLOW[mode]))
        assert np.array_equal(run(pixels, {"op": "resize", "mode": mode, "backend": "pil", **shape}), want)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("size", [None, 96])
def test_opencv(mode: str, size: int | None) -> None:
    for pixels in photos():
        height, width = (120, 88) if size is None else shortest_side(pixels, size)
        shape = {"height": 120, "width": 88} if size is None else {"size": size}
        want = cv2.resize(pixels, (width, height), interpolation=OPENCV[mode])
        assert np.array_equal(run(pixels, {"op": "resize", "mode": mode, "backend": "opencv", **shape}), want)


@pytest.mark.parametrize(
    ("mode", "antialias", "align_corners"),
    [("nearest", False, False), *itertools.product(("bilinear", "bicubic"), (False, True), (False, True))],
)
def test_torch(mode: str, antialias: bool, align_corners: bool) -> None:
    options = {} if mode == "nearest" else {"antialias": antialias, "align_corners": align_corners}
    for pixels in photos():
        planes = torch.from_numpy(pixels).permute(2, 0, 1)[None].float()
        exact = torch.nn.functional.interpolate(planes, size=(120, 88), mode=mode, **options)[0].permute(1, 2, 0)
        keys = {} if mode == "nearest" else {"antialias": antialias, "alignCorners": align_corners}
        operation = {"op": "resize", "height": 120, "width": 88, "mode": mode, **keys}
        assert np.array_equal(run(pixels.astype(np.float32), operation), exact.numpy())
        rounded = exact.round().clamp(0, 255).to(torch.uint8)
        assert np.array_equal(run(pixels, operation), rounded.numpy())


def torchvision_transforms() -> Any:
    """Return `torchvision.transforms`, which is plain Python.

    The package itself loads compiled operators, and those of the released wheel only fit the CUDA build of PyTorch.
    """
    package = importlib.util.find_spec("torchvision")
    assert package is not None, "torchvision is part of the development install"
    sys.modules.setdefault("torchvision", importlib.util.module_from_spec(package))
    return importlib.import_module("torchvision.transforms")


def test_torchvision_transforms() -> None:
    transforms = torchvision_transforms()
    whole = transforms.Compose(
        [transforms.Resize(96), transforms.CenterCrop(87), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    )
    for pixels in photos():
        want = whole(Image.fromarray(pixels)).permute(1, 2, 0).numpy()
        assert np.array_equal(run(pixels, *classification(96, 87)), want)


def classification(size: int, crop: int) -> list[dict[str, Any]]:
    return [
        {"op": "resize", "size": size, "mode": "bilinear", "backend": "pil"},
        {"op": "centerCrop", "height": crop, "width": crop},
        {"op": "normalize", "mean": MEAN, "std": STD, "scaleToUint8": True},
    ]


def test_classification_by_hand() -> None:
    for pixels in photos():
        height, width = shortest_side(pixels, 96)
        image = Image.fromarray(pixels).resize((width, height), Image.BILINEAR)
        top, left = round((height - 87) / 2), round((width - 87) / 2)
        cropped = torch.from_numpy(np.array(image.crop((left, top, left + 87, top + 87))))
        want = cropped.float().div(255).sub(torch.tensor(MEAN)).div(torch.tensor(STD))
        assert np.array_equal(run(pixels, *classification(96, 87)), want.numpy())


@pytest.mark.parametrize(("height", "width"), [(64, 64), (160, 96)])
def test_letterbox(height: int, width: int) -> None:
    for pixels in photos():
        ratio = min(height / pixels.shape[0], width / pixels.shape[1])
        inner_w, inner_h = round(pixels.shape[1] * ratio), round(pixels.shape[0] * ratio)
        small = cv2.resize(pixels, (inner_w, inner_h), interpolation=cv2.INTER_LINEAR)
        half_h, half_w = (height - inner_h) / 2, (width - inner_w) / 2
        sides = [round(half_h - 0.1), round(half_h + 0.1), round(half_w - 0.1), round(half_w + 0.1)]
        want = cv2.copyMakeBorder(small, *sides, cv2.BORDER_CONSTANT, value=(114, 114, 114))
        operation = {"op": "letterbox", "height": height, "width": width, "backend": "opencv"}
        assert np.array_equal(run(pixels, operation), want)
        corner = run(pixels, {**operation, "alignType": 1, "padValue": 0})
        assert np.array_equal(corner[:inner_h, :inner_w], small) and not corner[inner_h:].any()


def test_grey_and_colour_order() -> None:
    pixels = photos()[0]
    grey = pixels[:, :, :1]
    for backend in ("torch", "pil", "opencv"):
        operation = {"op": "resize", "height": 50, "width": 70, "backend": backend}
        assert np.array_equal(run(grey, operation), run(np.repeat(grey, 3, axis=2), operation)[:, :, :1])
    assert np.array_equal(run(pixels, {"op": "colorConvert"}), cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
    for backend in ("torch", "pil", "opencv"):
        chain = [{"op": "colorConvert"}, {"op": "resize", "height": 9, "width": 9, "backend": backend}]
        assert np.array_equal(run(pixels, *chain), run(pixels, *chain[::-1]))


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"op": "rotate"}, ["rotate", "resize, centerCrop, letterbox, normalize, colorConvert"]),
        ({"size": 3}, ["unknown op None"]),
        ({"op": "resize", "hight": 3, "width": 3}, ["hight", "height, width, size, mode, alignCorners"]),
        ({"op": "resize", "height": 3}, ["height and width, or size"]),
        ({"op": "resize", "size": 3, "backend": "pil", "antialias": True}, ["antialias", "torch"]),
        ({"op": "resize", "size": 3, "backend": "opencv", "alignCorners": False}, ["alignCorners", "opencv"]),
        ({"op": "resize", "size": 3, "mode": "nearest", "antialias": True}, ["nearest"]),
        ({"op": "resize", "size": 0}, ["size"]),
        ({"op": "resize", "size": 3, "mode": "lanczos"}, ["bicubic"]),
        ({"op": "centerCrop", "height": 3}, ["width"]),
        ({**FUSED_LETTERBOX, "sourceWidth": None}, ["sourceHeight and sourceWidth"]),
        ({**FUSED_LETTERBOX, "backend": "pil"}, ["torch or opencv", "pil"]),
        ({**FUSED_LETTERBOX, "sourceWidth": 96}, ["whole factor", "80x96 to 33x40", "inside 40x40", "2.42424 and 2.4"]),
        ({**FUSED_LETTERBOX, "sourceHeight": 20, "sourceWidth": 20}, ["whole factor", "20x20 to 40x40", "0.5 and 0.5"]),
        ({**FUSED_LETTERBOX, "sourceHeight": 0}, ["letterbox", "greater than or equal to 1"]),
        ({"op": "normalize", "mean": [0, 0, 0], "std": [1, 1]}, ["3 values of mean"]),
        ({"op": "normalize", "std": [0.0]}, ["positive"]),
        ({"op": "colorConvert", "mode": "RGB2HSV"}, ["BGR2RGB"]),
    ],
)
def test_wrong_operations_name_what_is_accepted(operation: dict[str, Any], words: list[str]) -> None:
    with pytest.raises((ValidationError, QBCompilerError)) as caught:
        PreprocessingConfig(apply=True, pipeline=[operation])
    assert all(word in str(caught.value) for word in words)


def test_the_source_size_of_a_letterbox_is_noted() -> None:
    letterbox = {"op": "letterbox", "height": 40, "width": 40}
    with pytest.warns(ConfigWarning, match="no effect"):
        noted = run(photos()[0], {**letterbox, "sourceHeight": 80, "sourceWidth": 80})
    assert np.array_equal(noted, run(photos()[0], letterbox))


def test_only_what_is_not_fused_runs() -> None:
    fused = {"op": "normalize", "mean": MEAN, "std": STD, "scaleToUint8": True, "fuseIntoFirstLayer": True}
    assert np.array_equal(run(photos()[0], fused), photos()[0])
    assert np.array_equal(run(photos()[0], FUSED_LETTERBOX, fused), photos()[0])
    crop = {"op": "centerCrop", "height": 50, "width": 50}
    assert np.array_equal(run(photos()[0], crop, FUSED_LETTERBOX), run(photos()[0], crop))


NORMALIZE = {"op": "normalize"}
FUSED_NORMALIZE = {**NORMALIZE, "fuseIntoFirstLayer": True}


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        ([FUSED_NORMALIZE, {"op": "colorConvert"}], "normalize with fuseIntoFirstLayer is followed by colorConvert"),
        ([FUSED_LETTERBOX, NORMALIZE], "letterbox with fuseIntoFirstLayer is followed by normalize without"),
        ([FUSED_LETTERBOX, NORMALIZE, FUSED_NORMALIZE], "followed by normalize without"),
        ([FUSED_NORMALIZE, FUSED_LETTERBOX], "one letterbox, one normalize, or a letterbox and then a normalize"),
        ([FUSED_NORMALIZE, FUSED_NORMALIZE], "normalize, normalize"),
        ([FUSED_LETTERBOX, FUSED_LETTERBOX], "letterbox, letterbox"),
    ],
)
def test_the_program_comes_last(operations: list[dict[str, Any]], words: str) -> None:
    for section in ({"pipeline": operations}, {"inputConfigs": {"x": {"pipeline": operations}}}):
        with pytest.raises((ValidationError, QBCompilerError), match=words):
            PreprocessingConfig.model_validate(section)


@pytest.mark.parametrize("source", [(480, 640), (720, 1280), (1080, 1920), (1920, 1080), (2160, 3840), (640, 1)])
@pytest.mark.parametrize("centered", [True, False])
def test_geometry_of_a_letterbox(source: tuple[int, int], centered: bool) -> None:
    """Against exact ratios: the picture touches two sides, the rest is shared out."""
    target = (640, 640)
    place = placement(source, target, centered=centered)
    ratio = min(Fraction(640, source[0]), Fraction(640, source[1]))
    assert (place.height, place.width) == tuple(max(1, round(length * ratio)) for length in source)
    assert place.top + place.height + place.bottom == place.left + place.width + place.right == 640
    rests = ((place.top, place.bottom), (place.left, place.right))
    assert all(after - before in (0, 1) if centered else before == 0 for before, after in rests)
    is_whole = ratio.numerator == 1 and all(length % ratio.denominator == 0 for length in source)
    assert shrink_factor(source, target) == (ratio.denominator if is_whole else None)


def test_settings_round_trip() -> None:
    config = PreprocessingConfig(
        apply=True,
        auto_convert_format=True,
        pipeline=classification(96, 87),
        input_configs={"x": {"pipeline": [{"op": "letterbox", "height": 3, "width": 4}]}},
    )
    for aliases in (True, False):
        dumped = config.model_dump(by_alias=aliases, exclude_none=True)
        assert PreprocessingConfig.model_validate(dumped) == config
    assert config.model_dump(by_alias=True)["pipeline"][2]["scaleToUint8"] is True
    assert make_preprocessing(PreprocessingConfig(pipeline=[{"op": "colorConvert"}]).model_dump()).default is None


def test_without_opencv_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(QBCompilerError, match=r"qbcompiler\[images\]"):
        run(photos()[0], {"op": "resize", "size": 9, "backend": "opencv"})
