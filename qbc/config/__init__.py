"""Compile configuration: what a user may set, checked and merged."""

from qbc.config.bit import BitConfig
from qbc.config.calibration import CalibrationConfig, MaxPercentileConfig
from qbc.config.language import EquivalentTransformationConfig, LlmConfig, MoeConfig
from qbc.config.model import CompileConfig
from qbc.config.preprocessing import PreprocessingConfig
from qbc.config.resources import ExtraOutputConfig, ResourceManagementConfig, RuntimeOptionsConfig
from qbc.config.save_sample import SaveSampleConfig
from qbc.config.section import ConfigSection, ConfigWarning
from qbc.config.uint8_input import Uint8InputConfig
from qbc.config.weights import (
    BiasCorrectionConfig,
    HessianQuantConfig,
    LayerBiasCorrectionConfig,
    LoadScaleConfig,
    ModConfig,
    OptqConfig,
    SearchWeightScaleConfig,
    TuningConfig,
)

__all__ = [
    "BiasCorrectionConfig",
    "BitConfig",
    "CalibrationConfig",
    "CompileConfig",
    "ConfigSection",
    "ConfigWarning",
    "EquivalentTransformationConfig",
    "ExtraOutputConfig",
    "HessianQuantConfig",
    "LayerBiasCorrectionConfig",
    "LlmConfig",
    "LoadScaleConfig",
    "MaxPercentileConfig",
    "ModConfig",
    "MoeConfig",
    "OptqConfig",
    "PreprocessingConfig",
    "ResourceManagementConfig",
    "RuntimeOptionsConfig",
    "SaveSampleConfig",
    "SearchWeightScaleConfig",
    "TuningConfig",
    "Uint8InputConfig",
]
