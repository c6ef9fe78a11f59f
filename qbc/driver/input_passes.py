"""Passes over graph inputs and outputs that the configuration asks for; they open the quantize phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qbc.errors import ConfigError
from qbc.pipelines.grammar import Nest, PassCall, Pipeline, Value

if TYPE_CHECKING:
    from qbc.config import CompileConfig


# Options of these passes, and the fields of the configuration that they come from.
INPUT_OPTIONS = {
    ("mblt-uint8-inputs", "inputs"): "uint8_input.inputs",
    ("mblt-fuse-letterbox", "inputs"): "preprocessing.input_configs",
    ("mblt-fuse-letterbox", "exclude"): "preprocessing.input_configs",
    ("mblt-fuse-normalize", "inputs"): "preprocessing.input_configs",
    ("mblt-fuse-normalize", "exclude"): "preprocessing.input_configs",
    ("mblt-add-outputs", "layers"): "extra_output.layers",
}


INPUT_SECTIONS = {
    "uint8Input": ("mblt-uint8-inputs",),
    "preprocessing": ("mblt-fuse-letterbox", "mblt-fuse-normalize"),
    "extraOutput": ("mblt-add-outputs",),
}


def input_passes(config: CompileConfig) -> Pipeline:
    """Return the passes that the sections uint8Input and preprocessing ask for.

    Fused operations of a preprocessing pipeline are put in front of the function one by one, so the last of them comes
    first.
    """
    calls: list[PassCall] = []
    bytes_ = config.uint8_input
    if bytes_.apply:
        calls.append(_call("mblt-uint8-inputs", inputs=tuple(bytes_.inputs), division_factor=bytes_.division_factor))
    images = config.preprocessing
    if images.apply:
        for name, own in images.input_configs.items():
            calls += [_fuse(operation, inputs=(name,)) for operation in _fused(own.pipeline)]
        others = tuple(images.input_configs)
        calls += [_fuse(operation, exclude=others) for operation in _fused(images.pipeline)]
    return Pipeline((Nest("func.func", tuple(calls)),)) if calls else Pipeline()


def picture_settings(config: CompileConfig) -> list[str]:
    """Return the keys of what is done to calibration pictures before they are samples; arrays are taken as they are."""
    images = config.preprocessing
    pipelines = [images.pipeline, *(own.pipeline for own in images.input_configs.values())]
    outside = [operation for pipeline in pipelines for operation in pipeline if operation not in _fused(pipeline)]
    keys = ["preprocessing"] if images.apply and outside else []
    return [*keys, "imageChannels"] if config.image_channels else keys


def normalizations(config: CompileConfig) -> list[str]:
    """Return, as formulas, what `normalize` does to calibration pictures before they are samples, each once."""
    images = config.preprocessing
    pipelines = [images.pipeline, *(own.pipeline for own in images.input_configs.values())]
    steps = [step for pipeline in pipelines for step in pipeline if step not in _fused(pipeline)]
    return list(dict.fromkeys(_formula(step) for step in steps if images.apply and step.op == "normalize"))


def _formula(normalize: Any) -> str:
    mean, std = (", ".join(f"{value:g}" for value in values) for values in (normalize.mean, normalize.std))
    value = "pixel / 255" if normalize.scale_to_uint8 else "pixel"
    return f"({value} - [{mean}]) / [{std}]"


def output_passes(config: CompileConfig) -> Pipeline:
    """Return `mblt-add-outputs` as the section extraOutput says; CONFIG_ERROR where it is on and names no layer."""
    if not config.extra_output.apply:
        return Pipeline()
    if not config.extra_output.layers:
        raise ConfigError("extraOutput.apply is set, but extraOutput.layers names no layer")
    call = _call("mblt-add-outputs", layers=tuple(config.extra_output.layers))
    return Pipeline((Nest("func.func", (call,)),))


def _fused(pipeline: list[Any]) -> list[Any]:
    """Return what the program does, last operation first."""
    return [operation for operation in reversed(pipeline) if getattr(operation, "fuse_into_first_layer", False)]


def _fuse(operation: Any, inputs: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> PassCall:
    if operation.op == "letterbox":
        return _call(
            "mblt-fuse-letterbox",
            height=operation.height,
            width=operation.width,
            source_height=operation.source_height,
            source_width=operation.source_width,
            pad_value=operation.pad_value,
            centered=operation.align_type == 0,
            inputs=inputs,
            exclude=exclude,
        )
    return _call(
        "mblt-fuse-normalize",
        mean=tuple(operation.mean),
        std=tuple(operation.std),
        scale=255.0 if operation.scale_to_uint8 else 1.0,
        inputs=inputs,
        exclude=exclude,
    )


def _call(name: str, **options: Value) -> PassCall:
    return PassCall(name, tuple((key.replace("_", "-"), value) for key, value in options.items()))
