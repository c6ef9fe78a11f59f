"""What the host boundary decides without being asked, as notices: which layout is read, what cannot be kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.program import HostTensor
from qbc.runtime.boundary import source_shape

Notice = Callable[[str], None]

_logger = logging.getLogger("qbcompiler.runtime")


def log_notice(message: str) -> None:
    """Give a notice as a warning of the log `qbcompiler.runtime`."""
    _logger.warning("%s", message)


def fits_both_layouts(tensor: HostTensor) -> bool:
    """Return whether the shape of an input does not tell its layout, as in 1x3x3x3."""
    shape = tensor.operand.shape
    return bool(tensor.source_layout) and source_shape(tensor) == shape and max(shape, default=1) > 1


def input_notices(tensor: HostTensor, array: npt.NDArray[Any], layout: str | None) -> Iterator[str]:
    """Yield what is to be told about one input as it was given; `layout` is the one that the caller chose, if any."""
    if layout is None and fits_both_layouts(tensor):
        yield (
            f"input {tensor.name!r}: shape {list(array.shape)} fits both layouts, it is read as channel-last "
            "(infer_chw reads it as channel-first)"
        )
    if tensor.dtype == "f32" and array.dtype.kind in "iu":
        meaning = "codes + 128" if array.dtype.name == "uint8" else "codes"
        yield (
            f"input {tensor.name!r}: {array.dtype.name} values are read as {meaning} of the program, not as pixels or "
            "numbers; outputs are codes when all inputs are"
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        yield f"input {tensor.name!r} holds NaN, which is read as 0"


def output_notices(tensor: HostTensor, array: npt.NDArray[Any]) -> Iterator[str]:
    """Yield what is to be told about one output: float16 inputs get float16 outputs, which may be too narrow."""
    if array.dtype == np.float16 and np.isinf(array).any():
        yield f"output {tensor.name!r} holds values beyond float16, which are infinite (give float32 inputs)"
