"""Compile neural networks for the NPU family that Mobilint documents, and run them on a bit-exact simulator.

    from qbcompiler import mxq_compile
    mxq_compile("model.onnx", target_device="aries-rb", calib_data_path="samples/", save_path="model.mxq")

Everything is loaded on first use: importing this package imports neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qbc.config import (
        CalibrationConfig,
        CompileConfig,
        PreprocessingConfig,
        SaveSampleConfig,
        Uint8InputConfig,
    )
    from qbc.errors import QBCompilerError
    from qbcompiler.api import mblt_compile, mxq_compile

_HOMES = {
    "mxq_compile": "qbcompiler.api",
    "mblt_compile": "qbcompiler.api",
    "CalibrationConfig": "qbc.config",
    "CompileConfig": "qbc.config",
    "PreprocessingConfig": "qbc.config",
    "SaveSampleConfig": "qbc.config",
    "Uint8InputConfig": "qbc.config",
    "QBCompilerError": "qbc.errors",
}

__all__ = [
    "CalibrationConfig",
    "CompileConfig",
    "PreprocessingConfig",
    "QBCompilerError",
    "SaveSampleConfig",
    "Uint8InputConfig",
    "__version__",
    "mblt_compile",
    "mxq_compile",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("qbcompiler")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'qbcompiler' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
