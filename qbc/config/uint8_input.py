"""Section `uint8Input`: inputs that the compiled program takes as uint8."""

from typing import Annotated

from pydantic import Field

from qbc.config.section import ConfigSection


class Uint8InputConfig(ConfigSection):
    """Inputs that the compiled program takes as uint8; the network sees `value / divisionFactor`."""

    apply: bool = False
    inputs: list[str] = Field(default_factory=list, description="names of inputs; empty: all")
    division_factor: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 255.0
