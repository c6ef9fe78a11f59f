"""Configuration of calibration images: the pipeline that turns a picture into a model input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from qbc.config.section import ConfigSection, warn

Positive = Annotated[int, Field(ge=1, le=65536)]
LARGEST = 1e6  # of means and deviations; pixels go to 255
Backend = Literal["torch", "pil", "opencv"]


class ResizeConfig(ConfigSection):
    """Resize to `height` and `width`, or to `size` for the shorter side (it wins where both are given)."""

    op: Literal["resize"]
    height: Positive | None = None
    width: Positive | None = None
    size: Positive | None = None
    mode: Literal["bilinear", "nearest", "bicubic"] = "bilinear"
    align_corners: bool | None = Field(default=None, description="with the backend torch only; default false")
    antialias: bool | None = Field(default=None, description="with the backend torch only; default false")
    backend: Backend = "torch"

    @model_validator(mode="after")
    def _check(self) -> ResizeConfig:
        if self.size is None and (self.height is None or self.width is None):
            raise ValueError("resize needs height and width, or size")
        given = [
            alias
            for alias, value in (("alignCorners", self.align_corners), ("antialias", self.antialias))
            if value is not None
        ]
        if given and self.backend != "torch":
            raise ValueError(f"{given[0]} exists only with the backend torch, not with {self.backend}")
        if self.mode == "nearest" and (self.align_corners or self.antialias):
            raise ValueError(f"{given[0]} has no meaning with the mode nearest")
        return self


class CenterCropConfig(ConfigSection):
    """Keep the middle `height` x `width` pixels."""

    op: Literal["centerCrop"]
    height: Positive
    width: Positive


class LetterboxConfig(ConfigSection):
    """Fit into `height` x `width` with the aspect ratio kept, the rest filled with `padValue`."""

    op: Literal["letterbox"]
    height: Positive
    width: Positive
    pad_value: Annotated[int, Field(ge=0, le=255)] = 114
    align_type: Literal[0, 1] = Field(default=0, description="0 in the middle, 1 at the top left")
    backend: Backend = "torch"
    fuse_into_first_layer: Literal[False] = Field(default=False, description="not available: resizing is not fused")
    source_height: Positive | None = Field(default=None, description="without effect: only a fused letterbox reads it")
    source_width: Positive | None = Field(default=None, description="without effect: only a fused letterbox reads it")

    @model_validator(mode="after")
    def _note(self) -> LetterboxConfig:
        if self.source_height is not None or self.source_width is not None:
            warn("letterbox: sourceHeight and sourceWidth have no effect, resizing is not fused into the program")
        return self


class NormalizeConfig(ConfigSection):
    """`(x - mean) / std`; with `fuseIntoFirstLayer` the compiled program does it."""

    op: Literal["normalize"]
    mean: list[float] = Field(default_factory=lambda: [0.0], min_length=1)
    std: list[float] = Field(default_factory=lambda: [1.0], min_length=1)
    scale_to_uint8: bool = Field(default=False, description="divide by 255 first")
    fuse_into_first_layer: bool = False

    @model_validator(mode="after")
    def _check(self) -> NormalizeConfig:
        if not all(abs(value) <= LARGEST for value in self.mean):
            raise ValueError(f"mean must lie within -{LARGEST:g}..{LARGEST:g}")
        if not all(1 / LARGEST <= value <= LARGEST for value in self.std):
            raise ValueError(f"std must be positive, within {1 / LARGEST:g}..{LARGEST:g}")
        if len(self.mean) != len(self.std) and 1 not in (len(self.mean), len(self.std)):
            raise ValueError(f"{len(self.mean)} values of mean and {len(self.std)} of std")
        return self


class ColorConvertConfig(ConfigSection):
    """Exchange red and blue; images start as RGB."""

    op: Literal["colorConvert"]
    mode: Literal["RGB2BGR", "BGR2RGB"] = "RGB2BGR"


OPERATIONS: dict[str, type[ConfigSection]] = {
    "resize": ResizeConfig,
    "centerCrop": CenterCropConfig,
    "letterbox": LetterboxConfig,
    "normalize": NormalizeConfig,
    "colorConvert": ColorConvertConfig,
}


def _name_accepted(value: Any) -> Any:
    """Refuse an unknown operation or key with the list of what is accepted."""
    if not isinstance(value, Mapping):
        return value
    kind = value.get("op")
    model = OPERATIONS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise ValueError(f"unknown op {kind!r}; accepted are {', '.join(OPERATIONS)}")
    aliases = {name: info.alias or name for name, info in model.model_fields.items()}
    unknown = [key for key in value if key not in aliases and key not in aliases.values()]
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r} in {kind}; accepted are {', '.join(aliases.values())}")
    if value.get("fuseIntoFirstLayer", value.get("fuse_into_first_layer")) and kind == "letterbox":
        raise ValueError("fuseIntoFirstLayer of letterbox is not available in this version; leave it out")
    return value


Operation = Annotated[
    Annotated[
        ResizeConfig | CenterCropConfig | LetterboxConfig | NormalizeConfig | ColorConvertConfig,
        Field(discriminator="op"),
    ],
    BeforeValidator(_name_accepted),
]


def _check_order(pipeline: list[Any]) -> list[Any]:
    """A normalisation that the program does must be the last operation: the program sees what the pipeline leaves."""
    for index, operation in enumerate(pipeline[:-1]):
        if getattr(operation, "fuse_into_first_layer", False):
            raise ValueError(f"{operation.op} with fuseIntoFirstLayer must be the last operation, it is number {index}")
    return pipeline


class InputPreprocessingConfig(ConfigSection):
    """The pipeline of one input, in place of the general one."""

    auto_convert_format: bool | None = Field(default=None, description="as in the section where it is left out")
    pipeline: list[Operation] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> InputPreprocessingConfig:
        _check_order(self.pipeline)
        return self


class PreprocessingConfig(ConfigSection):
    """How calibration images become inputs; array samples are taken as they are."""

    apply: bool = False
    auto_convert_format: bool = Field(
        default=False, description="give images the number of channels of the input (grey to RGB and back)"
    )
    pipeline: list[Operation] = Field(default_factory=list)
    input_configs: dict[str, InputPreprocessingConfig] = Field(
        default_factory=dict, description="pipelines of single inputs, by input name"
    )

    @model_validator(mode="after")
    def _check(self) -> PreprocessingConfig:
        _check_order(self.pipeline)
        return self
