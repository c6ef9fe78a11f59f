"""Calibration sets from pictures: `make_calib` with a recipe, `make_calib_man` with a function of your own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qbc.calibration.make import make_calib, make_calib_man

__all__ = ["make_calib", "make_calib_man"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'qbcompiler.calibration' has no attribute {name!r}")
    return getattr(importlib.import_module("qbc.calibration.make"), name)
