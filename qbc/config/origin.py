"""Section `origin`: the preset that saved settings come from."""

from __future__ import annotations

from pydantic import Field

from qbc.config.section import ConfigSection


class OriginConfig(ConfigSection):
    """The preset that saved settings come from; nothing is loaded by it.

    A saved configuration has it, so that a build from these settings records the preset as the first one did. It holds
    as long as the settings are the saved ones.
    """

    preset: str = Field(default="", description="name of the preset")
    sha256: str = Field(default="", description="digest of what the preset said")
    settings: str = Field(default="", description="digest of the settings that were saved")
