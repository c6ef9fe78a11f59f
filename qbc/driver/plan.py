"""From what the user asked to the pipelines of all phases, with every option filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.driver.candidates import PERCENTILES, chosen_percentile
from qbc.driver.events import EventSink, ignore
from qbc.driver.input_passes import INPUT_OPTIONS, INPUT_SECTIONS, input_passes, output_passes
from qbc.driver.scheme import core_mode
from qbc.modes import SINGLE
from qbc.pipelines.grammar import Pipeline, PipelineError, parse_pipeline
from qbc.pipelines.phases import DEFAULT_PRESET, PHASES, load_preset, split_by_phase, with_options, without_pass
from qbc.pipelines.registry import complete

if TYPE_CHECKING:
    from qbc.config.model import CompileConfig
    from qbc.config.origin import OriginConfig
    from qbc.config.resolve import Resolved

Settings = dict[str, list[tuple[str, str, Any]]]  # by configuration key: pass, option, value

PARSE_PHASES = ("import", "convert")
QUANTIZE_PHASES = ("quantize", "lower", "encode")


@dataclass(frozen=True)
class CompileOptions:
    """What a compilation is asked to do, beside its input and output.

    `backend` is the frontend of a source model (by default the suffix of the file tells). `calibration` is a path, a
    list of paths, or arrays in memory; `compile_config` a configuration object, a mapping or the path of a file;
    `sections` are configuration sections by field name, objects or dictionaries; `arguments` are single fields that go
    before all of them; `pipeline` an edited whole pipeline that replaces the one of preset and configuration.
    `strict_config` makes conflicting keys of a file errors; `origin` is the one that settings derived from others keep.
    `preview` is a `.mblt` of the parsed graph for viewing only; `report` is a file that the caller writes after the
    run, which no output of the run may be.
    """

    target: str | Path | None = None
    backend: str | None = None
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    calibration: Any = None
    random_calibration: bool = False
    preset: str | None = None
    compile_config: Any = None
    sections: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    strict_config: bool = False
    origin: OriginConfig | None = None
    config_save_path: Path | None = None
    preview: Path | None = None
    pipeline: str | None = None
    dump_ir: Path | None = None
    crash_reproducer: Path | None = None
    report: Path | None = None
    verify_each: bool = False
    provenance: bool = True
    on_event: EventSink = ignore


@dataclass(frozen=True)
class Plan:
    """Resolved configuration and complete pipelines; `notices` are what resolving has to tell.

    `config` is None for plans that only parse, unless something was configured. `calibration` is what the arguments
    give, else what the configuration names. `edited` is the pipeline text of the user, where there is one.
    """

    config: CompileConfig | None
    pipelines: Mapping[str, Pipeline]
    notices: tuple[str, ...]
    calibration: Any = None
    random_calibration: bool = False
    edited: str | None = None

    def text(self, phases: tuple[str, ...] | None = None) -> str:
        """Return one pipeline text for some phases (by default all of the plan), with every option written out."""
        whole = Pipeline()
        for phase in self.pipelines if phases is None else phases:
            whole = whole + self.pipelines[phase]
        return str(complete(whole))

    def setting_of(self, name: str | None, option: str) -> str | None:
        """Return the configuration key that set an option of a pass, None where a pipeline text did."""
        if self.config is None or name is None or self.edited is not None:
            return None
        from qbc.config.fields import key_of, pass_options

        changed = {path: entry.targets for path, entry in pass_options(self.config).items() if not entry.is_default}
        placed = [path for path, targets in changed.items() if (name, option) in targets]
        path = INPUT_OPTIONS.get((name, option)) or next(iter(placed), None)
        return None if path is None else key_of(path)

    def config_dict(self, phases: Sequence[str] = PHASES) -> dict[str, Any]:
        """Return the configuration as snapshots record it (no paths): the settings that `phases` took."""
        if self.config is None or not {"quantize", "lower"} & set(phases):
            return {}
        if "quantize" in phases:
            return self.config.grouped(paths=False)
        return type(self.config)(inference_scheme=self.config.inference_scheme).grouped(paths=False)


def make_plan(options: CompileOptions, phases: tuple[str, ...] = PHASES) -> Plan:
    """Resolve preset, configuration and an edited pipeline; mistakes in any of them are raised before work begins.

    The plan holds the pipelines of `phases`, the ones that may run, so only their passes are imported. Configuration is
    resolved only where something was configured or a phase takes it, so that plain parsing does not load the model.
    """
    config, warnings = _config(options, phases)
    text = options.pipeline if options.pipeline is not None or config is None else config.pass_pipeline or None
    edited = None if text is None else _edited(text, phases, is_argument=options.pipeline is not None)
    if config is None:
        preset = load_preset(options.preset or DEFAULT_PRESET)
        pipelines = edited or {phase: complete(preset.pipeline(phase)) for phase in phases}
        return _with_data(options, None, pipelines, warnings, text)
    settings, notices = _settings(config, options.target)
    if edited is not None:
        pipelines, untaken = edited, _overruled(config, settings, edited)
        why = "the pipeline text says otherwise"
    else:
        pipelines, untaken = _pipelines(config, settings, phases)
        why = "no pass of the pipelines takes it"
    if "quantize" in phases:
        notices += [f"{path} has no effect: {why}" for path in untaken]
    return _with_data(options, config, pipelines, (*warnings, *notices), text)


def resolve_options(options: CompileOptions, *, features: bool = True) -> Resolved:
    """Return the whole configuration that the options ask for; `features` refuses what does not exist."""
    from qbc.config.resolve import Request, resolve
    from qbc.driver.origin import with_origin

    presets: tuple[Mapping[str, Any], ...] = ()
    preset = None if options.preset is None else load_preset(options.preset)
    if preset is not None:
        default = load_preset(DEFAULT_PRESET)
        own = {phase: text for phase, text in preset.pipelines.items() if text != default.pipelines.get(phase)}
        presets = (*preset.layers, {"pipelines": own})
    arguments = dict(options.arguments)
    if options.random_calibration:
        arguments["use_random_calib"] = True
    if options.pipeline is not None:
        arguments["pass_pipeline"] = options.pipeline
    request = Request(
        presets, options.preset, options.compile_config, options.sections, arguments, options.strict_config
    )
    return with_origin(resolve(request, features=features), preset, options.origin)


def _config(options: CompileOptions, phases: tuple[str, ...]) -> tuple[CompileConfig | None, tuple[str, ...]]:
    if not set(phases) <= set(PARSE_PHASES):
        resolved = resolve_options(options)
        return resolved.config, resolved.notices
    asked = (options.compile_config, options.preset)
    if asked == (None, None) and not options.sections and not options.arguments:
        return None, ()
    resolved = resolve_options(options, features=False)
    if resolved.config.cpu_offload:  # parsing takes only this field and the device; the others wait for quantization
        from qbc.config.fields import check_features
        from qbc.config.model import CompileConfig

        check_features(CompileConfig(cpu_offload=True))
    return resolved.config, resolved.notices


def _settings(config: CompileConfig, target: str | Path | None) -> tuple[Settings, list[str]]:
    """Return what a configuration sets: `(pass, option, value)` by key, and what there is to tell about it.

    Fields at their default set nothing: it is the default of the pass too, so an option that a pipeline text writes out
    stays as it is written.
    """
    from qbc.config.fields import key_of, pass_options

    settings = {
        key_of(path): [(name, option, entry.value) for name, option in entry.targets]
        for path, entry in pass_options(config).items()
        if not entry.is_default
    }
    mode, notices = core_mode(config.inference_scheme, target)
    if mode != SINGLE:
        settings["inferenceScheme"] = [("npu-assign-mode", "mode", mode)]
    percentile, candidate_notices = chosen_percentile(config)
    if percentile is not None:
        settings[PERCENTILES] = [("quant-assign-ranges", "percentile", percentile)]
    return settings, [*notices, *candidate_notices]


def _pipelines(
    config: CompileConfig, settings: Settings, phases: tuple[str, ...]
) -> tuple[dict[str, Pipeline], list[str]]:
    """Return the pipelines of the phases with the settings in them, and the keys that found no place."""
    default = load_preset(DEFAULT_PRESET)
    flat = [setting for group in settings.values() for setting in group]
    pipelines = {}
    placed: set[tuple[str, str]] = set()
    for phase in phases:
        text = config.pipelines.get(phase)  # type: ignore[call-overload]  # the keys are the names of the phases
        pipeline = default.pipeline(phase) if text is None else parse_pipeline(text)
        if phase == "quantize":
            pipeline = input_passes(config) + output_passes(config) + pipeline
        for name in _left_out(config).values():
            pipeline = without_pass(pipeline, name)
        changed, found = with_options(pipeline, flat)
        pipelines[phase] = complete(changed)
        placed |= found
    return pipelines, [path for path, group in settings.items() if not any(item[:2] in placed for item in group)]


def _edited(text: str, phases: tuple[str, ...], *, is_argument: bool) -> dict[str, Pipeline]:
    """Return the pipelines of `phases`; an argument has no passes beyond them, a configuration is for all phases."""
    parts = split_by_phase(parse_pipeline(text), phases[0])
    beyond = [call for phase in PHASES[PHASES.index(phases[-1]) + 1 :] for call in parts[phase].calls()]
    if beyond and is_argument:
        raise PipelineError(f"pass {beyond[0].name!r} comes after the phase {phases[-1]!r}, the last one to run")
    return {phase: complete(parts[phase]) for phase in phases}


def _overruled(config: CompileConfig, settings: Settings, pipelines: Mapping[str, Pipeline]) -> list[str]:
    """Return the keys that an edited text does not follow; one that was printed for the configuration follows all."""
    calls = [call for pipeline in pipelines.values() for call in pipeline.calls()]
    said = {(call.name, option): value for call in calls for option, value in call.options}
    keys = [path for path, group in settings.items() if not any(said.get(item[:2]) == item[2] for item in group)]
    keys += [path for path, name in _left_out(config).items() if any(call.name == name for call in calls)]
    wanted = complete(input_passes(config) + output_passes(config)).calls()
    missing = {call.name for call in wanted if call not in calls}
    return keys + [section for section, names in INPUT_SECTIONS.items() if missing & set(names)]


def _left_out(config: CompileConfig) -> dict[str, str]:
    """Return the passes that the configuration switches off, by the key that does it."""
    switches = {
        "biasCorrection.apply": ("quant-bias-correction", config.bias_correction.apply),
        "tuning.autoPromote.apply": ("quant-promote-16", config.tuning.auto_promote.apply),
    }
    return {path: name for path, (name, wanted) in switches.items() if not wanted}


def _with_data(
    options: CompileOptions,
    config: CompileConfig | None,
    pipelines: Mapping[str, Pipeline],
    notices: tuple[str, ...],
    edited: str | None,
) -> Plan:
    """Return the plan with the calibration data: arguments go before the configuration, data before random data."""
    calibration, random = options.calibration, options.random_calibration
    paths = [] if config is None else config.calib_data_path
    if calibration is None and not random and config is not None:
        calibration = (paths[0] if len(paths) == 1 else paths) if paths else None
        random = config.use_random_calib
    elif calibration is None and paths:
        notices = (*notices, "calibDataPaths of the configuration is not read: use_random_calib is given")
    if calibration is not None and (random or (config is not None and config.use_random_calib)):
        notices = (*notices, "use_random_calib has no effect: there is calibration data")
    return Plan(config, pipelines, notices, calibration, random and calibration is None, edited)
