"""The configuration model. Field names are snake_case in Python and camelCase in files; both are accepted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class ConfigSection(BaseModel):
    """Base of all sections: unknown keys are errors, values are checked also when they are assigned."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", validate_assignment=True, frozen=False
    )


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
