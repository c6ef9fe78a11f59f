"""The configuration classes, and presets as objects."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from qbcompiler import _MEMBERS

if TYPE_CHECKING:
    from qbc.config import CompileConfig


def get_preset(name: str) -> CompileConfig:
    """Return the configuration of a preset over the defaults; raises ArgumentError for an unknown name."""
    from qbc.config import CompileConfig

    return CompileConfig.from_preset(name)


def __getattr__(name: str) -> Any:
    if name not in _MEMBERS["qbc.config"]:
        raise AttributeError(f"module 'qbcompiler.configs' has no attribute {name!r}")
    return getattr(importlib.import_module("qbc.config"), name)


def __dir__() -> list[str]:
    return sorted([*_MEMBERS["qbc.config"], "get_preset"])
