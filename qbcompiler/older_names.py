"""Arguments of older releases: refused with the reason, ignored with a warning, or translated with a warning."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from qbc.errors import ArgumentError
from qbcompiler.arguments import SECTIONS

Notice = Callable[[str], None]

REMOVED_WITH_ERROR = {
    "in_dformats": "the layout of inputs is found from the model",
    "input_shape_dict": "bind shapes with feed_dict, several sizes with multi_shape",
    "target": "a part of a model is chosen by model_part, a device by target_device",
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
    "layer_bias_correction": "bias_correction",
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


def translate(
    extra: Mapping[str, Any], given: Mapping[str, Any], known: Collection[str], notice: Notice
) -> dict[str, Any]:
    """Return what keyword arguments beyond the signature mean today, by present argument name.

    `given` are the arguments of the call under present names: they go before older ones, sections field by field.
    Raises ArgumentError (a ValueError) for arguments that were removed, and for names that never existed.
    """
    meant = _Meaning(given, known, notice)
    for name, value in extra.items():
        if name in REMOVED_WITH_ERROR:
            raise ArgumentError(f"{name} is no longer accepted", hint=REMOVED_WITH_ERROR[name])
        if name in REMOVED_WITH_NOTICE:
            notice(f"{name} is ignored: {REMOVED_WITH_NOTICE[name]}")
        elif name in RENAMED:
            meant.renamed(name, RENAMED[name], value)
        elif name in _OLDER_SECTIONS:
            _OLDER_SECTIONS[name](meant, value)
        elif name == "weight_dtype":
            meant.field(name, "resource_management_config", {"weight_dtype": value})
        elif (fields := _calibration_fields(name, value)) is not None:
            meant.field(name, "calibration_config", fields)
        else:
            raise unknown_argument(name, known)
    return meant.arguments


class _Meaning:
    """Collects what older arguments mean."""

    def __init__(self, given: Mapping[str, Any], accepted: Collection[str], notice: Notice) -> None:
        self.arguments: dict[str, Any] = {}
        self._accepted = accepted
        self.notice = notice
        self._given = given

    def renamed(self, old: str, present: str, value: Any) -> None:
        """Enter the value of an argument that has another name today."""
        self.notice(f"{old} is now called {present}")
        self.enter(old, present, value)

    def field(self, old: str, present: str, fields: Mapping[str, Any]) -> None:
        """Enter an argument that became fields of a section."""
        self.notice(f"{old} is now a field of {present}")
        self.enter(old, present, fields)

    def enter(self, old: str, present: str, value: Any) -> None:
        """Enter a value under a present name; one that was given or entered before goes first, with a notice."""
        if present not in self._accepted:
            raise ArgumentError(
                f"{old} is no argument of this function", hint="quantization takes it, parsing does not"
            )
        known = self.arguments.get(present, self._given.get(present))
        if known is None:
            self.arguments[present] = value
        elif present in SECTIONS:
            from qbc.config.resolve import section_values
            from qbc.config.section import merge

            older, newer = section_values(SECTIONS[present], value), section_values(SECTIONS[present], known)
            self.arguments[present] = merge(older, newer)
            if merge(newer, older) != merge(older, newer):
                self.notice(f"{old} and {present} set the same fields to different values; {present} counts")
        elif known != value:
            self.notice(f"{old} is not read: {present} is given too")


def _hessian(meant: _Meaning, value: Any) -> None:
    """The method of `optq_config` is absent: what is in it is checked, then the call goes on without it."""
    from qbc.config.checks import checked
    from qbc.config.older import HESSIAN_IS_ABSENT, OptqConfig

    given = value if hasattr(value, "apply") else checked(OptqConfig, value, where="optq_config")
    absent = f"; {HESSIAN_IS_ABSENT}" if given.apply else ""
    meant.notice(f"optq_config is now called hessian_quant_config{absent}")


def _quantization(meant: _Meaning, value: Any) -> None:
    from qbc.config.checks import checked
    from qbc.config.older import QuantizationConfig

    given = checked(QuantizationConfig, value, where="quantization_config")
    meant.notice("quantization_config is now called calibration_config and bit_config")
    meant.enter("quantization_config", "calibration_config", given.calibration)
    meant.enter("quantization_config", "bit_config", given.bit)


def _input_process(meant: _Meaning, value: Any) -> None:
    from qbc.config.checks import checked
    from qbc.config.older import InputProcessConfig

    given = checked(InputProcessConfig, value, where="input_process_config")
    meant.notice("input_process_config is now called uint8_input_config, preprocessing_config and image_channels")
    meant.enter("input_process_config", "uint8_input_config", given.uint8_input)
    meant.enter("input_process_config", "preprocessing_config", given.preprocessing)
    if "image_channels" in given.model_fields_set:
        meant.enter("input_process_config", "image_channels", given.image_channels)


def _layer_bias_correction(meant: _Meaning, value: Any) -> None:
    """The section was off by default when it had this name, also where a dictionary does not say so."""
    from qbc.config.checks import checked
    from qbc.config.older import LayerBiasCorrectionConfig

    if isinstance(value, Mapping):
        value = checked(LayerBiasCorrectionConfig, value, where="layer_bias_correction_config")
    meant.renamed("layer_bias_correction_config", "bias_correction_config", value)


_OLDER_SECTIONS: Mapping[str, Callable[[_Meaning, Any], None]] = {
    "layer_bias_correction_config": _layer_bias_correction,
    "optq_config": _hessian,
    "quantization_config": _quantization,
    "input_process_config": _input_process,
}


def unknown_argument(name: str, known: Collection[str]) -> ArgumentError:
    """Build the error for an argument that does not exist."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return ArgumentError(f"unknown argument {name!r}", hint=f"did you mean {near[0]!r}?" if near else None)


def _calibration_fields(name: str, value: Any) -> dict[str, Any] | None:
    """Return what an argument that became fields of the calibration section means, None for other arguments."""
    if name == "quantize_method":
        return _METHODS[_choice(name, value, _METHODS)]
    if name == "quant_output":
        return {"output": _OUTPUTS[_choice(name, value, _OUTPUTS)]}
    if name in ("quantize_percentile", "percentile"):
        return {"max_percentile": {"percentile": value}}
    if name == "topk_ratio":
        return {"max_percentile": {"topk_ratio": value}}
    if name in ("quantization_method", "quantization_mode", "quantization_output"):
        return {name.removeprefix("quantization_"): value}
    return None


def _choice(name: str, value: Any, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{name} {value!r} is unknown", hint=f"choose one of {', '.join(choices)}")
    return value
