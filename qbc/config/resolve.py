"""From preset and arguments to one configuration, and from the configuration to options of passes.

Precedence, highest first: explicit arguments, fields set in a section object, the preset, defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from qbc.config.model import CalibrationConfig, CompileConfig
from qbc.errors import QBCompilerError

Setting = int | float | str | bool
Section = TypeVar("Section", bound=BaseModel)

# Configuration field -> the passes and options that it sets.
_OPTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "calibration.method": (
        ("convert-mblt-to-quant", "method"),
        ("quant-group-scales", "method"),
        ("quant-assign-ranges", "method"),
    ),
    "calibration.mode": (("quant-assign-ranges", "mode"),),
    "calibration.output": (("quant-assign-ranges", "output"),),
    "calibration.max_percentile.percentile": (("quant-assign-ranges", "percentile"),),
    "calibration.max_percentile.topk_ratio": (
        ("quant-assign-ranges", "topk-ratio"),
        ("quant-collect", "topk-ratio"),
    ),
}


def resolve_config(
    preset: Mapping[str, Any],
    calibration: CalibrationConfig | Mapping[str, Any] | None,
    others: Mapping[str, Any] | None = None,
) -> CompileConfig:
    """Merge a preset's partial configuration with the explicitly set fields of section objects.

    `others` are further settings by field name: section objects, their dictionaries, or plain values.
    """
    sections: dict[str, Any] = {}
    for name, value in (others or {}).items():
        if isinstance(value, Mapping):
            value = _checked(CompileConfig, {name: value}).model_dump(exclude_unset=True)[name]
        sections[name] = value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
    if calibration is not None:
        checked = (
            calibration if isinstance(calibration, CalibrationConfig) else _checked(CalibrationConfig, calibration)
        )
        sections["calibration"] = checked.model_dump(exclude_unset=True)
    return merge_sections(preset, sections)


def merge_sections(preset: Mapping[str, Any], sections: Mapping[str, Any]) -> CompileConfig:
    """Validate the preset, lay `sections` (snake_case) over it and return the whole configuration."""
    base = _checked(CompileConfig, preset).model_dump(exclude_unset=True)
    return _checked(CompileConfig, _merge(base, sections))


def pipeline_changes(config: CompileConfig) -> dict[str, list[tuple[str, str, Setting]]]:
    """Return for each configuration field the (pass, option, value) settings that carry it out."""
    changes: dict[str, list[tuple[str, str, Setting]]] = {}
    for path, targets in _OPTIONS.items():
        value: Any = config
        for part in path.split("."):
            value = getattr(value, part)
        changes[path] = [(name, option, value) for name, option in targets]
    return changes


def is_default(config: CompileConfig, path: str) -> bool:
    """Return whether a field has its default value."""
    value: Any = config
    default: Any = CompileConfig()
    for part in path.split("."):
        value, default = getattr(value, part), getattr(default, part)
    return bool(value == default)


def _merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in override.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _checked(cls: type[Section], values: Mapping[str, Any]) -> Section:
    try:
        return cls.model_validate(dict(values))
    except ValidationError as error:
        parts = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise QBCompilerError("; ".join(parts), code="CONFIG_ERROR") from None
