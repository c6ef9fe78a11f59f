"""From presets, files, objects and arguments to one checked configuration.

Precedence, highest first: explicit arguments, fields that were set in section objects, the preset (if one is given,
else the configuration file or object), defaults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qbc.config.checks import checked
from qbc.config.fields import check_features
from qbc.config.model import CompileConfig
from qbc.config.section import collected_warnings, explicit, merge, warn
from qbc.errors import ArgumentError, QBCompilerError


@dataclass(frozen=True)
class Request:
    """Where settings come from.

    `presets` are the partial configurations of the chosen preset, those it inherits from first; `config` is a
    CompileConfig, a mapping, or the path of a file; `sections` and `arguments` are by field name.
    """

    presets: Sequence[Mapping[str, Any]] = ()
    preset_name: str | None = None
    config: Any = None
    sections: Mapping[str, Any] | None = None
    arguments: Mapping[str, Any] | None = None
    strict: bool = False


@dataclass(frozen=True)
class Resolved:
    """The whole configuration, and what resolving it has to tell."""

    config: CompileConfig
    notices: tuple[str, ...]


def resolve(request: Request, *, features: bool = True) -> Resolved:
    """Merge all sources; raises CONFIG_ERROR for wrong keys or values.

    With `features` also checks what the fields ask for: UNSUPPORTED_FEATURE for absent features.
    """
    with collected_warnings(strict=request.strict) as warnings:
        values: dict[str, Any] = {}
        for preset in request.presets:
            values = merge(values, explicit(checked(CompileConfig, preset, where=f"preset {request.preset_name}")))
        if request.preset_name is None:
            values = merge(values, _config_values(request))
        elif request.config is not None:
            warn(f"the preset {request.preset_name} wins: {_name(request.config)} is not read")
        values = merge(values, _section_values(request.sections or {}))
        values = merge(values, _argument_values(request.arguments or {}))
        config = checked(CompileConfig, values)
        notices = _check_features(config, request) if features else []
    return Resolved(config, (*warnings, *notices))


def _check_features(config: CompileConfig, request: Request) -> list[str]:
    """Check what the fields ask for; where already the preset asks for an absent feature, the hint says so."""
    try:
        return check_features(config)
    except QBCompilerError as error:
        if request.preset_name is None:
            raise
        preset = resolve(Request(request.presets, request.preset_name), features=False).config
        if _is_available(preset):
            raise
        hint = f"choose another preset than {request.preset_name!r}"
        raise QBCompilerError(error.message, code=error.code, hint=hint) from None


def _is_available(config: CompileConfig) -> bool:
    try:
        check_features(config)
    except QBCompilerError:
        return False
    return True


def _name(config: Any) -> str:
    return str(config) if isinstance(config, str | Path) else "the configuration object"


def _config_values(request: Request) -> dict[str, Any]:
    from qbc.config.files import read_config

    if request.config is None:
        return {}
    if isinstance(request.config, str | Path):
        return explicit(read_config(Path(request.config), strict=request.strict))
    return explicit(checked(CompileConfig, request.config, where="compile_config"))


def _argument_values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return explicit(checked(CompileConfig, arguments))
    except QBCompilerError as error:
        raise ArgumentError(error.message, hint=error.hint) from None


def _section_values(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was set in section objects or their dictionaries."""
    return {name: section_values(name, section) for name, section in sections.items() if section is not None}


def section_values(name: str, section: Any) -> dict[str, Any]:
    """Return the set fields of the section `name`, given as an object of its class (or an older one) or a mapping."""
    values: dict[str, Any] = explicit(checked(CompileConfig, {name: section})).get(name, {})
    return values
