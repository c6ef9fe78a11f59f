"""Twenty pictures of many sizes, cut from photographs that scikit-image installs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

NAMES = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")


@cache
def photos() -> tuple[np.ndarray, ...]:
    """Return twenty RGB arrays of different heights and widths."""
    import skimage.data
    from PIL import Image

    directory = Path(skimage.data.__file__).parent
    rng = np.random.default_rng(7)
    found = []
    for index in range(20):
        with Image.open(directory / NAMES[index % len(NAMES)]) as image:
            pixels = np.asarray(image.convert("RGB"))
        height, width = (int(rng.integers(60, limit + 1)) for limit in pixels.shape[:2])
        top, left = (
            int(rng.integers(0, pixels.shape[0] - height + 1)),
            int(rng.integers(0, pixels.shape[1] - width + 1)),
        )
        found.append(np.ascontiguousarray(pixels[top : top + height, left : left + width]))
    return tuple(found)


def save_photos(directory: Path, count: int = 20, suffix: str = ".png") -> list[Path]:
    """Write the first pictures as files; returns their paths in order."""
    from PIL import Image

    paths = [directory / f"{index:03}{suffix}" for index in range(count)]
    for path, pixels in zip(paths, photos(), strict=False):
        Image.fromarray(pixels).save(path)
    return paths
