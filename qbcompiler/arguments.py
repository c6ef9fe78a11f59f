"""What the documented arguments mean: fields of the configuration, sections of it, or things of the call itself.

Defaults are never refused. Whether a field has an effect in this version is decided in one place, `qbc.config.fields`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qbc.argument_types import (
    CONFIGURATION,
    LIST,
    PATH,
    SAMPLES,
    SECTION,
    SWITCH,
    TABLE,
    TEXT,
    WHOLE,
    Kind,
    described,
    holds_nul,
)
from qbc.errors import ArgumentError, QBCompilerError
from qbc.pipelines.grammar import did_you_mean

Notice = Callable[[str], None]

BACKENDS = {
    "onnx": "onnx",
    "torch": "torch",
    "tf": "tf",
    "tensorflow": "tf",
    "keras": "tf",
    "tflite": "tflite",
    "torchscript": "torchscript",
}
_FILES = (".onnx", ".mblt", ".mxq", ".mlir", ".npy", ".npz", ".pt", ".txt", ".json")  # targets are .yaml, .yml
DEVICES = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu"}

# Arguments that hold a section of the configuration, and the field of that section.
SECTIONS = {
    "calibration_config": "calibration",
    "bit_config": "bit",
    "llm_config": "llm",
    "moe_config": "moe",
    "hessian_quant_config": "hessian_quant",
    "bias_correction_config": "bias_correction",
    "mod_config": "mod",
    "equivalent_transformation_config": "equivalent_transformation",
    "search_weight_scale_config": "search_weight_scale",
    "load_scale_config": "load_scale",
    "uint8_input_config": "uint8_input",
    "preprocessing_config": "preprocessing",
    "save_sample_config": "save_sample",
    "resource_management_config": "resource_management",
    "extra_output_config": "extra_output",
    "tuning_config": "tuning",
}
# Arguments that are single fields of the configuration, under the same name.
FIELDS = (
    "device",
    "inference_scheme",
    "use_random_calib",
    "cpu_offload",
    "optimize_option",
    "buffer_mode",
    "force_npu_input_reposition",
    "force_npu_output_reposition",
    "image_channels",
    "split_blocks",
    "split_parts",
)
# Arguments that only concern parsing: a `.mblt` was parsed already.
PARSER_ONLY = (
    "save_subgraph_type",
    "output_subgraph_path",
    "feed_dict",
    "dynamic_axes",
    "multi_shape",
    "yolo_decode_include",
    "exclude_first_subgraph",
)
# What the arguments may be; the model has a check of its own.
KINDS: Mapping[str, Kind] = {
    "target_device": Kind(PATH.accepts, "the name of a target or the path of a target file"),
    "calib_data_path": SAMPLES,
    "save_path": PATH,
    "mblt_save_path": PATH,
    "backend": TEXT,
    "feed_dict": TABLE,
    "dynamic_axes": TABLE,
    "multi_shape": TABLE,
    "yolo_decode_include": SWITCH,
    "exclude_first_subgraph": SWITCH,
    "device": TEXT,
    "inference_scheme": TEXT,
    "use_random_calib": SWITCH,
    "cpu_offload": SWITCH,
    "optimize_option": WHOLE,
    "bias_correction": SWITCH,
    "buffer_mode": WHOLE,
    "force_npu_input_reposition": SWITCH,
    "force_npu_output_reposition": SWITCH,
    "image_channels": WHOLE,
    "split_blocks": LIST,
    "split_parts": WHOLE,
    "config_preset": TEXT,
    "compile_config": CONFIGURATION,
    "config_save_path": PATH,
    "model_part": TEXT,
    "model_part_options": TABLE,
    "save_subgraph_type": WHOLE,
    "output_subgraph_path": PATH,
    **dict.fromkeys(SECTIONS, SECTION),
}


def check_kinds(given: Mapping[str, Any]) -> None:
    """Raise ArgumentError for the first argument whose value is of another kind; None counts as not given."""
    for name, value in given.items():
        if name in KINDS and value is not None:
            KINDS[name].check(name, value)
    _check_samples(given.get("calib_data_path"))


def _check_samples(data: Any) -> None:
    """Raise ArgumentError for calibration data by names that are no texts, or in files that no file can be."""
    for item in data if isinstance(data, list | tuple) else [data]:
        if holds_nul(item):
            raise ArgumentError(f"calib_data_path names {str(item)[:100]!r}, which holds a NUL character")
        if not isinstance(item, Mapping):
            continue
        for name in item:
            if not isinstance(name, str):
                raise ArgumentError(f"calib_data_path has the key {described(name)}, expected names of inputs")


def refuse(name: str, what: str) -> QBCompilerError:
    """Build the error for a documented feature that this version does not have."""
    return QBCompilerError(
        f"{name}: {what} is not available in this version",
        code="UNSUPPORTED_FEATURE",
        hint=f"leave {name} at its default",
    )


def check_backend(backend: str | None) -> str | None:
    """Return the name of the frontend for a backend, in any case of letters; None where none is given.

    Documented backends that no installed package has are refused by name, anything else is a wrong argument.
    """
    if backend is None:
        return None
    from qbc.frontends.registry import frontend_names, has_frontend

    name = str(backend).lower()
    known = BACKENDS.get(name, name)
    if has_frontend(known):
        return known
    if name in BACKENDS:
        raise QBCompilerError(
            f"backend {known!r} is not available in this version",
            code="UNSUPPORTED_FEATURE",
            hint="export the model to ONNX",
        )
    choices = list(dict.fromkeys([*BACKENDS, *frontend_names()]))
    hint = did_you_mean(name, choices) or f"choose one of {', '.join(choices)}"
    raise ArgumentError(f"unknown backend {backend!r}", hint=hint)


def check_device(device: str, notice: Notice) -> None:
    """Accept `cpu`, `gpu` and `cuda`; this version computes on the CPU and says so where a GPU was asked for."""
    known = DEVICES.get(str(device).lower())
    if known is None:
        raise ArgumentError(f"unknown device {device!r}", hint="choose gpu or cpu")
    if known == "gpu":
        notice("device gpu: this version computes on the CPU")


def check_order(target: Any, function: str, names: Sequence[str]) -> None:
    """Raise ArgumentError where a file of a model stands in the place of the device, as in calls of older releases.

    `names` are the arguments that `function` takes by position, up to those that could be meant.
    """
    if isinstance(target, str | Path) and Path(target).suffix.lower() in _FILES:
        hint = f"the order of arguments is {function}({', '.join(names)})"
        raise ArgumentError(f"target_device is {str(target)!r}, which names a file and no device", hint=hint)


def check_part(is_snapshot: bool, model_part: str | None, options: Mapping[str, Any] | None) -> None:
    """Refuse the choice of a part: as wrong for a `.mblt`, as absent for other models."""
    if model_part is None and not options:
        return
    name = "model_part" if model_part is not None else "model_part_options"
    if is_snapshot:
        raise ArgumentError(f"{name} cannot be chosen for a .mblt: the part was chosen when the file was made")
    raise refuse(name, "choosing a part of a model")


def check_shapes(given: Mapping[str, Any]) -> None:
    """Check the arguments that describe several or dynamic sizes; both are refused after wrong uses are named."""
    if given.get("multi_shape"):
        if given.get("dynamic_axes"):
            raise ArgumentError("multi_shape and dynamic_axes exclude each other")
        if not given.get("feed_dict"):
            raise ArgumentError("multi_shape needs feed_dict", hint="give an example of each input")
        raise refuse("multi_shape", "compiling one graph for several sizes")
    if given.get("dynamic_axes"):
        raise refuse("dynamic_axes", "a dynamic dimension in the executable")


def settings_of(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sections and the single fields of the configuration that the arguments of a call set."""
    sections = {field: given[name] for name, field in SECTIONS.items() if given.get(name) is not None}
    fields = {name: given[name] for name in FIELDS if given.get(name) is not None}
    if given.get("bias_correction") is not None:
        fields["bias_correction"] = {"apply": given["bias_correction"]}
    return sections, fields


def shapes_of_feed(feed_dict: Mapping[str, Any] | None) -> dict[str, tuple[int, ...]]:
    """Return the shapes that a feed dictionary binds: its values are arrays or tensors by input name."""
    if feed_dict is not None:
        TABLE.check("feed_dict", feed_dict)
    shapes: dict[str, tuple[int, ...]] = {}
    for name, value in (feed_dict or {}).items():
        if value is None:
            continue
        shape = getattr(value, "shape", None)
        if shape is None:
            shape = _shape_of_list(name, value)
        shapes[name] = tuple(int(dim) for dim in shape)
    return shapes


def _shape_of_list(name: str, value: Any) -> tuple[int, ...]:
    """Return the shape of nested lists of numbers."""
    import numpy as np

    try:
        array = np.asarray(value) if isinstance(value, list | tuple) else None
    except ValueError:  # rows of different lengths
        array = None
    if array is None or array.dtype.kind not in "biuf":
        expected = "an array, a tensor, or nested lists of numbers in equal rows"
        raise ArgumentError(f"feed_dict[{name!r}] is {described(value)}, expected {expected}")
    return array.shape
