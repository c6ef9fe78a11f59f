"""Compile neural networks for the NPU family that Mobilint documents, and run them on a bit-exact simulator.

    from qbcompiler import mxq_compile
    mxq_compile("model.onnx", target_device="aries-rb", calib_data_path="samples/", save_path="model.mxq")

Everything is loaded on first use: importing this package imports neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from qbcompiler.neighbours import warn_of_conflict

if TYPE_CHECKING:  # what `_MEMBERS` says, re-exported for type checkers
    # isort: off
    from qbc.config import (
        BiasCorrectionConfig as BiasCorrectionConfig,
        BitConfig as BitConfig,
        CalibrationConfig as CalibrationConfig,
        CompileConfig as CompileConfig,
        EquivalentTransformationConfig as EquivalentTransformationConfig,
        ExtraOutputConfig as ExtraOutputConfig,
        HessianQuantConfig as HessianQuantConfig,
        InputProcessConfig as InputProcessConfig,
        LayerBiasCorrectionConfig as LayerBiasCorrectionConfig,
        LlmConfig as LlmConfig,
        LoadScaleConfig as LoadScaleConfig,
        ModConfig as ModConfig,
        MoeConfig as MoeConfig,
        OptqConfig as OptqConfig,
        PreprocessingConfig as PreprocessingConfig,
        QuantizationConfig as QuantizationConfig,
        ResourceManagementConfig as ResourceManagementConfig,
        RuntimeOptionsConfig as RuntimeOptionsConfig,
        SaveSampleConfig as SaveSampleConfig,
        SearchWeightScaleConfig as SearchWeightScaleConfig,
        TuningConfig as TuningConfig,
        Uint8InputConfig as Uint8InputConfig,
    )
    from qbc.errors import (
        ArgumentError as ArgumentError,
        ConfigError as ConfigError,
        QBCompilerError as QBCompilerError,
    )
    from qbcompiler.api import (
        mblt_compile as mblt_compile,
        mblt_compile_with_callback as mblt_compile_with_callback,
        mxq_compile as mxq_compile,
        mxq_compile_from_mblt as mxq_compile_from_mblt,
        mxq_compile_from_source as mxq_compile_from_source,
        mxq_compile_with_callback as mxq_compile_with_callback,
    )
    from qbcompiler.model_dict.reading import read_mblt_graph_info as read_mblt_graph_info
    from qbcompiler.tools import (
        dump_default_config as dump_default_config,
        get_body_subgraph as get_body_subgraph,
        list_presets as list_presets,
        read_provenance as read_provenance,
        set_log_level as set_log_level,
        validate_model as validate_model,
    )
    # isort: on

_MEMBERS = {
    "qbcompiler.api": (
        "mblt_compile",
        "mblt_compile_with_callback",
        "mxq_compile",
        "mxq_compile_from_mblt",
        "mxq_compile_from_source",
        "mxq_compile_with_callback",
    ),
    "qbcompiler.model_dict.reading": ("read_mblt_graph_info",),
    "qbcompiler.tools": (
        "dump_default_config",
        "get_body_subgraph",
        "list_presets",
        "read_provenance",
        "set_log_level",
        "validate_model",
    ),
    "qbc.config": (
        "BiasCorrectionConfig",
        "BitConfig",
        "CalibrationConfig",
        "CompileConfig",
        "EquivalentTransformationConfig",
        "ExtraOutputConfig",
        "HessianQuantConfig",
        "InputProcessConfig",
        "LayerBiasCorrectionConfig",
        "LlmConfig",
        "LoadScaleConfig",
        "ModConfig",
        "MoeConfig",
        "OptqConfig",
        "PreprocessingConfig",
        "QuantizationConfig",
        "ResourceManagementConfig",
        "RuntimeOptionsConfig",
        "SaveSampleConfig",
        "SearchWeightScaleConfig",
        "TuningConfig",
        "Uint8InputConfig",
    ),
    "qbc.errors": ("ArgumentError", "ConfigError", "QBCompilerError"),
}
_HOMES = {name: module for module, names in _MEMBERS.items() for name in names}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from qbc.version import own_version

        return own_version()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'qbcompiler' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    hidden = {"annotations", "importlib", "warn_of_conflict", "Any", "TYPE_CHECKING"}
    return sorted({*globals(), *__all__} - hidden)


warn_of_conflict()
