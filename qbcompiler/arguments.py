"""What the documented arguments mean in this version: carried out, accepted with a notice, or refused by name.

Defaults are never refused. An argument whose feature does not exist yet is refused when leaving it out would change the
result, and accepted with a notice when it only concerns speed, memory or extra files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from qbc.errors import ArgumentError, QBCompilerError

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
SCHEMES = ("single", "multi", "global4", "global8", "all", "global")
OPTIMIZE_OPTIONS = (0, 1, 2, 3, 4, 99)
DEVICES = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu"}

# Arguments of older releases that had no meaning left when they were removed.
_REMOVED_WITH_ERROR = {
    "in_dformats": "the layout of inputs is found from the model",
    "input_shape_dict": "bind shapes with feed_dict, or with --input-shape on the command line",
    "hf_config": "give the model itself",
}
_REMOVED_WITH_NOTICE = {
    "use_gpu_only_for_calibration": "it has no effect any more",
    "accumulation_device": "it has no effect any more",
    "weight_dtype": "weights keep the type of the model until they are quantized",
    "save_subgraph_type": "write a .mblt with mblt_compile to look at the parsed graph",
    "output_subgraph_path": "write a .mblt with mblt_compile to look at the parsed graph",
    "exclude_first_subgraph": "the whole graph is compiled",
}


def refuse(name: str, what: str) -> QBCompilerError:
    """Build the error for a documented feature that this version does not have."""
    return QBCompilerError(
        f"{name}: {what} is not available in this version",
        code="UNSUPPORTED_FEATURE",
        hint=f"leave {name} at its default",
    )


def check_backend(backend: str) -> None:
    """Accept `onnx` in any case; other documented backends are refused by name, anything else is a wrong argument."""
    known = BACKENDS.get(str(backend).lower())
    if known is None:
        raise ArgumentError(f"unknown backend {backend!r}", hint=f"choose one of {', '.join(BACKENDS)}")
    if known != "onnx":
        raise QBCompilerError(
            f"backend {known!r} is not available in this version",
            code="UNSUPPORTED_FEATURE",
            hint="export the model to ONNX",
        )


def check_device(device: str, notice: Notice) -> None:
    """Accept `cpu`, `gpu` and `cuda`; this version computes on the CPU and says so where a GPU was asked for."""
    known = DEVICES.get(str(device).lower())
    if known is None:
        raise ArgumentError(f"unknown device {device!r}", hint="choose gpu or cpu")
    if known == "gpu":
        notice("device gpu: this version computes on the CPU")


def check_scheme(scheme: str, target: str | None) -> None:
    """Accept `single`; the other documented schemes are refused by name."""
    if scheme not in SCHEMES:
        raise ArgumentError(f"unknown inference_scheme {scheme!r}", hint=f"choose one of {', '.join(SCHEMES)}")
    if scheme == "single":
        return
    if target is not None and target.startswith("regulus"):
        if scheme == "all":
            return  # the device has one core, so all modes are the single one
        raise QBCompilerError(f"inference_scheme {scheme!r}: {target} has one core", code="TARGET_ERROR")
    raise refuse("inference_scheme", f"core mode {scheme!r}")


def check_numbers(optimize_option: int, buffer_mode: int, image_channels: int, notice: Notice) -> None:
    """Validate the numeric options that have no effect yet, and say so where they differ from the default."""
    if optimize_option not in OPTIMIZE_OPTIONS:
        accepted = ", ".join(map(str, OPTIMIZE_OPTIONS))
        raise ArgumentError(f"optimize_option {optimize_option!r} is not valid", hint=f"choose one of {accepted}")
    if isinstance(buffer_mode, bool) or not isinstance(buffer_mode, int) or buffer_mode < 0:
        raise ArgumentError(f"buffer_mode {buffer_mode!r} is not a natural number")
    if optimize_option != 1:
        notice("optimize_option has no effect yet")
    if buffer_mode != 1:
        notice("buffer_mode has no effect yet")
    if image_channels not in (0, 1, 3):
        raise ArgumentError(f"image_channels {image_channels!r} is not valid", hint="choose 0, 1 or 3")


def check_refused(values: Mapping[str, tuple[Any, str]]) -> None:
    """Refuse every argument that is set: `values` maps its name to (value, the feature that is absent)."""
    for name, (value, what) in values.items():
        if value is not None and value is not False and value != [] and value != {} and value != 0:
            raise refuse(name, what)


def check_sections(sections: Mapping[str, Any]) -> None:
    """Refuse configuration sections of absent features, unless they are None, empty or switched off (`apply` false)."""
    for name, section in sections.items():
        if section is None or not _is_on(section):
            continue
        raise refuse(name, "what it configures")


def _is_on(section: Any) -> bool:
    if isinstance(section, Mapping):
        return bool(section) and section.get("apply", True) is not False
    return getattr(section, "apply", True) is not False


def applies(section: Any) -> bool:
    """Return whether a section that has a feature is switched on; None means its default, on."""
    return section is None or _is_on(section)


def check_extra(extra: Mapping[str, Any], notice: Notice) -> None:
    """Treat keyword arguments beyond the signature: names of older releases, or mistakes."""
    import difflib

    for name, value in extra.items():
        if name in _REMOVED_WITH_ERROR:
            raise ArgumentError(f"{name} is no longer accepted", hint=_REMOVED_WITH_ERROR[name])
        if name in _REMOVED_WITH_NOTICE:
            notice(f"{name} is ignored: {_REMOVED_WITH_NOTICE[name]}")
        elif name in ("optq_config", "layer_bias_correction"):
            replacement = {"optq_config": "hessian_quant_config", "layer_bias_correction": "bias_correction"}[name]
            check_sections({name: value if value is not False else None})
            notice(f"{name} is now called {replacement}")
        else:
            near = difflib.get_close_matches(name, KNOWN_ARGUMENTS, n=1)
            raise ArgumentError(f"unknown argument {name!r}", hint=f"did you mean {near[0]!r}?" if near else None)


KNOWN_ARGUMENTS = (
    "model",
    "target_device",
    "calib_data_path",
    "save_path",
    "backend",
    "feed_dict",
    "dynamic_axes",
    "multi_shape",
    "device",
    "inference_scheme",
    "use_random_calib",
    "cpu_offload",
    "optimize_option",
    "bias_correction",
    "buffer_mode",
    "image_channels",
    "config_preset",
    "compile_config",
    "config_save_path",
    "model_part",
    "model_part_options",
    "calibration_config",
    "bit_config",
    "extra_output_config",
)


def shapes_of_feed(feed_dict: Mapping[str, Any] | None) -> dict[str, tuple[int, ...]]:
    """Return the shapes that a feed dictionary binds: its values are arrays or tensors by input name."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, value in (feed_dict or {}).items():
        if value is None:
            continue
        shape = getattr(value, "shape", None)
        if shape is None:
            raise ArgumentError(f"feed_dict[{name!r}] is {type(value).__name__}, expected an array or tensor")
        shapes[name] = tuple(int(dim) for dim in shape)
    return shapes
