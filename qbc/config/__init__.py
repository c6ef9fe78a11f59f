"""Compile configuration: what a user may set, checked and merged."""

from qbc.config.bit import BitConfig
from qbc.config.calibration import CalibrationConfig, MaxPercentileConfig
from qbc.config.errors import ConfigValidationError
from qbc.config.language import EquivalentTransformationConfig, LlmConfig, MoeConfig
from qbc.config.model import CompileConfig
from qbc.config.older import InputProcessConfig, LayerBiasCorrectionConfig, OptqConfig, QuantizationConfig
from qbc.config.preprocessing import PreprocessingConfig
from qbc.config.resources import ExtraOutputConfig, ResourceManagementConfig, RuntimeOptionsConfig
from qbc.config.save_sample import SaveSampleConfig
from qbc.config.section import ConfigSection, ConfigWarning
from qbc.config.uint8_input import Uint8InputConfig
from qbc.config.weights import (
    BiasCorrectionConfig,
    HessianQuantConfig,
    LoadScaleConfig,
    ModConfig,
    SearchWeightScaleConfig,
    TuningConfig,
)

__all__ = [
    "BiasCorrectionConfig",
    "BitConfig",
    "CalibrationConfig",
    "CompileConfig",
    "ConfigSection",
    "ConfigValidationError",
    "ConfigWarning",
    "EquivalentTransformationConfig",
    "ExtraOutputConfig",
    "HessianQuantConfig",
    "InputProcessConfig",
    "LayerBiasCorrectionConfig",
    "LlmConfig",
    "LoadScaleConfig",
    "MaxPercentileConfig",
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
]
