"""Configuration files: reading with one clear error, writing in grouped form."""

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from qbc.atomic import write_file
from qbc.errors import ArgumentError, QBCompilerError

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
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ArgumentError(f"configuration file {str(path)!r} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _unreadable(path, str(reason)) from None
    data = _parse(path, text, suffix)
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


def _parse(path: Path, text: str, suffix: str) -> Any:
    try:
        if suffix == ".json":
            return json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)
        data = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _unreadable(path, " ".join(str(error).split())) from None
    except RecursionError:
        raise _unreadable(path, "it is nested too deeply") from None
    return {} if data is None else data


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} occurs twice in one mapping")
    return result


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


class _Loader(yaml.SafeLoader):
    """YAML without aliases (a few lines could stand for gigabytes) and without repeated keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.constructor.ConstructorError(None, None, "aliases (*name) are not accepted", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key, (key_node, _) in zip(keys, node.value, strict=True):
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, "a key is not text", key_node.start_mark)
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} occurs twice", key_node.start_mark)
        return super().construct_mapping(node, deep)


def _unreadable(path: Path, reason: str) -> QBCompilerError:
    return QBCompilerError(f"configuration file {str(path)!r} cannot be read: {reason}", code="CONFIG_ERROR")
