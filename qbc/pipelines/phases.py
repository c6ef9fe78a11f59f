"""Phases and presets as data: which pipeline each phase of a compilation runs.

A preset is a YAML file beside this module: a partial configuration and the pipelines of its phases as text. A preset
with a base inherits from it: configuration sections merge key by key, a pipeline replaces the one of the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from qbc.errors import QBCompilerError
from qbc.pipelines.grammar import Nest, PassCall, Pipeline, PipelineError, Value, did_you_mean, parse_pipeline

PHASES = ("import", "convert", "quantize", "lower", "encode")
PRESET_DIRECTORY = Path(__file__).parent / "presets"


@dataclass(frozen=True)
class Preset:
    """A named way to compile: `config` is the merged partial configuration, `pipelines` the text of all phases."""

    name: str
    base: str | None
    description: str
    own_config: Mapping[str, Any]
    config: Mapping[str, Any]
    pipelines: Mapping[str, str]

    def pipeline(self, phase: str) -> Pipeline:
        """Return the parsed pipeline of a phase."""
        return parse_pipeline(self.pipelines[phase])


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(sorted(path.stem for path in PRESET_DIRECTORY.glob("*.yaml")))


@cache
def load_preset(name: str) -> Preset:
    """Load a preset with everything it inherits; raises ARGUMENT_ERROR for an unknown name."""
    import yaml

    if name not in preset_names():
        hint = did_you_mean(name, preset_names()) or f"choose one of {', '.join(preset_names())}"
        raise QBCompilerError(f"unknown config preset {name!r}", code="ARGUMENT_ERROR", hint=hint)
    data = yaml.safe_load((PRESET_DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8"))
    own_config = data.get("config") or {}
    pipelines = data.get("pipelines") or {}
    if data["base"] is None:
        return Preset(name, None, data["description"], own_config, own_config, pipelines)
    base = load_preset(data["base"])
    config = merge(base.config, own_config)
    return Preset(name, base.name, data["description"], own_config, config, {**base.pipelines, **pipelines})


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two nested dictionaries; lists and scalars of `override` replace those of `base`."""
    merged = dict(base)
    for key, value in override.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def with_options(
    pipeline: Pipeline, changes: Iterable[tuple[str, str, Value]]
) -> tuple[Pipeline, set[tuple[str, str]]]:
    """Set options of passes wherever the passes occur and have the option.

    Returns the new pipeline and the (pass, option) pairs that found a place.
    """
    wanted: dict[str, dict[str, Value]] = {}
    for name, option, value in changes:
        wanted.setdefault(name, {})[option] = value
    placed: set[tuple[str, str]] = set()
    return Pipeline(tuple(_with_options(item, wanted, placed) for item in pipeline.items)), placed


def _with_options(
    item: PassCall | Nest, wanted: Mapping[str, Mapping[str, Value]], placed: set[tuple[str, str]]
) -> PassCall | Nest:
    from qbc.pipelines.registry import option_infos, pass_class

    if isinstance(item, Nest):
        return Nest(item.anchor, tuple(_with_options(inner, wanted, placed) for inner in item.items))
    if item.name not in wanted:
        return item
    known = {info.name for info in option_infos(pass_class(item.name))}
    values = {option: value for option, value in wanted[item.name].items() if option in known}
    placed.update((item.name, option) for option in values)
    return PassCall(item.name, tuple({**dict(item.options), **values}.items()))


def without_pass(pipeline: Pipeline, name: str) -> Pipeline:
    """Return the pipeline without the passes called `name`."""
    return Pipeline(tuple(item for item in (_without_pass(item, name) for item in pipeline.items) if item is not None))


def _without_pass(item: PassCall | Nest, name: str) -> PassCall | Nest | None:
    if isinstance(item, PassCall):
        return None if item.name == name else item
    kept = (_without_pass(inner, name) for inner in item.items)
    return Nest(item.anchor, tuple(inner for inner in kept if inner is not None))


def split_by_phase(pipeline: Pipeline) -> dict[str, Pipeline]:
    """Cut an edited whole pipeline into phases, at the conversions and at `npu-emit`.

    A conversion opens its phase, so passes before it belong to the phase before. Raises PipelineError when the
    conversions do not stand in the order of the phases.
    """
    openers = {
        "convert-framework-to-mblt": "convert",
        "convert-mblt-to-quant": "quantize",
        "convert-quant-to-npu": "lower",
        "npu-emit": "encode",
    }
    parts: dict[str, list[PassCall | Nest]] = {phase: [] for phase in PHASES}
    current = PHASES[0]
    for item in _single_calls(pipeline.items):
        name = item.name if isinstance(item, PassCall) else Pipeline((item,)).calls()[0].name
        opened = openers.get(name, current)
        if PHASES.index(opened) < PHASES.index(current):
            raise PipelineError(f"{name!r} comes after the phase {current!r}")
        current = opened
        parts[current].append(item)
    return {phase: Pipeline(tuple(items)) for phase, items in parts.items()}


def _single_calls(items: tuple[PassCall | Nest, ...]) -> list[PassCall | Nest]:
    """Return the items with every nest cut into nests of one pass each."""
    single: list[PassCall | Nest] = []
    for item in items:
        if isinstance(item, PassCall):
            single.append(item)
        else:
            single.extend(Nest(item.anchor, (inner,)) for inner in _single_calls(item.items))
    return single
