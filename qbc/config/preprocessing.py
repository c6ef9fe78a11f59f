"""Configuration of calibration images: the pipeline that turns a picture into a model input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from qbc.config.section import ConfigSection, warn
from qbc.letterbox import placement, shrink_factor

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
    """Fit into `height` x `width` with the aspect ratio kept, the rest filled with `padValue`.

    With `fuseIntoFirstLayer` the compiled program does it, on pictures of `sourceHeight` x `sourceWidth` pixels.
    """

    op: Literal["letterbox"]
    height: Positive
    width: Positive
    pad_value: Annotated[int, Field(ge=0, le=255)] = 114
    align_type: Literal[0, 1] = Field(default=0, description="0 in the middle, 1 at the top left")
    backend: Backend = "torch"
    fuse_into_first_layer: bool = Field(default=False, description="the compiled program does it")
    source_height: Positive | None = Field(default=None, description="of the pictures, for a fused letterbox")
    source_width: Positive | None = Field(default=None, description="of the pictures, for a fused letterbox")

    @model_validator(mode="after")
    def _check(self) -> LetterboxConfig:
        if self.fuse_into_first_layer:
            self._check_fused()
        elif self.source_height is not None or self.source_width is not None:
            warn("letterbox: sourceHeight and sourceWidth have no effect without fuseIntoFirstLayer")
        return self

    def _check_fused(self) -> None:
        if self.source_height is None or self.source_width is None:
            raise ValueError("letterbox with fuseIntoFirstLayer needs sourceHeight and sourceWidth")
        if self.backend == "pil":
            raise ValueError("letterbox with fuseIntoFirstLayer needs the backend torch or opencv, not pil")
        source, target = (self.source_height, self.source_width), (self.height, self.width)
        if shrink_factor(source, target) is not None:
            return
        inner = placement(source, target)
        factors = (f"{length / inside:.6g}" for length, inside in zip(source, (inner.height, inner.width), strict=True))
        raise ValueError(
            "letterbox with fuseIntoFirstLayer needs one whole factor by which pictures shrink: "
            f"{source[0]}x{source[1]} to {inner.height}x{inner.width}, inside {target[0]}x{target[1]}, "
            f"are {' and '.join(factors)}"
        )


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
    return value


Operation = Annotated[
    Annotated[
        ResizeConfig | CenterCropConfig | LetterboxConfig | NormalizeConfig | ColorConvertConfig,
        Field(discriminator="op"),
    ],
    BeforeValidator(_name_accepted),
]


FUSED_ORDERS: tuple[list[str], ...] = ([], ["letterbox"], ["normalize"], ["letterbox", "normalize"])


def _check_order(pipeline: list[Any]) -> list[Any]:
    """What the program does comes last: it sees what the operations before leave, and nothing can follow."""
    fused = [getattr(operation, "fuse_into_first_layer", False) for operation in pipeline]
    first = fused.index(True) if any(fused) else len(pipeline)
    late = next((index for index in range(first, len(pipeline)) if not fused[index]), None)
    if late is not None:
        raise ValueError(
            f"{pipeline[first].op} with fuseIntoFirstLayer is followed by {pipeline[late].op} without it: "
            "operations of the program must be the last operations"
        )
    kinds = [operation.op for operation in pipeline[first:]]
    if kinds not in FUSED_ORDERS:
        raise ValueError(
            f"fuseIntoFirstLayer of {', '.join(kinds)}: the program does one letterbox, one normalize, or a letterbox "
            "and then a normalize"
        )
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
