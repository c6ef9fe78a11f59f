"""Programs that letterbox their pictures themselves, against OpenCV and torch in front of the float network."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

from qbc.modes import MODE_NAMES
from qbc.runtime import load
from qbcompiler import QBCompilerError, mblt_compile, mxq_compile
from tests.support.image_networks import detector

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
UINT8 = {"apply": True, "divisionFactor": 255.0}
FUSED = {"fuseIntoFirstLayer": True}
NORMALIZE = {"op": "normalize", "mean": MEAN, "std": STD, "scaleToUint8": True, **FUSED}
# network, pictures: factors 1 to 4, borders above and below or left and right, odd rests
CASES = {
    "1": ((64, 96), (64, 80)),
    "2": ((64, 96), (90, 192)),
    "3": ((64, 96), (192, 201)),
    "4": ((64, 96), (132, 384)),
}


@cache
def photograph() -> np.ndarray:
    import skimage.data

    return np.ascontiguousarray(skimage.data.astronaut())


def pictures(directory: Path, size: tuple[int, int], count: int = 12) -> list[np.ndarray]:
    """Write parts of a photograph as files of a size, and return two others."""
    rng = np.random.default_rng(1)
    parts = []
    for _ in range(count + 2):
        top, left = (int(rng.integers(0, whole - part + 1)) for whole, part in zip((512, 512), size, strict=True))
        parts.append(photograph()[top : top + size[0], left : left + size[1]])
    directory.mkdir()
    for index, pixels in enumerate(parts[2:]):
        Image.fromarray(pixels).save(directory / f"{index}.png")
    return parts[:2]


def letterboxed(pixels: np.ndarray, target: tuple[int, int], backend: str, centered: bool) -> np.ndarray:
    ratio = min(target[0] / pixels.shape[0], target[1] / pixels.shape[1])
    height, width = (round(length * ratio) for length in pixels.shape[:2])
    if backend == "opencv":
        small = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_LINEAR)
    else:
        planes = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None].float()
        exact = torch.nn.functional.interpolate(planes, size=(height, width), mode="bilinear")[0].permute(1, 2, 0)
        small = exact.round().to(torch.uint8).numpy()
    top, left = ((target[0] - height) // 2, (target[1] - width) // 2) if centered else (0, 0)
    sides = (top, target[0] - height - top, left, target[1] - width - left)
    return cv2.copyMakeBorder(small, *sides, cv2.BORDER_CONSTANT, value=(114, 114, 114))


def wanted(network: Path, seen: np.ndarray, normalized: bool) -> dict[str, np.ndarray]:
    values = (seen / 255 - MEAN) / STD if normalized else seen / 255
    session = onnxruntime.InferenceSession(network)
    results = session.run(None, {"image": values.astype(np.float32).transpose(2, 0, 1)[None]})
    names = [output.name for output in session.get_outputs()]
    return {name: result.transpose(0, 2, 3, 1) for name, result in zip(names, results, strict=True)}


def operation(case: str, backend: str = "opencv", **options: Any) -> dict[str, Any]:
    (height, width), (source_height, source_width) = CASES[case]
    source = {"sourceHeight": source_height, "sourceWidth": source_width}
    return {"op": "letterbox", "height": height, "width": width, "backend": backend, **source, **FUSED, **options}


def compiled(network: Path, output: Path, data: Any, *pipeline: dict[str, Any], **options: Any) -> Any:
    section = {"apply": True, "pipeline": list(pipeline)}
    settings = {"uint8_input_config": UINT8, "preprocessing_config": section, **options}
    mxq_compile(network, "aries-rb", data, output, device="cpu", **settings)
    return load(output)


def seen_by_the_network(program: Any, pixels: np.ndarray, target: tuple[int, int]) -> np.ndarray:
    """Return the bytes that the last command of the letterbox writes, the first one with the size of the network."""
    results: dict[int, np.ndarray] = {}
    program.run({"image": pixels[None]}, observe=lambda number, _, stored: results.update({number: stored.copy()}))
    shapes = [command.output.shape for command in program.program.commands]
    return results[shapes.index((1, *target, 3))][0]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("backend", ["torch", "opencv"])
@pytest.mark.parametrize("align", [0, 1])
def test_pixels_and_results(case: str, backend: str, align: int, tmp_path: Path) -> None:
    target, source = CASES[case]
    network = detector(tmp_path / "net.onnx", target)
    others = pictures(tmp_path / "pictures", source)
    normalized = align == 0
    pipeline = [operation(case, backend, alignType=align), *([NORMALIZE] if normalized else [])]
    program = compiled(network, tmp_path / "a.mxq", tmp_path / "pictures", *pipeline)
    host = program.program.inputs[0]
    assert host.dtype == "u8" and host.operand.shape == (1, *source, 3)
    for pixels in others:
        want = letterboxed(pixels, target, backend, align == 0)
        found = seen_by_the_network(program, pixels, target)
        difference = np.abs(found.astype(int) - want)
        assert difference.max() <= (1 if backend == "torch" and case in "24" else 0)  # torch rounds halves to even
        results = program.run({"image": pixels[None]})
        for name, expected in wanted(network, want, normalized).items():
            close(results[name], expected, target, source, align == 0)


def close(
    found: np.ndarray, want: np.ndarray, target: tuple[int, int], source: tuple[int, int], centered: bool
) -> None:
    """Compare results: error power inside the picture and on its border separately."""
    ratio = min(target[0] / source[0], target[1] / source[1])
    inner = np.zeros(target, bool)
    height, width = (round(length * ratio) for length in source)
    top, left = ((target[0] - height) // 2, (target[1] - width) // 2) if centered else (0, 0)
    inner[top : top + height, left : left + width] = True
    cells = inner[::8, ::8]
    power = ((want - want.mean(axis=(1, 2), keepdims=True)) ** 2).mean()
    for part in (cells, ~cells):
        assert ((found[:, part] - want[:, part]) ** 2).mean() < 1e-2 * power


def test_both_routes_and_array_samples(tmp_path: Path) -> None:
    target, source = CASES["2"]
    network = detector(tmp_path / "net.onnx", target)
    (pixels, _) = pictures(tmp_path / "pictures", source)
    compiled(network, tmp_path / "a.mxq", tmp_path / "pictures", operation("2"), NORMALIZE)
    mblt_compile(network, tmp_path / "net.mblt", device="cpu")
    compiled(tmp_path / "net.mblt", tmp_path / "b.mxq", tmp_path / "pictures", operation("2"), NORMALIZE)
    assert (tmp_path / "a.mxq").read_bytes() == (tmp_path / "b.mxq").read_bytes()
    arrays = [np.asarray(Image.open(path)) for path in sorted((tmp_path / "pictures").iterdir())]
    by_arrays = compiled(network, tmp_path / "c.mxq", arrays, operation("2"), NORMALIZE)
    by_files = load(tmp_path / "a.mxq").run({"image": pixels[None]})
    for name, result in by_arrays.run({"image": pixels[None]}).items():
        assert np.array_equal(result, by_files[name])


def test_core_modes_agree(tmp_path: Path) -> None:
    target, source = CASES["2"]
    network = detector(tmp_path / "net.onnx", target)
    (pixels, _) = pictures(tmp_path / "pictures", source)
    section = {"apply": True, "pipeline": [operation("2"), NORMALIZE]}
    options = {"uint8_input_config": UINT8, "preprocessing_config": section, "inference_scheme": "all"}
    mxq_compile(network, "aries-rb", tmp_path / "pictures", tmp_path / "a.mxq", device="cpu", **options)
    results = [load(tmp_path / "a.mxq", mode=mode).run({"image": pixels[None]}) for mode in MODE_NAMES]
    for name, want in results[0].items():
        assert len(results) == 4 and all(np.array_equal(found[name], want) for found in results)


def test_float_pixels(tmp_path: Path) -> None:
    target, source = CASES["2"]
    network = detector(tmp_path / "net.onnx", target)
    (pixels, _) = pictures(tmp_path / "pictures", source)
    options = {"uint8_input_config": None}
    program = compiled(network, tmp_path / "a.mxq", tmp_path / "pictures", operation("2"), NORMALIZE, **options)
    results = program.run({"image": pixels[None].astype(np.float32)})
    for name, want in wanted(network, letterboxed(pixels, target, "opencv", True), True).items():
        close(results[name], want, target, source, True)


def test_operations_before_stay_in_the_application(tmp_path: Path) -> None:
    target, source = CASES["2"]
    network = detector(tmp_path / "net.onnx", target)
    (pixels, _) = pictures(tmp_path / "pictures", (100, 210))
    crop = {"op": "centerCrop", "height": source[0], "width": source[1]}
    swap = {"op": "colorConvert"}
    program = compiled(network, tmp_path / "a.mxq", tmp_path / "pictures", crop, swap, operation("2"), NORMALIZE)
    given = np.ascontiguousarray(pixels[5:95, 9:201, ::-1])
    results = program.run({"image": given[None]})
    for name, want in wanted(network, letterboxed(given, target, "opencv", True), True).items():
        close(results[name], want, target, source, True)


@pytest.mark.parametrize("is_grey", [False, True])
def test_open_sizes_are_those_of_the_network(is_grey: bool, tmp_path: Path) -> None:
    """They follow from the first picture, behind the letterbox and with the channels that it gets."""
    target, source = CASES["2"]
    network = detector(tmp_path / "net.onnx", ("height", "width"))
    pictures(tmp_path / "pictures", source)
    if is_grey:
        first = tmp_path / "pictures" / "0.png"
        Image.open(first).convert("L").save(first)
    options = {
        "preprocessing_config": {"apply": True, "autoConvertFormat": True, "pipeline": [operation("2"), NORMALIZE]}
    }
    program = compiled(network, tmp_path / "a.mxq", tmp_path / "pictures", **options)
    fixed = detector(tmp_path / "fixed.onnx", target)
    want = compiled(fixed, tmp_path / "b.mxq", tmp_path / "pictures", **options)
    shapes = [[command.output.shape for command in found.program.commands] for found in (program, want)]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    ("size", "pipeline", "words"),
    [
        ((90, 191), [operation("2")], ["0.png", "90x191", "90x192", "sourceHeight"]),
        ((64, 96), [operation("2"), NORMALIZE], ["0.png", "64x96", "90x192"]),
        ((90, 192), [{**operation("2"), "height": 32, "width": 48, "sourceHeight": 32}], ["32x48", "64x96"]),
        ((90, 192), [operation("2"), {"op": "colorConvert"}], ["letterbox", "followed by colorConvert"]),
        ((90, 192), [{**operation("2"), "sourceWidth": 191}], ["whole factor", "90x191", "2"]),
        ((90, 192), [{**operation("2"), "backend": "pil"}], ["torch or opencv"]),
    ],
)
def test_mistakes(size: tuple[int, int], pipeline: list[dict[str, Any]], words: list[str], tmp_path: Path) -> None:
    network = detector(tmp_path / "net.onnx", CASES["2"][0])
    pictures(tmp_path / "pictures", size, 1)
    with pytest.raises(QBCompilerError) as caught:
        compiled(network, tmp_path / "a.mxq", tmp_path / "pictures", *pipeline)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not (tmp_path / "a.mxq").exists()


def test_arrays_of_the_wrong_size_are_told_about_the_letterbox(tmp_path: Path) -> None:
    network = detector(tmp_path / "net.onnx", CASES["2"][0])
    samples = [np.zeros((64, 96, 3), np.uint8)]
    with pytest.raises(QBCompilerError, match=r"\[1, 90, 192, 3\]") as caught:
        compiled(network, tmp_path / "a.mxq", samples, operation("2"))
    assert caught.value.hint is not None and "sourceHeight" in caught.value.hint
