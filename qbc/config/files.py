"""Configuration files: reading with one clear error, writing in grouped form."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from qbc.atomic import write_file
from qbc.errors import ArgumentError, ConfigError, QBCompilerError
from qbc.structured_text import parse_structured, read_file_text

if TYPE_CHECKING:
    from qbc.config.model import CompileConfig

YAML_SUFFIXES = (".yaml", ".yml")
SUFFIXES = (".json", *YAML_SUFFIXES)


def read_config(path: Path, *, strict: bool = False) -> "CompileConfig":
    """Read and check a configuration file; warnings go to the collector of the caller, or are Python warnings."""
    from qbc.config.checks import checked
    from qbc.config.model import CompileConfig
    from qbc.config.section import collected_warnings, warn

    with collected_warnings(strict=strict) as texts:
        config = checked(CompileConfig, read_mapping(path), where=str(path))
    for text in texts:
        warn(text)
    return config


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the top-level mapping of a .json, .yaml or .yml file; an empty YAML file is an empty mapping."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError(
            f"configuration file {str(path)!r} has no known suffix", hint=f"name it {', '.join(SUFFIXES)}"
        )
    try:
        text = read_file_text(path)
    except FileNotFoundError:
        raise ArgumentError(f"configuration file {str(path)!r} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            raise _unreadable(path, str(error.strerror)) from None
        raise _unreadable(path, "it is not UTF-8 text", hint="save it as UTF-8") from None
    try:
        data = parse_structured(text, suffix)
    except ValueError as error:
        raise _unreadable(path, str(error)) from None
    if data is None and suffix != ".json":
        return {}
    if not isinstance(data, dict):
        raise _unreadable(path, f"the top must be a mapping, it is {type(data).__name__}")
    return data


def write_config(path: Path, values: Mapping[str, Any]) -> None:
    """Write YAML for .yaml and .yml, else JSON; parent directories are made. Raises OUTPUT_WRITE_ERROR."""
    text = config_text(values, as_yaml=path.suffix.lower() in YAML_SUFFIXES)
    write_file(path, text)


def config_text(values: Mapping[str, Any], *, as_yaml: bool) -> str:
    """Return a configuration as text."""
    if as_yaml:
        return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _unreadable(path: Path, reason: str, hint: str | None = None) -> QBCompilerError:
    return ConfigError(f"configuration file {str(path)!r} cannot be read: {reason}", hint=hint)
