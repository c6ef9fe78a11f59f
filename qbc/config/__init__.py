"""Compile configuration: what a user may set, checked and merged."""

from qbc.config.model import CalibrationConfig, CompileConfig, MaxPercentileConfig
from qbc.config.resolve import merge_sections, pipeline_changes, resolve_config

__all__ = [
    "CalibrationConfig",
    "CompileConfig",
    "MaxPercentileConfig",
    "merge_sections",
    "pipeline_changes",
    "resolve_config",
]
