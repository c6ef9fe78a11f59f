"""Compile configuration: what a user may set, checked and merged."""

from qbc.config.model import CalibrationConfig, CompileConfig, MaxPercentileConfig
from qbc.config.preprocessing import PreprocessingConfig
from qbc.config.resolve import merge_sections, pipeline_changes, resolve_config
from qbc.config.save_sample import SaveSampleConfig
from qbc.config.uint8_input import Uint8InputConfig

__all__ = [
    "CalibrationConfig",
    "CompileConfig",
    "MaxPercentileConfig",
    "PreprocessingConfig",
    "SaveSampleConfig",
    "Uint8InputConfig",
    "merge_sections",
    "pipeline_changes",
    "resolve_config",
]
