"""Checking of given values, with one error that names every wrong key and the nearest right one."""

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_snake

from qbc.config.section import ConfigSection, section_class
from qbc.errors import QBCompilerError

Section = TypeVar("Section", bound=ConfigSection)
MOST_ERRORS = 8


def checked(cls: type[Section], values: Any, *, where: str = "") -> Section:
    """Validate `values` (a mapping or an object of the class); raises CONFIG_ERROR that lists all mistakes."""
    if isinstance(values, cls):
        return values
    if not isinstance(values, Mapping):
        kind = type(values).__name__
        head = f"{where}: " if where else ""
        raise QBCompilerError(f"{head}expected {cls.__name__} or a dictionary, found {kind}", code="CONFIG_ERROR")
    try:
        return cls.model_validate(dict(values))
    except ValidationError as error:
        raise _error(cls, error, where) from None
    except RecursionError:
        raise QBCompilerError(f"{where or cls.__name__}: nested too deeply", code="CONFIG_ERROR") from None


def _error(cls: type[ConfigSection], error: ValidationError, where: str) -> QBCompilerError:
    texts = list(dict.fromkeys(_text(cls, item) for item in error.errors(include_url=False)))
    more = f"; and {len(texts) - MOST_ERRORS} more" if len(texts) > MOST_ERRORS else ""
    head = f"{where}: " if where else ""
    return QBCompilerError(f"{head}{'; '.join(texts[:MOST_ERRORS])}{more}", code="CONFIG_ERROR")


def _text(cls: type[ConfigSection], item: Any) -> str:
    parts = [part for part in item["loc"] if not str(part).startswith(("function-", "tagged-union", "literal["))]
    path = key_path(cls, parts)
    if item["type"] != "extra_forbidden":
        message = str(item["msg"]).removeprefix("Value error, ")
        return f"{path}: {message[:1].lower()}{message[1:]}" if path else message
    near = nearest_key(_class_at(cls, parts[:-1]), str(parts[-1]))
    return f"{path}: unknown key{f', did you mean {near!r}?' if near else ''}"


def key_path(cls: type[ConfigSection], parts: list[Any]) -> str:
    """Return a location as a dotted path of keys in the spelling of files."""
    names = []
    current: type[BaseModel] | None = cls
    for part in parts:
        field = current.model_fields.get(str(part)) if current is not None else None
        names.append(str(part) if field is None else field.alias or str(part))
        current = section_class(current, str(part)) if current is not None and field is not None else None
    return ".".join(names)


def _class_at(cls: type[ConfigSection], parts: list[Any]) -> type[ConfigSection] | None:
    current: type[ConfigSection] | None = cls
    for part in parts:
        if current is None or part not in current.model_fields:
            return None
        current = section_class(current, part)
    return current


def nearest_key(cls: type[ConfigSection] | None, key: str) -> str | None:
    """Return the alias of the field of `cls` whose name is nearest to `key`, if one is near."""
    if cls is None:
        return None
    aliases = {name: field.alias or name for name, field in cls.model_fields.items()}
    aliases |= {to_snake(key): key for key in cls.groups}
    near = difflib.get_close_matches(to_snake(key), list(aliases), n=1)
    return aliases[near[0]] if near else None
