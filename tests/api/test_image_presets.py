"""The presets of image models on directories of pictures, against the float network behind Pillow and OpenCV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime
import pytest
from PIL import Image

from qbc.runtime import load
from qbcompiler import CompileConfig, mxq_compile
from tests.support.image_networks import classifier, detector
from tests.support.photos import photos, save_photos

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CALIBRATED = 8  # pictures; the others are judged


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs of many sizes, one of them grey: the presets convert it."""
    directory = tmp_path_factory.mktemp("pictures")
    paths = save_photos(directory, CALIBRATED)
    with Image.open(paths[0]) as image:
        image.convert("L").save(paths[0])
    return directory


def compiled(preset: str, network: Path, pictures: Path, output: Path, **settings: Any) -> Any:
    mxq_compile(network, "aries-rb", pictures, output, device="cpu", config_preset=preset, **settings)
    program = load(output)
    assert [host.dtype for host in program.program.inputs] == ["u8"]
    return program


def float_results(network: Path, values: np.ndarray) -> list[np.ndarray]:
    planes = values.astype(np.float32).transpose(2, 0, 1)[None]
    results = onnxruntime.InferenceSession(network).run(None, {"image": planes})
    return [result.transpose(0, 2, 3, 1) if result.ndim == 4 else result for result in results]


def error_share(found: np.ndarray, want: np.ndarray) -> float:
    axes = tuple(range(1, want.ndim - 1))
    signal = want - want.mean(axis=axes, keepdims=True) if axes else want
    return float(((found - want) ** 2).mean() / (signal**2).mean())


def letterboxed(pixels: np.ndarray, size: int) -> np.ndarray:
    ratio = min(size / pixels.shape[0], size / pixels.shape[1])
    height, width = (round(length * ratio) for length in pixels.shape[:2])
    small = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_LINEAR)
    top, left = (size - height) // 2, (size - width) // 2
    sides = (top, size - height - top, left, size - width - left)
    return cv2.copyMakeBorder(small, *sides, cv2.BORDER_CONSTANT, value=(114, 114, 114))


def check_detector(program: Any, network: Path, size: int, indices: range) -> None:
    for index in indices:
        seen = letterboxed(photos()[index], size)
        results = program.run({"image": seen[None]})
        for (name, found), want in zip(results.items(), float_results(network, seen / 255), strict=True):
            assert error_share(found, want) < 1e-2, name


@pytest.mark.parametrize("preset", ["yolo_640", "yolo_1280"])
def test_detection_at_another_size(preset: str, pictures: Path, tmp_path: Path) -> None:
    """A pipeline of one's own takes the place of that of the preset; the rest of the preset stays."""
    network = detector(tmp_path / "net.onnx", (96, 96))
    own = {"pipeline": [{"op": "letterbox", "height": 96, "width": 96, "backend": "opencv"}]}
    program = compiled(preset, network, pictures, tmp_path / "a.mxq", preprocessing_config=own)
    check_detector(program, network, 96, range(12, 16))


@pytest.mark.parametrize("size", [640, 1280])
def test_detection_at_full_size(size: int, pictures: Path, tmp_path: Path) -> None:
    network = detector(tmp_path / "net.onnx", (size, size), strides=(4, 2, 2))
    program = compiled(f"yolo_{size}", network, pictures, tmp_path / "a.mxq")
    check_detector(program, network, size, range(12, 14))


@pytest.mark.parametrize(("size", "frame"), [(96, (108, 192)), (640, (720, 1280)), (640, (1920, 1080))])
def test_detection_with_the_letterbox_in_the_program(size: int, frame: tuple[int, int], tmp_path: Path) -> None:
    """The same network behind a camera of one size: only the pipeline changes."""
    network = detector(tmp_path / "net.onnx", (size, size), strides=(4, 2, 2))
    directory = tmp_path / "camera"
    directory.mkdir()
    frames = [np.asarray(Image.fromarray(pixels).resize(frame[::-1])) for pixels in photos()[:6]]
    for index, pixels in enumerate(frames[:4]):
        Image.fromarray(pixels).save(directory / f"{index}.png")
    fused = {"fuseIntoFirstLayer": True, "sourceHeight": frame[0], "sourceWidth": frame[1]}
    own = {"pipeline": [{"op": "letterbox", "height": size, "width": size, "backend": "opencv", **fused}]}
    program = compiled("yolo_640", network, directory, tmp_path / "a.mxq", preprocessing_config=own)
    for pixels in frames[4:]:
        results = program.run({"image": pixels[None]})
        seen = letterboxed(pixels, size)
        for (name, found), want in zip(results.items(), float_results(network, seen / 255), strict=True):
            assert error_share(found, want) < 1e-2, name


def test_classification_as_in_torchvision(pictures: Path, tmp_path: Path) -> None:
    network = classifier(tmp_path / "net.onnx", (224, 224))
    program = compiled("classification_torchvision", network, pictures, tmp_path / "a.mxq")
    for pixels in photos()[12:16]:
        image = Image.fromarray(pixels)
        short = min(image.size)
        image = image.resize(tuple(int(256 * length / short) for length in image.size), Image.BILINEAR)
        left, top = (round((length - 224) / 2) for length in image.size)
        crop = np.asarray(image.crop((left, top, left + 224, top + 224)))
        (want,) = float_results(network, (crop / 255 - MEAN) / STD)
        (found,) = program.run({"image": crop[None]}).values()
        assert found.argmax() == want.argmax() and error_share(found, want) < 1e-2


@pytest.mark.parametrize("preset", ["yolo_640", "yolo_1280", "classification_torchvision"])
def test_what_the_presets_say(preset: str) -> None:
    config = CompileConfig.from_preset(preset)
    assert config.uint8_input.apply and config.preprocessing.apply and config.preprocessing.auto_convert_format
    assert config.image_channels == 3
    first = config.preprocessing.pipeline[0]
    size = {"yolo_640": 640, "yolo_1280": 1280}.get(preset)
    if size is None:
        assert (first.op, first.size, first.backend) == ("resize", 256, "pil")
    else:
        assert (first.op, first.height, first.width, first.pad_value, first.backend) == (
            ("letterbox", size, size, 114, "opencv")
        )
