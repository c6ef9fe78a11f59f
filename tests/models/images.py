"""Real images for the networks: labelled ones of a package, and seeded crops of public photographs."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image

from tests.models.fetch import fetch_package

SKIMAGE_PHOTOS = ("astronaut", "chelsea", "coffee", "rocket")


def labelled(dataset: str) -> list[tuple[np.ndarray, int]]:
    """The 20 labelled RGB images of `imagenet` or `cifar10` in the foolbox package."""
    root = fetch_package("foolbox", "3.3.4") / "foolbox" / "data"
    pairs = []
    for path in sorted(root.glob(f"{dataset}_*.*")):
        pairs.append((np.asarray(Image.open(path).convert("RGB")), int(path.stem.split("_")[-1])))
    return pairs


@cache
def photographs() -> tuple[Image.Image, ...]:
    """RGB photographs of scikit-learn, scikit-image and the ImageNet images of foolbox."""
    import skimage.data
    from sklearn.datasets import load_sample_images

    arrays = [*load_sample_images().images, *(getattr(skimage.data, name)() for name in SKIMAGE_PHOTOS)]
    return tuple(
        Image.fromarray(np.ascontiguousarray(a[..., :3])) for a in [*arrays, *(i for i, _ in labelled("imagenet"))]
    )


def crops(count: int, size: int, seed: int) -> np.ndarray:
    """`count` seeded square crops resized to `size`: uint8 [count, size, size, 3]."""
    rng = np.random.default_rng(seed)
    out = np.empty((count, size, size, 3), np.uint8)
    for index in range(count):
        photo = photographs()[int(rng.integers(len(photographs())))]
        side = int(min(photo.size) * rng.uniform(0.3, 1.0))
        x, y = (int(rng.integers(0, n - side + 1)) for n in photo.size)
        crop = photo.crop((x, y, x + side, y + side)).resize((size, size), Image.Resampling.BICUBIC)
        if rng.random() < 0.5:
            crop = crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        out[index] = np.asarray(crop)
    return out


def to_nchw(images: np.ndarray, mean: float, scale: float) -> np.ndarray:
    """`(x - mean) / scale` as float32 NCHW."""
    return np.ascontiguousarray(((images.astype(np.float32) - mean) / scale).transpose(0, 3, 1, 2))


def resnet8_inputs(images: np.ndarray) -> np.ndarray:
    """CIFAR-size uint8 images as the network expects them: x/128 - 1."""
    return to_nchw(images, 128.0, 128.0)


def vww_inputs(images: np.ndarray) -> np.ndarray:
    """96x96 uint8 images as they are, 0..255."""
    return to_nchw(images, 0.0, 1.0)


def efficientnet_inputs(images: np.ndarray) -> np.ndarray:
    """224x224 uint8 images: (x - 127) / 128."""
    return to_nchw(images, 127.0, 128.0)


def centre_crop(image: np.ndarray, size: int = 224, short_side: int = 256) -> np.ndarray:
    """Short side resized to `short_side` (bicubic), centre `size`."""
    picture = Image.fromarray(image)
    ratio = short_side / min(picture.size)
    width, height = (round(n * ratio) for n in picture.size)
    picture = picture.resize((width, height), Image.Resampling.BICUBIC)
    x, y = (width - size) // 2, (height - size) // 2
    return np.asarray(picture.crop((x, y, x + size, y + size)))
