"""The configuration model. Field names are snake_case in Python and camelCase in files; both are accepted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qbc.config.preprocessing import PreprocessingConfig
from qbc.config.save_sample import SaveSampleConfig
from qbc.config.section import ConfigSection
from qbc.config.uint8_input import Uint8InputConfig


class MaxPercentileConfig(ConfigSection):
    """Clip point of mode 1: the quantile, and the share of largest values that is kept exactly."""

    percentile: Annotated[float, Field(gt=0.5, le=1.0)] = 0.9999
    topk_ratio: Annotated[float, Field(gt=0.0, le=1.0)] = 0.01


class CalibrationConfig(ConfigSection):
    """How activation ranges are chosen from the calibration samples."""

    method: Literal[0, 1, 2, 3] = Field(
        default=3,
        description="0 range per value, 1 range per scale group; 2 and 3 are the same with zero points",
    )
    output: Literal[0, 1, 2] = Field(default=0, description="scale of graph outputs: 0 one, 1 per channel, 2 sigmoid")
    mode: Literal[0, 1, 2] = Field(default=1, description="0 largest value, 1 percentile, 2 histogram search")
    max_percentile: MaxPercentileConfig = Field(default_factory=MaxPercentileConfig)


class CompileConfig(ConfigSection):
    """Everything that can be configured in this version."""

    calibration: CalibrationConfig = Field(default_factory=CalibrationConfig)
    preprocessing: PreprocessingConfig = Field(default_factory=PreprocessingConfig)
    uint8_input: Uint8InputConfig = Field(default_factory=Uint8InputConfig)
    save_sample: SaveSampleConfig = Field(default_factory=SaveSampleConfig)
    image_channels: Literal[0, 1, 3] = Field(
        default=0, description="channels that calibration images are converted to; 0 keeps those of the file"
    )
