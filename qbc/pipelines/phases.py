"""Phases and presets as data: which pipeline each phase of a compilation runs.

A preset is a YAML file: a partial configuration and the pipelines of its phases as text. A preset with a base inherits
from it: configuration sections merge key by key, a pipeline replaces the one of the base. Presets stand beside this
module, in the directories that the variable QBCOMPILER_PRESETS lists, or in a file that is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from qbc.errors import ArgumentError, ConfigError, QBCompilerError
from qbc.pipelines.grammar import Nest, PassCall, Pipeline, PipelineError, Value, did_you_mean, parse_pipeline
from qbc.structured_text import parse_structured, read_file_text

PHASES = ("import", "convert", "quantize", "lower", "encode")
DEFAULT_PRESET = "default"
PRESET_DIRECTORY = Path(__file__).parent / "presets"
PRESET_VARIABLE = "QBCOMPILER_PRESETS"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Preset:
    """A named way to compile: partial configurations (its own last) and the pipeline texts of all phases."""

    name: str
    base: str | None
    description: str
    layers: tuple[Mapping[str, Any], ...]
    pipelines: Mapping[str, str]

    @property
    def own_config(self) -> Mapping[str, Any]:
        """The partial configuration of this preset without those that it inherits."""
        return self.layers[-1]

    def pipeline(self, phase: str) -> Pipeline:
        """Return the parsed pipeline of a phase."""
        return parse_pipeline(self.pipelines[phase])


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted: those beside this module and those in the directories of the user."""
    return tuple(sorted({path.stem for directory in _directories() for path in directory.glob("*.yaml")}))


def user_presets() -> dict[str, Path]:
    """Return the presets in the directories of the user: name and file, those that others hide left out."""
    files = [path for directory in reversed(_listed_directories()) for path in sorted(directory.glob("*.yaml"))]
    return {path.stem: path for path in files}


def directory_problems() -> list[str]:
    """Return a sentence for each entry of `QBCOMPILER_PRESETS` that is no directory."""
    return [
        f"{PRESET_VARIABLE}: {str(directory)!r} is no directory"
        for directory in _listed_directories()
        if not directory.is_dir()
    ]


def _directories() -> list[Path]:
    """Return the directories of presets; those in `QBCOMPILER_PRESETS` come first, so they can replace a preset."""
    return [*_listed_directories(), PRESET_DIRECTORY]


def _listed_directories() -> list[Path]:
    return [Path(text) for text in os.environ.get(PRESET_VARIABLE, "").split(os.pathsep) if text]


def load_preset(name: str) -> Preset:
    """Load a preset with everything it inherits; `name` may be a YAML file of the user.

    Raises ARGUMENT_ERROR for an unknown name, CONFIG_ERROR for a file that is not a preset.
    """
    path = _find(name, None)
    return _load(path, (), _stamp(path))


def _find(name: str, near: Path | None) -> Path:
    """Return the file of a preset; a base is looked for beside the preset that names it first."""
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise ArgumentError(f"preset file {name!r} does not exist")
        return path
    directories = _directories() if near is None else [near, *_directories()]
    if _NAME.fullmatch(name):
        for directory in directories:
            path = directory / f"{name}.yaml"
            if path.is_file():
                return path
    hint = did_you_mean(name, preset_names()) or f"choose one of {', '.join(preset_names())}"
    raise ArgumentError(f"unknown config preset {name!r}", hint="; ".join([*directory_problems(), hint]))


def _stamp(path: Path) -> int:
    return path.stat().st_mtime_ns


@cache
def _load(path: Path, children: tuple[Path, ...], stamp: int) -> Preset:
    if path in children:
        raise _not_a_preset(path, "it inherits from itself")
    data = _read(path)
    own = data.get("config") or {}
    pipelines = data.get("pipelines") or {}
    name = data.get("name") or path.stem
    if data["base"] is None:
        return Preset(name, None, data["description"], (own,), pipelines)
    base_path = _find(data["base"], path.parent)
    base = _load(base_path, (*children, path), _stamp(base_path))
    return Preset(name, base.name, data["description"], (*base.layers, own), {**base.pipelines, **pipelines})


def _read(path: Path) -> dict[str, Any]:
    """Return the checked content of a preset file; a preset of the user builds on `default` where it names no base."""
    try:
        data = parse_structured(read_file_text(path), path.suffix)
    except (OSError, ValueError) as error:
        raise _not_a_preset(path, " ".join(str(error).split())) from None
    if not isinstance(data, dict):
        raise _not_a_preset(path, "the top must be a mapping")
    unknown = sorted(set(map(str, data)) - {"name", "base", "description", "config", "pipelines"})
    if unknown:
        raise _not_a_preset(path, f"unknown key {unknown[0]!r}; keys are name, base, description, config, pipelines")
    base = data.setdefault("base", DEFAULT_PRESET)
    data.setdefault("description", "")
    if base is not None and not isinstance(base, str):
        raise _not_a_preset(path, "base must be a name")
    for key in ("config", "pipelines"):
        if not isinstance(data.get(key) or {}, dict):
            raise _not_a_preset(path, f"{key} must be a mapping")
    wrong = [phase for phase, text in (data.get("pipelines") or {}).items() if phase not in PHASES or not text]
    if wrong:
        raise _not_a_preset(path, f"{wrong[0]!r} is not a phase; phases are {', '.join(PHASES)}")
    if base is None and set(data.get("pipelines") or {}) != set(PHASES):
        raise _not_a_preset(path, f"without a base it needs pipelines of all phases: {', '.join(PHASES)}")
    return data


def _not_a_preset(path: Path, reason: str) -> QBCompilerError:
    return ConfigError(f"preset file {str(path)!r}: {reason}")


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


def split_by_phase(pipeline: Pipeline, first: str = PHASES[0]) -> dict[str, Pipeline]:
    """Cut an edited pipeline into phases, at the conversions, at `npu-emit`, and at what comes before quantization.

    A conversion opens its phase, so passes before it belong to the phase before; those in front of the first conversion
    of the text belong to `first`, the phase that a run begins with, unless that conversion lies behind it. Raises
    PipelineError when the conversions do not stand in the order of the phases.
    """
    openers = {
        "convert-framework-to-mblt": "convert",
        "mblt-uint8-inputs": "quantize",
        "mblt-fuse-normalize": "quantize",
        "mblt-fuse-letterbox": "quantize",
        "mblt-check-target": "quantize",
        "convert-mblt-to-quant": "quantize",
        "convert-quant-to-npu": "lower",
        "npu-emit": "encode",
    }
    parts: dict[str, list[PassCall | Nest]] = {phase: [] for phase in PHASES}
    items = _single_calls(pipeline.items)
    opened = [phase for phase in (openers.get(_name_of(item)) for item in items) if phase is not None]
    current = PHASES[0] if opened and PHASES.index(opened[0]) < PHASES.index(first) else first
    for item in items:
        phase = openers.get(_name_of(item), current)
        if PHASES.index(phase) < PHASES.index(current):
            raise PipelineError(f"{_name_of(item)!r} comes after the phase {current!r}")
        current = phase
        parts[current].append(item)
    return {phase: Pipeline(tuple(found)) for phase, found in parts.items()}


def _name_of(item: PassCall | Nest) -> str:
    return item.name if isinstance(item, PassCall) else Pipeline((item,)).calls()[0].name


def _single_calls(items: tuple[PassCall | Nest, ...]) -> list[PassCall | Nest]:
    """Return the items with every nest cut into nests of one pass each."""
    single: list[PassCall | Nest] = []
    for item in items:
        if isinstance(item, PassCall):
            single.append(item)
        else:
            single.extend(Nest(item.anchor, (inner,)) for inner in _single_calls(item.items))
    return single
