"""Image directories: order, forms, and one message for each bad file that names it and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from qbc.calibration import InputSpec, Preprocessing, make_preprocessing, open_samples
from qbc.config.preprocessing import PreprocessingConfig
from qbc.errors import QBCompilerError
from tests.support.photos import photos, save_photos

RGB = InputSpec("x", (1, 32, 40, 3), "float32", "nchw")
GREY = InputSpec("x", (1, 32, 40, 1), "float32", "nchw")
RESIZE = {"op": "resize", "height": 32, "width": 40, "backend": "pil"}


def pipeline(*operations: dict[str, Any], channels: int = 0, convert: bool = False) -> Preprocessing:
    section = PreprocessingConfig(apply=True, auto_convert_format=convert, pipeline=list(operations) or [RESIZE])
    return make_preprocessing(section.model_dump(), channels)


def samples(path: Path, spec: InputSpec = RGB, images: Preprocessing | None = None) -> list[np.ndarray]:
    return [sample["x"] for sample in open_samples(path, [spec], preprocessing=images or pipeline())]


def refused(path: Path, *words: str, spec: InputSpec = RGB, images: Preprocessing | None = None) -> QBCompilerError:
    with pytest.raises(QBCompilerError) as caught:
        samples(path, spec, images)
    assert caught.value.hint and all(word in str(caught.value) for word in words), str(caught.value)
    assert caught.value.code in ("INVALID_CALIBRATION_DATA", "NO_CALIBRATION_DATA")
    return caught.value


def test_images_are_sorted_and_preprocessed(tmp_path: Path) -> None:
    save_photos(tmp_path, 5)
    found = samples(tmp_path)
    for array, pixels in zip(found, photos(), strict=False):
        want = np.asarray(Image.fromarray(pixels).resize((40, 32), Image.BILINEAR), dtype=np.float32)
        assert array.shape == (1, 32, 40, 3) and np.array_equal(array[0], want)
    assert len(found) == 5 and len(samples(tmp_path / "003.png")) == 1


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".bmp", ".webp", ".tif", ".gif", ".PNG", ".jpeg"])
def test_every_format_is_read_as_pillow_reads_it(tmp_path: Path, suffix: str) -> None:
    (path,) = save_photos(tmp_path, 1, suffix)
    with Image.open(path) as image:
        want = np.asarray(image.convert("RGB").resize((40, 32), Image.BILINEAR), dtype=np.float32)
    assert np.array_equal(samples(tmp_path)[0][0], want)


def test_normalized_pipeline_gives_floats(tmp_path: Path) -> None:
    save_photos(tmp_path, 2)
    normalize = {"op": "normalize", "mean": [0.5], "std": [0.25], "scaleToUint8": True}
    for plain, scaled in zip(samples(tmp_path), samples(tmp_path, images=pipeline(RESIZE, normalize)), strict=True):
        assert np.allclose(scaled, (plain / 255 - 0.5) / 0.25, atol=1e-6)


def test_grey_image(tmp_path: Path) -> None:
    Image.fromarray(photos()[0][:, :, 0]).save(tmp_path / "grey.png")
    refused(tmp_path, "grey.png", "image_channels to 3")
    for images in (pipeline(channels=3), pipeline(convert=True)):
        (array,) = samples(tmp_path, images=images)
        assert np.array_equal(array[..., 0], array[..., 2])
    assert samples(tmp_path, GREY)[0].shape == (1, 32, 40, 1)


def test_colour_image_for_a_grey_input(tmp_path: Path) -> None:
    save_photos(tmp_path, 1)
    refused(tmp_path, "000.png", "image_channels to 1", spec=GREY)
    want = np.asarray(Image.fromarray(photos()[0]).convert("L").resize((40, 32), Image.BILINEAR))
    assert np.array_equal(samples(tmp_path, GREY, pipeline(channels=1))[0][0, :, :, 0], want)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_alpha_channel(tmp_path: Path, mode: str) -> None:
    image = Image.fromarray(photos()[0]).convert("L" if mode == "LA" else "RGB")
    if mode == "PA":
        image = image.quantize(16)
        image.info["transparency"] = 3
        image.save(tmp_path / "a.png", transparency=3)
    else:
        image.putalpha(77)
        image.save(tmp_path / "a.png")
    refused(tmp_path, "a.png", "alpha", "image_channels")
    notices: list[str] = []
    source = open_samples(tmp_path, [RGB], notices.append, pipeline(channels=3))
    assert len(list(source)) == 1 and any("alpha" in notice for notice in notices)


def test_more_than_eight_bits(tmp_path: Path) -> None:
    Image.fromarray(photos()[0][:, :, 0].astype(np.uint16) * 257).save(tmp_path / "deep.png")
    refused(tmp_path, "deep.png", "8 bits")
    refused(tmp_path, "deep.png", "8 bits", images=pipeline(channels=3))


@pytest.mark.parametrize("name", ["deep.png", "deep.tif"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_more_than_eight_bits_in_colour(tmp_path: Path, name: str, channels: int) -> None:
    """Pillow would cut these to eight bits without a word."""
    pixels = np.random.default_rng(0).integers(0, 1 << 16, (9, 8, channels), dtype=np.uint16)
    assert cv2.imwrite(str(tmp_path / name), pixels)
    for images in (pipeline(), pipeline(channels=3), pipeline(convert=True)):
        refused(tmp_path, name, "more than 8 bits", images=images)


def test_more_than_eight_bits_in_portable_pixmaps(tmp_path: Path) -> None:
    (tmp_path / "deep.ppm").write_bytes(b"P6 2 2 65535\n" + bytes(24))
    refused(tmp_path, "deep.ppm", "more than 8 bits")
    (tmp_path / "deep.ppm").write_bytes(b"P6 2 2 255\n" + bytes(12))
    assert len(samples(tmp_path)) == 1


def test_broken_and_foreign_files(tmp_path: Path) -> None:
    (path,) = save_photos(tmp_path, 1, ".jpg")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(tmp_path, "000.jpg", "broken")
    path.write_bytes(b"hello")
    refused(tmp_path, "000.jpg", "not an image")
    path.write_bytes(b"")
    refused(tmp_path, "000.jpg", "not an image")
    path.write_bytes(whole)
    (tmp_path / "notes.txt").write_text("hello")
    refused(tmp_path, "notes.txt", "move the file")
    (tmp_path / "notes.txt").unlink()
    np.save(tmp_path / "a.npy", np.zeros((32, 40, 3), np.float32))
    refused(tmp_path, "both", "a.npy", "000.jpg")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_mutated_images_never_escape(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for suffix in (".jpg", ".png", ".webp", ".gif", ".tif", ".bmp"):
        (path,) = save_photos(tmp_path, 1, suffix)
        original = path.read_bytes()
        for _ in range(25):
            data = bytearray(original)
            for position in rng.integers(0, min(len(data), 400), 4):
                data[position] ^= int(rng.integers(1, 256))
            path.write_bytes(bytes(data))
            try:
                samples(path)
            except QBCompilerError as error:
                assert error.code == "INVALID_CALIBRATION_DATA" and path.name in error.message
        path.unlink()


def test_directories(tmp_path: Path) -> None:
    refused(tmp_path, "no image or array file")
    (tmp_path / "class0").mkdir()
    refused(tmp_path, "class0")
    save_photos(tmp_path, 1)
    notices: list[str] = []
    assert len(open_samples(tmp_path, [RGB], notices.append, pipeline())) == 1
    assert any("class0" in notice for notice in notices)
    with pytest.raises(QBCompilerError, match="single-input"):
        open_samples(tmp_path, [RGB, GREY], preprocessing=pipeline())


def test_images_without_a_pipeline(tmp_path: Path) -> None:
    save_photos(tmp_path, 1)
    refused(tmp_path, "000.png", "preprocessing", images=Preprocessing())
    pixels = photos()[0]
    exact = InputSpec("x", (1, *pixels.shape), "float32", None, division_factor=255.0)
    assert np.array_equal(samples(tmp_path, exact, Preprocessing())[0][0], pixels.astype(np.float32) / 255)


def test_pipeline_that_does_not_fit_the_input(tmp_path: Path) -> None:
    save_photos(tmp_path, 1)
    sizes = "height 32 and width 40"
    cases: list[tuple[list[dict[str, Any]], str]] = [
        (
            [{**RESIZE, "height": 40, "width": 32}],
            "makes 40x32 pixels of the image, input 'x' takes 32x40 (set resize of",
        ),
        ([{"op": "letterbox", "height": 64, "width": 64}], f"set letterbox of the preprocessing pipeline to {sizes}"),
        ([{**RESIZE, "height": 64, "width": 64}, {"op": "centerCrop", "height": 48, "width": 48}], "set centerCrop of"),
        ([{"op": "resize", "size": 64}], f"put a centerCrop to {sizes} behind the resize"),
        ([{"op": "colorConvert"}], f"put a resize or letterbox to {sizes} into"),
    ]
    for operations, words in cases:
        error = refused(tmp_path, "000.png", words, images=pipeline(*operations))
        assert sizes in str(error.hint)
    bytes_ = InputSpec("x", (1, 32, 40, 3), "float32", "nchw", division_factor=255.0)
    refused(tmp_path, "the image has", f"put a resize or letterbox to {sizes}", spec=bytes_, images=Preprocessing())
    for large in ({"op": "resize", "size": 65536}, {"op": "letterbox", "height": 65536, "width": 65536}):
        refused(tmp_path, "000.png", "too large", images=pipeline(large))
    refused(tmp_path, "000.png", "centerCrop", images=pipeline({"op": "centerCrop", "height": 5000, "width": 5}))
    two = {"op": "normalize", "mean": [0, 0], "std": [1, 1]}
    refused(tmp_path, "000.png", "2 values of mean", images=pipeline(RESIZE, two))


def test_uint8_inputs_want_pixels(tmp_path: Path) -> None:
    spec = InputSpec("x", (1, 32, 40, 3), "float32", "nchw", division_factor=255.0)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (32, 40, 3), dtype=np.uint8)
    for good in (pixels, pixels.astype(np.int64), pixels.transpose(2, 0, 1)):
        (sample,) = open_samples([good], [spec])
        assert np.array_equal(sample["x"][0], pixels.astype(np.float32) / np.float32(255))
    for bad, words in (
        (pixels.astype(np.float32), "save as uint8"),
        (pixels / 255.0, "multiply by 255"),
        (pixels / 127.5 - 1, "127.5"),
        (pixels / 50.0 - 2, "before normalisation"),
        (pixels.astype(np.int32) - 1, "uint8"),
    ):
        np.save(tmp_path / "a.npy", bad)
        refused(tmp_path, "a.npy", words, spec=spec)
    normalize = {"op": "normalize", "mean": [0.5], "std": [0.25], "scaleToUint8": True}
    (tmp_path / "a.npy").unlink()
    save_photos(tmp_path, 1)
    images = pipeline(RESIZE, normalize)
    refused(tmp_path, "000.png", "before normalisation", "fuseIntoFirstLayer", spec=spec, images=images)


def test_inputs_that_the_program_normalizes(tmp_path: Path) -> None:
    spec = InputSpec("x", (1, 32, 40, 3), "float32", "nchw", is_raw=True)
    np.save(tmp_path / "a.npy", np.full((32, 40, 3), -1, np.float32))
    refused(tmp_path, "a.npy", "normalises", spec=spec)
    notices: list[str] = []
    list(open_samples([np.full((32, 40, 3), 0.5, np.float32)], [spec], notices.append))
    assert any("0..255" in notice for notice in notices)
