"""Section `saveSample`: calibration samples that are written for inspection."""

from typing import Annotated, Literal

from pydantic import Field

from qbc.config.section import ConfigSection, PathText


class SaveSampleConfig(ConfigSection):
    """Writes calibration samples as the compiler consumes them, with the results of the float network."""

    apply: bool = False
    save_path: PathText = Field(default="saved_samples", min_length=1, description="directory, made when missing")
    inputs: bool = True
    outputs: bool = True
    layers: list[str] = Field(default_factory=list, description="names or globs of layers whose results are written")
    stages: list[Literal["float", "integer"]] = ["float"]  # copied for each object
    num_samples: Annotated[int, Field(ge=1)] = 8
    max_bytes_mb: Annotated[float, Field(gt=0, alias="maxBytesMB")] = 1024
    dtype: Literal["float32", "float16"] = "float32"
    include_outliers: bool = False
