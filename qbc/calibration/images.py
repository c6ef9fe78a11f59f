"""Image files as arrays: `[height, width, channels]`, RGB or grey, uint8.

What a file holds decides, not its suffix. Pictures that have no plain 8-bit RGB or grey form (alpha, 16 bit, float) are
refused with the way out, unless a number of channels is asked for.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.calibration.inputs import Notice, sample_error
from qbc.errors import QBCompilerError

Image = npt.NDArray[np.uint8]

_GREY_MODES = frozenset({"1", "L"})
_COLOUR_MODES = frozenset({"RGB", "P", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"})
_DEEP = re.compile(r";16[BLN]$")  # raw modes of Pillow such as RGB;16B; BGR;16 is 5, 6 and 5 bits
_ORIENTATION_TAG = 0x0112


def read_image(path: Path, channels: int = 0, notice: Notice | None = None) -> Image:
    """Decode an image file.

    `channels` 0 keeps the form of the file (palettes and printing colours become RGB); 3 gives RGB and 1 gives grey
    (ITU-R 601 luma) whatever the file holds, dropping an alpha channel with a notice. An orientation tag is not applied
    (a notice says so). Raises INVALID_CALIBRATION_DATA for a file that is no image, is broken, has more than 8 bits a
    channel, or has an alpha channel while `channels` is 0.
    """
    from PIL import Image as pillow
    from PIL import UnidentifiedImageError

    try:
        with pillow.open(path) as image:
            is_deep = _is_deep(image)
            image.load()
            return _to_array(image, path, is_deep, channels, notice)
    except QBCompilerError:
        raise
    except UnidentifiedImageError:
        raise sample_error(f"{path}: not an image", "remove the file from the calibration data") from None
    except pillow.DecompressionBombError:
        limit = 2 * (pillow.MAX_IMAGE_PIXELS or 0)
        raise sample_error(f"{path}: the image has more than {limit} pixels", "shrink the image") from None
    except Exception as error:  # decoders raise whatever their format library raises
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise sample_error(f"{path}: broken image: {reason}", "replace the file or remove it") from None


def _is_deep(image: Any) -> bool:
    """Return whether a file that was opened, not loaded, holds 16 bits a channel that Pillow would cut to 8."""
    for codec, _, _, arguments in image.tile:
        raw = arguments[0] if isinstance(arguments, tuple) and arguments else arguments
        if isinstance(raw, str) and _DEEP.search(raw):
            return True
        if codec in ("ppm", "ppm_plain") and isinstance(arguments, tuple) and arguments[1] > 255:
            return True
    return False


def _to_array(image: Any, path: Path, is_deep: bool, channels: int, notice: Notice | None) -> Image:
    mode = str(image.mode)
    has_alpha = mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info
    if is_deep or (not has_alpha and mode not in _GREY_MODES | _COLOUR_MODES):
        raise sample_error(
            f"{path}: the image has more than 8 bits a channel ({'16 bits' if is_deep else f'mode {mode}'})",
            "save it with 8 bits a channel, or save the values you want as .npy",
        )
    if has_alpha and channels == 0:
        raise sample_error(
            f"{path}: the image has an alpha channel",
            "save it without, or set image_channels to 3 (RGB) or 1 (grey) to drop it",
        )
    if has_alpha and notice is not None:
        notice("calibration images with an alpha channel: it is dropped, colours are taken as stored")
    if notice is not None and image.getexif().get(_ORIENTATION_TAG, 1) != 1:
        notice("calibration images with an orientation tag: it is not applied, pixels are taken as stored")
    if notice is not None and getattr(image, "n_frames", 1) > 1:
        notice("calibration images with several frames: the first one is used")
    if channels == 0:
        channels = 1 if mode in _GREY_MODES else 3
    array = np.asarray(image.convert("L" if channels == 1 else "RGB"), dtype=np.uint8)
    return array[:, :, None] if channels == 1 else array
