"""Classes of older releases: scripts that import them go on, what they hold becomes settings of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from qbc.config.bit import BitConfig, BitLayerOverrides
from qbc.config.calibration import CalibrationConfig
from qbc.config.preprocessing import PreprocessingConfig
from qbc.config.section import ConfigSection, collected_warnings
from qbc.config.uint8_input import Uint8InputConfig
from qbc.config.weights import BiasCorrectionConfig, HessianQuantConfig

HESSIAN_IS_ABSENT = "Hessian-based quantization does not exist in this version: the compilation goes on without it"


class LayerBiasCorrectionConfig(BiasCorrectionConfig):
    """The name of BiasCorrectionConfig in release 1.3, where it was off by default."""

    apply: bool = False

    def model_post_init(self, context: Any) -> None:
        """Count the default of `apply` as set: it differs from the one of the section."""
        self.__pydantic_fields_set__.add("apply")


class OptqConfig(HessianQuantConfig):
    """The name of HessianQuantConfig up to release 1.2; its flat keys are no mistake here and give no warning."""

    @classmethod
    def prepared(cls, data: Mapping[Any, Any]) -> dict[Any, Any]:
        with collected_warnings():
            return super().prepared(data)


class InputProcessConfig(ConfigSection):
    """What releases 0.12 to 1.0 gave as `input_process_config`: today three arguments of a call."""

    uint8_input: Uint8InputConfig = Field(default_factory=Uint8InputConfig)
    image_channels: Literal[0, 1, 3] = 0
    preprocessing: PreprocessingConfig = Field(default_factory=PreprocessingConfig)


class QuantizationConfig(ConfigSection):
    """What releases 0.12 to 1.0 gave as `quantization_config`: today `calibration_config` and `bit_config`."""

    calibration: CalibrationConfig = Field(default_factory=CalibrationConfig)
    bit: BitConfig = Field(default_factory=BitConfig)

    @classmethod
    def from_kwargs(cls, **values: Any) -> QuantizationConfig:
        """Return the sections from flat keys (`quantization_mode=1, percentile=0.9999, topk_ratio=0.01, ...`).

        Numbers mean what they mean in CalibrationConfig. Raises ConfigValidationError for unknown keys.
        """
        bits = {name: values.pop(name) for name in BitLayerOverrides.model_fields if name in values}
        with collected_warnings():  # the flat keys are the right ones here
            calibration = CalibrationConfig(**values)
            return cls(calibration=calibration, bit=BitConfig(**bits)) if bits else cls(calibration=calibration)
