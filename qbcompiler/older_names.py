"""Arguments of older releases: refused with the reason, ignored with a warning, or translated with a warning."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from qbc.errors import ArgumentError

Notice = Callable[[str], None]

REMOVED_WITH_ERROR = {
    "in_dformats": "the layout of inputs is found from the model",
    "input_shape_dict": "bind shapes with feed_dict, several sizes with multi_shape",
    "hf_config": "give the model itself, its parts with model_part",
    "input_shape": "bind shapes with feed_dict, or with --input-shape on the command line",
}
REMOVED_WITH_NOTICE = {
    "use_gpu_only_for_calibration": "it has no effect any more",
    "accumulation_device": "it has no effect any more",
    "model_nickname": "the output is named by save_path",
    "is_quant_ch": "weights always have one scale a channel",
    "singlecore_compile": "the core mode is chosen by inference_scheme",
}
RENAMED = {
    "optq_config": "hessian_quant_config",
    "layer_bias_correction": "bias_correction",
    "layer_bias_correction_config": "bias_correction_config",
    "calib_txt_path": "calib_data_path",
}
_METHODS: Mapping[str, dict[str, Any]] = {
    "max": {"mode": 0},
    "percentile": {"mode": 1},
    "maxpercentile": {"mode": 1},
    "fastpercentile": {"mode": 1},
    "kl": {"mode": 2, "histogram": {"metric": "kl"}},
    "mse": {"mode": 2, "histogram": {"metric": "mse"}},
}
_OUTPUTS = {"layer": 0, "ch": 1, "sigmoid": 2}


def translate(extra: Mapping[str, Any], known: Mapping[str, Any] | list[str], notice: Notice) -> dict[str, Any]:
    """Return what keyword arguments beyond the signature mean today, by present argument name.

    Raises ArgumentError (a ValueError) for those that were removed, and for names that never existed.
    """
    result: dict[str, Any] = {}
    calibration: dict[str, Any] = {}
    for name, value in extra.items():
        if name in REMOVED_WITH_ERROR:
            raise ArgumentError(f"{name} is no longer accepted", hint=REMOVED_WITH_ERROR[name])
        if name in REMOVED_WITH_NOTICE:
            notice(f"{name} is ignored: {REMOVED_WITH_NOTICE[name]}")
        elif name in RENAMED:
            notice(f"{name} is now called {RENAMED[name]}")
            result[RENAMED[name]] = value
        elif name == "weight_dtype":
            notice("weight_dtype is now called resource_management_config.weight_dtype")
            result["resource_management_config"] = {"weight_dtype": value}
        elif _calibration_field(name, value, calibration):
            notice(f"{name} is now a field of calibration_config")
        elif name in known:
            result[name] = value
        else:
            raise unknown_argument(name, known)
    if calibration:
        result["calibration_config"] = calibration
    return result


def unknown_argument(name: str, known: Mapping[str, Any] | list[str]) -> ArgumentError:
    """Build the error for an argument that does not exist."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return ArgumentError(f"unknown argument {name!r}", hint=f"did you mean {near[0]!r}?" if near else None)


def _calibration_field(name: str, value: Any, calibration: dict[str, Any]) -> bool:
    """Enter an argument that became a field of the calibration section; returns whether `name` is one."""
    if name == "quantize_method":
        if value not in _METHODS:
            raise ArgumentError(f"quantize_method {value!r} is unknown", hint=f"choose one of {', '.join(_METHODS)}")
        calibration.update(_METHODS[value])
    elif name == "quant_output":
        if value not in _OUTPUTS:
            raise ArgumentError(f"quant_output {value!r} is unknown", hint=f"choose one of {', '.join(_OUTPUTS)}")
        calibration["output"] = _OUTPUTS[value]
    elif name in ("quantize_percentile", "percentile"):
        calibration.setdefault("max_percentile", {})["percentile"] = value
    elif name == "topk_ratio":
        calibration.setdefault("max_percentile", {})["topk_ratio"] = value
    elif name in ("quantization_method", "quantization_mode", "quantization_output"):
        calibration[name.removeprefix("quantization_")] = value
    else:
        return False
    return True
