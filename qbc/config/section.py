"""What all sections of the configuration share: both spellings of keys, None for what is not set, migration, warnings.

Field names are snake_case in Python and camelCase in files; both are accepted everywhere, nested dictionaries as well.
"""

import inspect
import typing
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import NoneType
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel, to_snake
from pydantic.functional_validators import ModelWrapValidatorHandler

from qbc.config.errors import ConfigValidationError, key_path, model_class, nearest_field
from qbc.errors import ConfigError


class ConfigWarning(UserWarning):
    """A key of an older release was accepted, or two spellings of one setting met."""


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"{text[:100]!r} holds a NUL character, which no path has")
    return text


PathText = Annotated[str, AfterValidator(_without_nul)]  # of every field that names a file or directory

_INNER = ("qbc", "qbcompiler", "pydantic", "contextlib")  # packages whose frames say nothing to a user

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
        warnings.warn(text, ConfigWarning, stacklevel=_level_of_caller())
    elif text not in collected:
        collected.append(text)


def _level_of_caller() -> int:
    """Return the stack level, for `warn`, of the code that uses the configuration."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INNER:
        level, frame = level + 1, frame.f_back
    return level


def conflict(text: str) -> None:
    """Two settings contradict each other: a warning, or a ValueError where strictness was asked for."""
    if _strict.get():
        raise ValueError(f"{text} (keep one of them)")
    warn(text)


@dataclass(frozen=True)
class Moved:
    """A key of an older release: where it went (None: it has no meaning any more), since when, and why.

    Keys are names in snake_case or patterns. `to` is a dotted path of field names inside the same section; `values`
    translates the values, `defaults` are those of a section that had others than the one of today.
    """

    to: str | None
    since: str
    why: str
    values: Mapping[Any, Any] | None = None
    defaults: Mapping[str, Any] | None = None


class ConfigSection(BaseModel):
    """Base of all sections: unknown keys are errors, values are checked also when they are assigned.

    Mistakes are `ConfigValidationError`, from the constructor, `model_validate` and assignment alike.
    """

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
    groups: ClassVar[Mapping[str, Mapping[str, str]]] = {}  # keys of files that hold sections: key inside -> section

    def __init__(self, /, **data: Any) -> None:
        with _mistakes_of(type(self)):
            super().__init__(**data)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # pydantic: no arguments beyond the fields

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Return an object of the class from a mapping or an object; raises ConfigValidationError."""
        with _mistakes_of(cls):
            return super().model_validate(obj, **options)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Return an object of the class from JSON text; raises ConfigValidationError."""
        with _mistakes_of(cls):
            return super().model_validate_json(json_data, **options)

    @model_validator(mode="wrap")
    @classmethod
    def _with_field_names(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        return handler(cls.prepared(data) if isinstance(data, Mapping) else data)

    @classmethod
    def prepared(cls, data: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what was given with field names as keys; sections with other accepted forms extend this."""
        return field_names(cls, data)

    def __setattr__(self, name: str, value: Any) -> None:
        cls = type(self)
        if _is_unset(cls, name, value):
            self._assign(name, cls.model_fields[name].get_default(call_default_factory=True))
            self.__pydantic_fields_set__.discard(name)
        elif name in cls.model_fields:
            self._assign(name, value)
        elif (old := _old_key(cls, name)) is not None:
            self._assign_moved(name, cls.moved[old], value)
        elif name.startswith("_"):
            super().__setattr__(name, value)
        else:
            near = ".".join(nearest_field(cls, name))
            hint = f"did you mean {near!r}?" if near and near not in cls.groups else None
            raise ConfigError(f"{cls.__name__} has no field {name!r}", hint=hint)

    def _assign(self, name: str, value: Any) -> None:
        before, given = getattr(self, name), set(self.model_fields_set)
        try:
            with _mistakes_of(type(self)):
                super().__setattr__(name, value)
        except ConfigError:  # rules over several fields are checked after the assignment: take it back
            self.__dict__[name] = before
            self.__pydantic_fields_set__.intersection_update(given)
            raise

    def _assign_moved(self, name: str, moved: Moved, value: Any) -> None:
        warn(_moved_text(type(self), [(name, moved)]))
        if moved.to is None:
            return
        *parents, last = moved.to.split(".")
        section: Any = self
        for parent in parents:
            section = getattr(section, parent)
        setattr(section, last, _translated(moved, value))


@contextmanager
def _mistakes_of(cls: type[BaseModel]) -> Iterator[None]:
    """Turn the errors of pydantic inside into the one of configurations."""
    where = "" if getattr(cls, "groups", None) else cls.__name__  # keys of the whole configuration need no more words
    try:
        yield
    except ConfigValidationError:
        raise
    except ValidationError as error:
        raise ConfigValidationError.of(cls, error, where) from None
    except RecursionError:
        raise ConfigError(f"{cls.__name__}: nested too deeply") from None


def section_class(cls: type[BaseModel], field: str) -> type[ConfigSection] | None:
    """Return the class of a field that is a section, None for other fields."""
    kind = model_class(cls, field)
    return kind if kind is not None and issubclass(kind, ConfigSection) else None


def _is_unset(cls: type[ConfigSection], name: Any, value: Any) -> bool:
    """Return whether a field is given as None to say that it is not set: every field but those that may hold None."""
    if value is not None or name not in cls.model_fields:
        return False
    return NoneType not in typing.get_args(cls.model_fields[name].annotation)


def field_names(cls: type[ConfigSection], data: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return `data` with the field names of `cls` as keys; keys of older releases go where they belong now.

    Fields given as None are left out: they are not set. Unknown keys stay as they are, for the validation to name.
    Where an older key and the present one contradict each other, the present one counts, with a warning. Raises
    ValueError where both spellings of one key have different values.
    """
    names = {field.alias or name: name for name, field in cls.model_fields.items()}
    result: dict[Any, Any] = {}
    older: list[tuple[str, Moved]] = []
    spelled: dict[Any, Any] = {}
    for key, value in data.items():
        name = names.get(key, key) if isinstance(key, str) else key
        old = None if name in cls.model_fields else _old_key(cls, name)
        if old is not None:
            older.append((name, cls.moved[old]))
            continue
        if _is_unset(cls, name, value):
            continue
        twice = name in result and result[name] != value
        result[name] = _both_spellings(cls, name, (spelled[name], result[name]), (key, value)) if twice else value
        spelled.setdefault(name, key)
    if older:
        warn(_moved_text(cls, older))
    for key, moved in older:
        _move(cls, moved, _translated(moved, data[key]), result)
    return result


def _both_spellings(cls: type[ConfigSection], name: str, first: tuple[str, Any], second: tuple[str, Any]) -> Any:
    """Return what a field is that two keys set (`first` and `second`: the key and its value); sections are merged."""
    section, one, other = section_class(cls, name), first[1], second[1]
    if section is None or not isinstance(one, Mapping) or not isinstance(other, Mapping):
        raise ValueError(
            f"{first[0]!r} and {second[0]!r} are two spellings of one key, with different values (keep one of them)"
        )
    merged = field_names(section, one)
    for inner, value in field_names(section, other).items():
        if inner not in merged or merged[inner] == value:
            merged[inner] = value
            continue
        one_key, other_key = (f"{key}.{_spelling(section, values, inner)}" for key, values in (first, second))
        merged[inner] = _both_spellings(section, inner, (one_key, merged[inner]), (other_key, value))
    return merged


def _spelling(cls: type[ConfigSection], data: Mapping[Any, Any], name: str) -> Any:
    """Return the key under which `data` has a field."""
    return name if name in data or name not in cls.model_fields else cls.model_fields[name].alias


def _old_key(cls: type[ConfigSection], key: Any) -> str | None:
    """Return the entry of `moved` (a name in snake_case or a pattern) for a key of an older release."""
    if not isinstance(key, str):
        return None
    snake = to_snake(key)
    return next((old for old in cls.moved if old in (key, snake) or ("*" in old and fnmatchcase(snake, old))), None)


def _moved_text(cls: type[ConfigSection], older: Sequence[tuple[str, Moved]]) -> str:
    """Return the one warning about all keys of older releases in a section."""
    texts: dict[tuple[str, str], list[str]] = {}
    for key, moved in older:
        text = f"{key} is ignored" if moved.to is None else f"{key} is called {_key_of(cls, moved.to)}"
        texts.setdefault((moved.since, moved.why), []).append(text)
    changes = [f"{', '.join(keys)} since {since}: {why}" for (since, why), keys in texts.items()]
    return f"{cls.__name__}: {'; '.join(changes)}"


def _key_of(cls: type[ConfigSection], path: str) -> str:
    return key_path(cls, path.split("."))


def _translated(moved: Moved, value: Any) -> Any:
    """Return what the value of an older key is today."""
    if moved.defaults is not None and isinstance(value, Mapping):
        return {**moved.defaults, **value}
    try:
        return value if moved.values is None else moved.values.get(value, value)
    except TypeError:  # a value that cannot be a key: validation names it
        return value


def _move(cls: type[ConfigSection], moved: Moved, value: Any, result: dict[Any, Any]) -> None:
    """Enter the value of an older key where it belongs now, unless something stands there."""
    if moved.to is None or value is None:
        return
    *parents, last = moved.to.split(".")
    inner, current = result, cls
    for parent in parents:
        section = section_class(current, parent)
        known = inner.get(parent)
        if isinstance(known, ConfigSection):
            known = explicit(known)
        elif isinstance(known, Mapping) and section is not None:
            known = field_names(section, known)
        elif known is not None:  # no section: validation names it
            return
        inner[parent] = inner = dict(known or {})
        current = section or current
    if last in inner and inner[last] != value:
        conflict(f"{cls.__name__}: {_key_of(cls, moved.to)} is set by its older name too, with another value")
    inner.setdefault(last, value)


def merge(base: Mapping[Any, Any], override: Mapping[Any, Any]) -> dict[Any, Any]:
    """Merge two nested dictionaries; lists and scalars of `override` replace those of `base`."""
    merged = dict(base)
    for key, value in override.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


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
