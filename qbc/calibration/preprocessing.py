"""From image files to arrays that fit graph inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.calibration.images import read_image
from qbc.calibration.inputs import InputSpec, Notice, fits, name_hint, sample_error
from qbc.calibration.steps import CenterCrop, Letterbox, Resize, Step, make_step
from qbc.errors import ConfigError, QBCompilerError
from qbc.letterbox import Size

Array = npt.NDArray[Any]


def no_pipeline(path: Path, purpose: str = "") -> QBCompilerError:
    """Build the error about a picture for which nothing says how it becomes an input."""
    return sample_error(
        f"{path}: images need a preprocessing configuration{purpose}",
        "say how a picture becomes an input: by a preset (--config-preset classification_torchvision, yolo_640, ...) "
        "or a section preprocessing (--compile-config FILE), as docs/calibration.md shows; or save arrays as .npy",
    )


@dataclass(frozen=True)
class FusedLetterbox:
    """A letterbox that the program does: it takes images of the size `source`, the network sees `target`."""

    source: Size
    target: Size


@dataclass(frozen=True)
class InputPipeline:
    """What happens to the images of one input.

    With `convert_format` an image gets the number of channels of the input (grey to RGB, RGB to grey); without, other
    numbers of channels are refused. What the program does itself is not among the steps; behind them an image must
    have the size that the `letterbox` of the program takes.
    """

    steps: tuple[Step, ...] = ()
    convert_format: bool = False
    letterbox: FusedLetterbox | None = None


@dataclass(frozen=True)
class Preprocessing:
    """Pipelines of image inputs: `default`, and others by input name; `channels` 0 (as the file), 1 or 3."""

    default: InputPipeline | None = None
    by_input: Mapping[str, InputPipeline] = field(default_factory=dict)
    channels: int = 0

    def check_names(self, specs: Sequence[InputSpec]) -> None:
        """Raise CONFIG_ERROR when a pipeline is for an input that the model does not have."""
        names = [spec.name for spec in specs]
        unknown = next((name for name in self.by_input if name not in names), None)
        if unknown is None:
            return
        message = f"preprocessing.inputConfigs: {unknown!r} is no input of the model"
        raise ConfigError(message, hint=name_hint(unknown, names))

    def read(self, path: Path, spec: InputSpec, notice: Notice | None = None) -> Array:
        """Return the image at `path` as `[height, width, channels]`, after the pipeline of the input.

        Raises INVALID_CALIBRATION_DATA where an image does not suit the input or a step, and where no pipeline is set
        although the input is not uint8.
        """
        pipeline = self.by_input.get(spec.name, self.default)
        if pipeline is None and not spec.is_uint8:
            raise no_pipeline(path, f" for the float input {spec.name!r}")
        pipeline = pipeline or InputPipeline()
        array: Array = read_image(path, self._channels(pipeline, spec), notice)
        self._check_channels(array, spec, path)
        for step in pipeline.steps:
            try:
                array = step.apply(array)
            except ValueError as error:
                raise sample_error(
                    f"{path}: {error}", "change the preprocessing pipeline, or leave the file out"
                ) from None
        if spec.is_uint8 and array.dtype != np.uint8:
            raise sample_error(
                f"{path}: the pipeline ends with {array.dtype}, "
                f"input {spec.name!r} takes uint8 pixels, before normalisation",
                "set fuseIntoFirstLayer on normalize, so that the program normalises, or leave uint8Input off",
            )
        if pipeline.letterbox is not None and array.shape[:2] != pipeline.letterbox.source:
            height, width = pipeline.letterbox.source
            raise sample_error(
                f"{path}: the image has {array.shape[0]}x{array.shape[1]} pixels; the program does the letterbox and "
                f"takes {height}x{width} (sourceHeight, sourceWidth)",
                "use images of that size, resize them first in the pipeline, or take fuseIntoFirstLayer off letterbox",
            )
        _check_size(array, pipeline, spec, path)
        return np.ascontiguousarray(array)

    def network_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape in which a sample of `shape` reaches the network, behind the letterbox of the program."""
        pipeline = self.by_input.get(name, self.default)
        if pipeline is None or pipeline.letterbox is None:
            return shape
        source, target = pipeline.letterbox.source, pipeline.letterbox.target
        for axis in (len(shape) - 3, len(shape) - 2):  # height stands first in HWC, second in CHW
            if axis >= 0 and shape[axis : axis + 2] == source:
                return (*shape[:axis], *target, *shape[axis + 2 :])
        return shape

    def _channels(self, pipeline: InputPipeline, spec: InputSpec) -> int:
        wanted = _channels_of(spec)
        if self.channels == 0 and pipeline.convert_format and wanted in (1, 3):
            return wanted
        return self.channels

    def _check_channels(self, array: Array, spec: InputSpec, path: Path) -> None:
        wanted, found = _channels_of(spec), array.shape[2]
        if wanted is None or wanted == found:
            return
        kind = "grey" if found == 1 else "an RGB image"
        raise sample_error(
            f"{path}: the image is {kind} ({found} channel{'s' if found > 1 else ''}), "
            f"input {spec.name!r} has {wanted} channels",
            f"set image_channels to {wanted}" if wanted in (1, 3) and not self.channels else "check image_channels",
        )


def make_preprocessing(settings: Mapping[str, Any] | None, image_channels: int = 0) -> Preprocessing:
    """Build the pipelines from checked settings (the `preprocessing` section as a dictionary with snake_case keys).

    None, or a section whose `apply` is false, leaves images without a pipeline.
    """
    if settings is None or not settings["apply"]:
        return Preprocessing(channels=image_channels)
    default = make_pipeline(settings["pipeline"], settings["auto_convert_format"])
    by_input = {
        name: make_pipeline(
            inner["pipeline"],
            settings["auto_convert_format"] if inner["auto_convert_format"] is None else inner["auto_convert_format"],
        )
        for name, inner in settings["input_configs"].items()
    }
    return Preprocessing(default, by_input, image_channels)


def make_pipeline(operations: Sequence[Mapping[str, Any]], convert_format: bool = False) -> InputPipeline:
    """Build one pipeline; what is fused into the first layer of the program is left to the program."""
    fused = [operation for operation in operations if operation.get("fuse_into_first_layer")]
    steps = tuple(make_step(operation) for operation in operations if operation not in fused)
    letterboxes = [
        FusedLetterbox(
            (operation["source_height"], operation["source_width"]), (operation["height"], operation["width"])
        )
        for operation in fused
        if operation["op"] == "letterbox"
    ]
    return InputPipeline(steps, convert_format, letterboxes[0] if letterboxes else None)


def _channels_of(spec: InputSpec) -> int | None:
    """Return the channels of an image input, or None where the input is no image or the size is open."""
    if len(spec.shape) not in (3, 4):
        return None
    return spec.shape[-1] if spec.shape[-1] > 0 else None


def _check_size(array: Array, pipeline: InputPipeline, spec: InputSpec, path: Path) -> None:
    """Raise INVALID_CALIBRATION_DATA where an image input has another size than the image behind its pipeline."""
    wanted = spec.shape[-3:-1]
    if _channels_of(spec) is None or min(wanted) <= 0 or fits(array.shape, spec):
        return
    found = f"{array.shape[0]}x{array.shape[1]} pixels"
    made = f"the preprocessing pipeline makes {found} of the image" if pipeline.steps else f"the image has {found}"
    message = f"{path}: {made}, input {spec.name!r} takes {wanted[0]}x{wanted[1]}"
    raise sample_error(message, _size_hint(pipeline, f"height {wanted[0]} and width {wanted[1]}"))


def _size_hint(pipeline: InputPipeline, size: str) -> str:
    last = next((step for step in reversed(pipeline.steps) if isinstance(step, Resize | CenterCrop | Letterbox)), None)
    if last is None:
        return f"put a resize or letterbox to {size} into the preprocessing pipeline"
    if isinstance(last, Resize) and last.size is not None:
        return f"put a centerCrop to {size} behind the resize of the preprocessing pipeline"
    name = type(last).__name__
    setting = f"set {name[0].lower()}{name[1:]} of the preprocessing pipeline to {size}"
    return f"{setting}; `dump-config --preset NAME` writes the pipeline of a preset, to be changed"
