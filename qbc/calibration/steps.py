"""The operations of an image pipeline. Arrays are `[height, width, channels]`; images start as uint8 in RGB order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qbc.calibration.resampling import Resampling
from qbc.errors import ConfigError
from qbc.letterbox import placement

Array = npt.NDArray[Any]

MOST_PIXELS = 1 << 27  # of a result; a strip of 1x60000 pixels would fill all memory


class Step(Protocol):
    """One operation; raises ValueError with the reason when an array does not suit it."""

    def apply(self, array: Array) -> Array: ...


def _check_room(height: int, width: int) -> None:
    if height * width > MOST_PIXELS:
        raise ValueError(f"made {height}x{width} the image is too large, {MOST_PIXELS} pixels are possible")


@dataclass(frozen=True)
class Resize:
    """To an exact height and width, or (`size`) so that the shorter side has that length.

    The longer side is `size * longer / shorter`, truncated. More than `MOST_PIXELS` are refused.
    """

    height: int | None = None
    width: int | None = None
    size: int | None = None
    resampling: Resampling = field(default_factory=Resampling)

    def apply(self, array: Array) -> Array:
        height, width = self._target(array.shape[0], array.shape[1])
        _check_room(height, width)
        return self.resampling.apply(array, height, width)

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if self.size is None:
            return self.height or height, self.width or width
        longer = int(self.size * max(height, width) / min(height, width))
        return (self.size, longer) if height <= width else (longer, self.size)


@dataclass(frozen=True)
class CenterCrop:
    """The middle part of an image; half of an odd rest is rounded to the even number."""

    height: int
    width: int

    def apply(self, array: Array) -> Array:
        height, width = array.shape[:2]
        if height < self.height or width < self.width:
            raise ValueError(f"the image is {height}x{width}, smaller than the centerCrop {self.height}x{self.width}")
        top, left = round((height - self.height) / 2), round((width - self.width) / 2)
        return array[top : top + self.height, left : left + self.width]


@dataclass(frozen=True)
class Letterbox:
    """Shrink or enlarge with the aspect ratio kept until the image fits, then fill the rest with `pad_value`.

    `centered` puts the image in the middle (an odd rest is one more below and to the right), else at the top left.
    """

    height: int
    width: int
    pad_value: int = 114
    centered: bool = True
    resampling: Resampling = field(default_factory=Resampling)

    def apply(self, array: Array) -> Array:
        _check_room(self.height, self.width)
        height, width, channels = array.shape
        place = placement((height, width), (self.height, self.width), centered=self.centered)
        if (place.height, place.width) != (height, width):
            array = self.resampling.apply(array, place.height, place.width)
        canvas = np.full((self.height, self.width, channels), self.pad_value, dtype=array.dtype)
        canvas[place.top : place.top + place.height, place.left : place.left + place.width] = array
        return canvas


@dataclass(frozen=True)
class Normalize:
    """`(x - mean) / std` for each channel in float32; `scale_to_uint8` first divides by 255."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale_to_uint8: bool = False

    def apply(self, array: Array) -> Array:
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, array.shape[2]):
                raise ValueError(f"normalize has {len(values)} values of {name}, the image {array.shape[2]} channels")
        result: Array = array.astype(np.float32)
        if self.scale_to_uint8:
            result /= np.float32(255)
        result -= np.asarray(self.mean, dtype=np.float32)
        result /= np.asarray(self.std, dtype=np.float32)
        return result


@dataclass(frozen=True)
class SwapColours:
    """RGB to BGR or back."""

    def apply(self, array: Array) -> Array:
        if array.shape[2] != 3:
            raise ValueError(f"colorConvert needs 3 channels, the image has {array.shape[2]}")
        return array[:, :, ::-1]


def make_step(settings: Mapping[str, Any]) -> Step:
    """Build an operation from checked settings: snake_case keys with all values filled in, `op` names the kind."""
    kind = settings["op"]
    if kind == "resize":
        return Resize(settings["height"], settings["width"], settings["size"], _resampling(settings))
    if kind == "centerCrop":
        return CenterCrop(settings["height"], settings["width"])
    if kind == "letterbox":
        sampling = Resampling(backend=settings["backend"])
        centered = settings["align_type"] == 0
        return Letterbox(settings["height"], settings["width"], settings["pad_value"], centered, sampling)
    if kind == "normalize":
        return Normalize(tuple(settings["mean"]), tuple(settings["std"]), settings["scale_to_uint8"])
    if kind == "colorConvert":
        return SwapColours()
    raise ConfigError(f"unknown preprocessing operation {kind!r}")


def _resampling(settings: Mapping[str, Any]) -> Resampling:
    return Resampling(
        settings["mode"], settings["backend"], bool(settings["align_corners"]), bool(settings["antialias"])
    )
