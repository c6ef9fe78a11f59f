"""What all sections of the configuration share: both spellings of keys, None for whole sections, migration, warnings.

Field names are snake_case in Python and camelCase in files; both are accepted everywhere, nested dictionaries as well.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, model_validator
from pydantic.alias_generators import to_camel, to_snake

from qbc.errors import QBCompilerError

Section = TypeVar("Section", bound="ConfigSection")


class ConfigWarning(UserWarning):
    """A key of an older release was accepted, or two spellings of one setting met."""


_collected: ContextVar[list[str] | None] = ContextVar("collected_config_warnings", default=None)
_strict: ContextVar[bool] = ContextVar("strict_config", default=False)


@contextmanager
def collected_warnings(*, strict: bool = False) -> Iterator[list[str]]:
    """Collect configuration warnings in a list instead of issuing them; `strict` makes conflicts errors."""
    texts: list[str] = []
    tokens = (_collected.set(texts), _strict.set(strict))
    try:
        yield texts
    finally:
        _collected.reset(tokens[0])
        _strict.reset(tokens[1])


def warn(text: str) -> None:
    """Give one warning: to the collector where there is one, else as a Python warning."""
    collected = _collected.get()
    if collected is None:
        warnings.warn(text, ConfigWarning, stacklevel=2)
    elif text not in collected:
        collected.append(text)


def conflict(text: str) -> None:
    """Two settings contradict each other: a warning, or CONFIG_ERROR where strictness was asked for."""
    if _strict.get():
        raise QBCompilerError(text, code="CONFIG_ERROR", hint="keep one of them")
    warn(text)


@dataclass(frozen=True)
class Moved:
    """A key of an older release: where it went (None: it has no meaning any more), since when, and why.

    Keys are names in snake_case or patterns. `to` is a dotted path of field names inside the same section; `values`
    translates the values.
    """

    to: str | None
    since: str
    why: str
    values: Mapping[Any, Any] | None = None


class ConfigSection(BaseModel):
    """Base of all sections: unknown keys are errors, values are checked also when they are assigned."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        validate_assignment=True,
        validate_default=False,
        allow_inf_nan=False,
        ignored_types=(type(BaseModel),),  # classes of sections may be attributes of others: `BitConfig.Transformer`
    )

    moved: ClassVar[Mapping[str, Moved]] = {}
    groups: ClassVar[tuple[str, ...]] = ()  # keys that hold sections of this one in files

    @model_validator(mode="wrap")
    @classmethod
    def _with_field_names(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        return handler(cls.prepared(data) if isinstance(data, Mapping) else data)

    @classmethod
    def prepared(cls, data: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what was given with field names as keys; sections with other accepted forms extend this."""
        return field_names(cls, data)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _section_for_none(type(self), name, value))


def section_class(cls: type[BaseModel], field: str) -> type[ConfigSection] | None:
    """Return the class of a field that is a section, None for other fields."""
    kind = cls.model_fields[field].annotation
    return kind if isinstance(kind, type) and issubclass(kind, ConfigSection) else None


def _section_for_none(cls: type[ConfigSection], name: Any, value: Any) -> Any:
    """None given for a section means its defaults."""
    if value is not None or name not in cls.model_fields:
        return value
    section = section_class(cls, name)
    return value if section is None else section()


def field_names(cls: type[ConfigSection], data: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return `data` with the field names of `cls` as keys; keys of older releases go where they belong now.

    Unknown keys stay as they are, for the validation to name. Raises CONFIG_ERROR where both spellings of one key
    have different values.
    """
    names = {field.alias or name: name for name, field in cls.model_fields.items()}
    result: dict[Any, Any] = {}
    for key, value in data.items():
        name = names.get(key, key) if isinstance(key, str) else key
        value = _section_for_none(cls, name, value)
        if name not in cls.model_fields and (old := _old_key(cls, name)) is not None:
            _move(cls, name, cls.moved[old], value, result)
        elif name in result and result[name] != value:
            result[name] = _both_spellings(cls, name, result[name], value)
        else:
            result[name] = value
    return result


def _both_spellings(cls: type[ConfigSection], name: str, first: Any, second: Any) -> Any:
    section = section_class(cls, name)
    if section is not None and isinstance(first, Mapping) and isinstance(second, Mapping):
        merged = field_names(section, first)
        for key, value in field_names(section, second).items():
            same = key not in merged or merged[key] == value
            merged[key] = value if same else _both_spellings(section, key, merged[key], value)
        return merged
    alias = cls.model_fields[name].alias if name in cls.model_fields else name
    raise QBCompilerError(
        f"{name!r} is set twice with different values, as {name!r} and as {alias!r}",
        code="CONFIG_ERROR",
        hint="keep one of them",
    )


def _old_key(cls: type[ConfigSection], key: Any) -> str | None:
    """Return the entry of `moved` (a name in snake_case or a pattern) for a key of an older release."""
    if not isinstance(key, str):
        return None
    snake = to_snake(key)
    return next((old for old in cls.moved if old in (key, snake) or ("*" in old and fnmatchcase(snake, old))), None)


def _move(cls: type[ConfigSection], key: str, moved: Moved, value: Any, result: dict[Any, Any]) -> None:
    if moved.to is None:
        warn(f"{cls.__name__}: {key} is ignored since {moved.since}: {moved.why}")
        return
    warn(f"{cls.__name__}: {key} is called {camel_path(moved.to)} since {moved.since}: {moved.why}")
    if moved.values is not None:
        try:
            value = moved.values.get(value, value)
        except TypeError:  # a value that cannot be a key: validation names it
            return
    *parents, last = moved.to.split(".")
    inner = result
    for parent in parents:
        known = inner.get(parent)
        known = explicit(known) if isinstance(known, ConfigSection) else known
        inner[parent] = inner = dict(known) if isinstance(known, Mapping) else {}
    inner.setdefault(last, value)


def merge(base: Mapping[Any, Any], override: Mapping[Any, Any]) -> dict[Any, Any]:
    """Merge two nested dictionaries; lists and scalars of `override` replace those of `base`."""
    merged = dict(base)
    for key, value in override.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def camel_path(path: str) -> str:
    """Return a dotted path of field names in the spelling of files."""
    return ".".join(to_camel(part) for part in path.split("."))


def explicit(section: ConfigSection) -> dict[str, Any]:
    """Return the fields that were set, recursively, as a nested dictionary with field names."""
    values: dict[str, Any] = {}
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, ConfigSection):
            inner = explicit(value)
            if inner:
                values[name] = inner
        elif name in section.model_fields_set:
            values[name] = value
    return values
