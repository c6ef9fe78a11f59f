"""Resizing a `[height, width, channels]` array as torch, Pillow or OpenCV do it, each on its own terms.

uint8 arrays stay uint8 (torch results are rounded half to even and clamped), all others are computed in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.errors import QBCompilerError

Array = npt.NDArray[Any]

MODES = ("bilinear", "nearest", "bicubic")


@dataclass(frozen=True)
class Resampling:
    """How values between pixels are found. `align_corners` and `antialias` exist with torch only; Pillow always
    filters when it shrinks, OpenCV never does."""

    mode: str = "bilinear"
    backend: str = "torch"
    align_corners: bool = False
    antialias: bool = False

    def apply(self, array: Array, height: int, width: int) -> Array:
        """Return `array` with a new height and width; raises RESOURCE_ERROR without the library of the backend."""
        if array.dtype != np.uint8:
            array = array.astype(np.float32)
        if self.backend == "pil":
            return _resize_pillow(array, height, width, self.mode)
        if self.backend == "opencv":
            return _resize_opencv(array, height, width, self.mode)
        return self._resize_torch(array, height, width)

    def _resize_torch(self, array: Array, height: int, width: int) -> Array:
        import torch
        from torch.nn.functional import interpolate

        planes = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1), dtype=np.float32))[None]
        corners = None if self.mode == "nearest" else self.align_corners
        with torch.inference_mode():
            result = interpolate(
                planes, size=(height, width), mode=self.mode, align_corners=corners, antialias=self.antialias
            )
        values: Array = result[0].numpy().transpose(1, 2, 0)
        if array.dtype == np.uint8:
            values = np.clip(np.rint(values), 0, 255).astype(np.uint8)
        return np.ascontiguousarray(values)


def _resize_pillow(array: Array, height: int, width: int, mode: str) -> Array:
    from PIL import Image

    method = {
        "bilinear": Image.Resampling.BILINEAR,
        "nearest": Image.Resampling.NEAREST,
        "bicubic": Image.Resampling.BICUBIC,
    }[mode]
    if array.dtype == np.uint8 and array.shape[2] == 3:
        return np.asarray(Image.fromarray(np.ascontiguousarray(array)).resize((width, height), method))
    planes = [
        np.asarray(Image.fromarray(np.ascontiguousarray(array[:, :, channel])).resize((width, height), method))
        for channel in range(array.shape[2])
    ]
    return np.stack(planes, axis=2)


def _resize_opencv(array: Array, height: int, width: int, mode: str) -> Array:
    try:
        import cv2
    except ImportError:
        raise QBCompilerError(
            "resizing with the backend opencv needs OpenCV, which is not installed",
            code="RESOURCE_ERROR",
            hint="pip install 'qbcompiler[images]', or choose the backend torch or pil",
        ) from None

    method = {"bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "bicubic": cv2.INTER_CUBIC}[mode]
    result: Array = cv2.resize(np.ascontiguousarray(array), (width, height), interpolation=method)
    return result if result.ndim == 3 else result[:, :, None]
