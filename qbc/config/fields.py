"""What each field of the configuration does: set options of passes, steer the driver, be noted, or be refused.

A field is refused when leaving it out would change the result and the feature does not exist; it is noted when it only
concerns speed, memory, metadata or extra files, or when scripts set it out of habit. A test walks the schema: every
field has an entry here, and every field with an effect has a test of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic.fields import FieldInfo

from qbc.config.errors import key_path
from qbc.config.model import CompileConfig
from qbc.config.section import ConfigSection, section_class
from qbc.errors import QBCompilerError

Kind = Literal["option", "driver", "notice", "refused"]
Setting = int | float | str | bool | tuple[str, ...]


@dataclass(frozen=True)
class Treatment:
    """What happens with a field; `text` says what it does, why it has no effect, or which feature is absent."""

    kind: Kind
    text: str
    options: tuple[tuple[str, str], ...] = ()


def option(*targets: tuple[str, str]) -> Treatment:
    """The value becomes options of passes, `(pass, option)`."""
    return Treatment("option", "sets " + " and ".join(f"`{name}{{{key}}}`" for name, key in targets), targets)


def driver(text: str) -> Treatment:
    """The compile driver acts on the value."""
    return Treatment("driver", text)


def notice(text: str) -> Treatment:
    """The value is accepted and recorded; one notice names all such fields that are set."""
    return Treatment("notice", text)


def refused(text: str) -> Treatment:
    """The feature `text` is absent; any value but the default is UNSUPPORTED_FEATURE."""
    return Treatment("refused", text)


_ROLES = refused("bits by the role of a layer in a transformer")

# Dotted paths of fields, or of sections for all their fields; the longest match counts.
TREATMENTS: Mapping[str, Treatment] = {
    "model_paths": driver("names the source model where no argument does"),
    "calib_data_path": driver("names the calibration data where no argument does"),
    "save_paths": driver("names the output where no argument does"),
    "use_random_calib": driver("calibrates with seeded random data"),
    "inference_scheme": driver("chooses the core modes of the program"),
    "cpu_offload": refused("running parts of the graph on the CPU"),
    "force_npu_input_reposition": refused("changing the layout of inputs on the NPU"),
    "force_npu_output_reposition": refused("changing the layout of outputs on the NPU"),
    "optimize_option": notice("has no effect yet"),
    "buffer_mode": notice("has no effect yet"),
    "device": driver("gpu falls back to the CPU, with a message"),
    "dtype": notice("is metadata"),
    "debug": notice("use --verbose, --timing and --dump-ir"),
    "trace": notice("use --verbose, --timing and --dump-ir"),
    "image_channels": driver("converts calibration images to this number of channels"),
    "config_version": driver("decides whether the file can be read"),
    "split_blocks": refused("splitting a model into several executables"),
    "split_parts": refused("splitting a model into several executables"),
    "uint8_input": driver("makes inputs uint8 by `mblt-uint8-inputs`"),
    "preprocessing": driver("turns calibration images into inputs"),
    "resource_management": notice("memory is managed automatically"),
    "calibration.method": option(
        ("convert-mblt-to-quant", "method"),
        ("quant-group-scales", "method"),
        ("quant-assign-ranges", "method"),
        ("quant-output-scales", "method"),
    ),
    "calibration.output": option(("quant-output-scales", "output")),
    "calibration.mode": option(("quant-assign-ranges", "mode")),
    "calibration.max_percentile.percentile": option(("quant-assign-ranges", "percentile")),
    "calibration.max_percentile.topk_ratio": option(("quant-collect", "topk-ratio")),
    "calibration.max_percentile.max_each": notice("the share topkRatio is kept exactly"),
    "calibration.max_percentile.max_total": notice("the share topkRatio is kept exactly"),
    "calibration.max_percentile.aggregate": refused("the mean of percentiles"),
    "calibration.histogram": notice("the histogram of this version has a fixed resolution"),
    "calibration.histogram.metric": refused("a range search by another measure than the squared error"),
    "calibration.statistics": driver("keeps statistics in a file, or takes them from one"),
    "calibration.group_lut": refused("grouping of lookup-table scales"),
    "calibration.optimize_lut": notice("tables are exact"),
    "calibration.layer_overrides": refused("calibration methods of single layers"),
    "calibration.max_sample_size_for_quant_scheme": notice("no stage judges schemes in this version"),
    "calibration.min_clip_ratio": option(("quant-assign-ranges", "min-clip-ratio")),
    "calibration.act_scale_min": notice("scales have no floor"),
    "calibration.weight_scale_min": notice("scales have no floor"),
    "calibration.auto_unsigned": refused("unsigned codes"),
    "calibration.tie_ratio": option(("quant-group-scales", "tie-ratio")),
    "calibration.intermediate_channel_scale": refused("one scale a channel inside the graph"),
    "calibration.seed": notice("no choice of this version is random"),
    "calibration.max_samples": option(("quant-collect", "samples")),
    "calibration.held_out_ratio": notice("no sample is held out in this version"),
    "bit.transformer": _ROLES,
    "bit.layer_overrides.activation_16bits": option(("quant-assign-bits", "activation16")),
    "bit.layer_overrides.weight_16bits": refused("16-bit weights"),
    "bit.layer_overrides.weight_8bits": notice("all weights have 8 bits"),
    "bit.save_info": driver("writes the width of each layer"),
    "bit.kv_cache": refused("language models with a KV cache"),
    "bit.group_size": refused("groups of weights with a scale of their own"),
    "bit.second_level_scale": refused("groups of weights with a scale of their own"),
    "hessian_quant": refused("Hessian-based weight quantization"),
    "bias_correction.apply": driver("leaves `quant-bias-correction` out when false"),
    "bias_correction.attributes.apply_layers": option(("quant-bias-correction", "layers")),
    "bias_correction.attributes.exclude_layers": option(("quant-bias-correction", "exclude")),
    "mod": refused("training of encodings"),
    "llm": refused("compiling language models with a KV cache"),
    "moe": refused("mixtures of experts"),
    "equivalent_transformation": refused("equivalent transformations"),
    "search_weight_scale": refused("search of weight scales"),
    "load_scale": refused("loading of scales"),
    "save_sample": driver("writes samples and what the graph makes of them"),
    "save_sample.include_outliers": refused("keeping of outlier samples"),
    "extra_output": driver("adds outputs by `mblt-add-outputs`"),
    "runtime_options": notice("is metadata"),
    "tuning.acceptance": refused("judging of steps on held-out samples"),
    "tuning.auto_promote.apply": driver("leaves `quant-promote-16` out when false"),
    "tuning.auto_promote.logit_step": option(("quant-promote-16", "logit-step")),
    "tuning.auto_promote.tail_ratio": option(("quant-promote-16", "tail-ratio")),
    "tuning.auto_promote.min_sqnr": option(("quant-promote-16", "sqnr")),
    "tuning.auto_promote.max_mac_increase": option(("quant-promote-16", "mac-budget")),
    "tuning.auto_promote.max_tensors": refused("a bound of the number of promoted values"),
    "tuning.ada_round": refused("trained rounding of weights"),
    "tuning.cross_layer": refused("cross-layer equalization"),
    "tuning.bias_target": refused("bias correction against the outputs"),
    "tuning.report": notice("use --report FILE"),
    "tuning.report.isolated": option(("quant-report", "isolated")),
    "tuning.report.samples": option(("quant-report", "samples")),
    "tuning.spared": option(("quant-assign-ranges", "spared")),
    "tuning.output_margin": option(("quant-assign-ranges", "output-margin")),
    "pipelines": driver("replaces the pass pipelines of phases"),
    "pass_pipeline": driver("replaces the pass pipelines of all phases, as `--pass-pipeline` does"),
    "origin": driver("names the preset in the record, while the settings are as they were saved"),
}


def leaves(cls: type[ConfigSection] = CompileConfig, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every field that is not a section, with its dotted path."""
    for name, info in cls.model_fields.items():
        section = section_class(cls, name)
        if section is None:
            yield f"{prefix}{name}", info
        else:
            yield from leaves(section, f"{prefix}{name}.")


def treatment(path: str) -> Treatment:
    """Return what happens with a field."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        found = TREATMENTS.get(".".join(parts[:count]))
        if found is not None:
            return found
    raise QBCompilerError(f"the configuration field {path!r} has no treatment", code="INTERNAL_ERROR")


def value_at(config: ConfigSection, path: str) -> Any:
    """Return the value of a dotted path of field names."""
    value: Any = config
    for part in path.split("."):
        value = getattr(value, part)
    return value


def is_active(config: CompileConfig, path: str) -> bool:
    """Return whether no enclosing section is switched off by its `apply`."""
    value: Any = config
    *parents, last = path.split(".")
    for part in parents:
        value = getattr(value, part)
        if last != "apply" and getattr(value, "apply", True) is False:
            return False
    return True


def changed_fields(config: CompileConfig) -> list[str]:
    """Return the paths of fields whose value is not the default."""
    default = CompileConfig()
    return [path for path, _ in leaves() if value_at(config, path) != value_at(default, path)]


def check_features(config: CompileConfig) -> list[str]:
    """Return the notices that a configuration causes; raises UNSUPPORTED_FEATURE that names refused fields."""
    changed = changed_fields(config)
    active = [path for path in changed if is_active(config, path)]
    absent = _absent_fields(config)
    if absent:
        raise _absent(absent)
    texts = [f"{key_of(path)} ({treatment(path).text})" for path in active if treatment(path).kind == "notice"]
    texts += [f"{key_of(path)} (its section is switched off by apply)" for path in changed if path not in active]
    return [f"accepted without effect: {', '.join(texts)}"] if texts else []


def missing_features(config: CompileConfig) -> list[str]:
    """Return the features that a configuration asks for and this version lacks: what `check_features` refuses."""
    return list(dict.fromkeys(treatment(path).text for path in _absent_fields(config)))


def _absent_fields(config: CompileConfig) -> list[str]:
    return [path for path in changed_fields(config) if is_active(config, path) and treatment(path).kind == "refused"]


def _absent(paths: list[str]) -> QBCompilerError:
    features: dict[str, list[str]] = {}
    for path in paths:
        features.setdefault(treatment(path).text, []).append(key_of(path))
    texts = [f"{', '.join(keys[:6])}{', ...' if len(keys) > 6 else ''}: {what}" for what, keys in features.items()]
    return QBCompilerError(
        f"not available in this version: {'; '.join(texts)}",
        code="UNSUPPORTED_FEATURE",
        hint=f"leave {key_of(paths[0])} at its default",
    )


def key_of(path: str) -> str:
    """Return a dotted path of field names in the spelling of files."""
    return key_path(CompileConfig, path.split("."))


@dataclass(frozen=True)
class PassOptions:
    """The value of a field that sets options of passes, whether it is the default, and the options `(pass, option)`."""

    value: Setting
    is_default: bool
    targets: tuple[tuple[str, str], ...]


def pass_options(config: CompileConfig) -> dict[str, PassOptions]:
    """Return the fields that set options of passes, by path."""
    default = CompileConfig()
    found = {}
    for path, _ in leaves():
        known = treatment(path)
        if known.kind == "option":
            value = value_at(config, path)
            setting = tuple(value) if isinstance(value, list) else value
            found[path] = PassOptions(setting, value == value_at(default, path), known.options)
    return found
