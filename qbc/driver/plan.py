"""From what the user asked to the pipelines of all phases, with every option filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.driver.events import EventSink, ignore
from qbc.pipelines.grammar import Pipeline, PipelineError, parse_pipeline
from qbc.pipelines.phases import PHASES, load_preset, split_by_phase, with_options, without_pass
from qbc.pipelines.registry import complete

if TYPE_CHECKING:
    from qbc.config import CompileConfig

DEFAULT_PRESET = "default"
PARSE_PHASES = ("import", "convert")
QUANTIZE_PHASES = ("quantize", "lower", "encode")


@dataclass(frozen=True)
class CompileOptions:
    """What a compilation is asked to do, beside its input and output.

    `calibration` is a path, a list of paths, or arrays in memory; `pipeline` an edited whole pipeline that replaces the
    one of preset and configuration.
    """

    target: str | Path | None = None
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    calibration: Any = None
    random_calibration: bool = False
    preset: str | None = None
    calibration_config: Any = None  # CalibrationConfig, a dictionary of its fields, or None
    sections: Mapping[str, Any] = field(default_factory=dict)  # further settings of the configuration by field name
    bias_correction: bool = True
    pipeline: str | None = None
    dump_ir: Path | None = None
    crash_reproducer: Path | None = None
    verify_each: bool = False
    provenance: bool = True
    on_event: EventSink = ignore


@dataclass(frozen=True)
class Plan:
    """Resolved configuration and complete pipelines; `notices` are what resolving has to tell.

    `config` is None for plans that only parse: nothing in those phases can be configured.
    """

    config: CompileConfig | None
    pipelines: Mapping[str, Pipeline]
    notices: tuple[str, ...]

    def text(self, phases: tuple[str, ...] | None = None) -> str:
        """Return one pipeline text for some phases (by default all of the plan), with every option written out."""
        whole = Pipeline()
        for phase in self.pipelines if phases is None else phases:
            whole = whole + self.pipelines[phase]
        return str(complete(whole))

    def config_dict(self) -> dict[str, Any]:
        """Return the configuration as snapshots record it (no paths)."""
        return {} if self.config is None else self.config.model_dump(by_alias=True)


def make_plan(options: CompileOptions, phases: tuple[str, ...] = PHASES) -> Plan:
    """Resolve preset, configuration and an edited pipeline; mistakes in any of them are raised before work begins.

    The plan holds the pipelines of `phases`, the ones that may run, so only their passes are imported. Configuration is
    resolved only where one of them takes it, so that parsing does not load the configuration model either.
    """
    preset = load_preset(options.preset or DEFAULT_PRESET)
    config: CompileConfig | None = None
    changes: Mapping[str, Any] = {}
    if options.calibration_config is not None or options.sections or not set(phases) <= set(PARSE_PHASES):
        from qbc.config import pipeline_changes, resolve_config

        config = resolve_config(preset.config, options.calibration_config, options.sections)
        changes = pipeline_changes(config)
    if options.pipeline is not None:
        parts = split_by_phase(parse_pipeline(options.pipeline))
        beyond = [call for phase in PHASES[PHASES.index(phases[-1]) + 1 :] for call in parts[phase].calls()]
        if beyond:
            raise PipelineError(f"pass {beyond[0].name!r} comes after the phase {phases[-1]!r}, the last one to run")
        return Plan(config, {phase: complete(parts[phase]) for phase in phases}, ())
    flat = [change for group in changes.values() for change in group]
    pipelines: dict[str, Pipeline] = {}
    placed: set[tuple[str, str]] = set()
    for phase in phases:
        pipeline = preset.pipeline(phase)
        if not options.bias_correction:
            pipeline = without_pass(pipeline, "quant-bias-correction")
        changed, found = with_options(pipeline, flat)
        pipelines[phase] = complete(changed)
        placed |= found
    notices = () if config is None else tuple(_without_effect(config, changes, placed))
    return Plan(config, pipelines, notices)


def _without_effect(config: CompileConfig, changes: Mapping[str, Any], placed: set[tuple[str, str]]) -> list[str]:
    from qbc.config.resolve import is_default

    notices = []
    for path, group in changes.items():
        if not is_default(config, path) and not any((name, option) in placed for name, option, _ in group):
            notices.append(f"{path} has no effect in this version")
    return notices
