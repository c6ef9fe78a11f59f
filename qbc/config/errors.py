"""The error of a configuration that does not fit: one message with every wrong key, its path and the nearest right one.

It is a `QBCompilerError` and a `pydantic.ValidationError` (so a ValueError as well): scripts may catch any of them.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_snake
from pydantic_core import InitErrorDetails

from qbc.argument_types import described
from qbc.errors import ConfigError, QBCompilerError

MOST_ERRORS = 8
_OWN_WORDS = ("value_error", "assertion_error", "extra_forbidden", "missing")  # types that have no value to show
_NO_MAPPING = ("model_type", "model_attributes_type", "dict_type")


class ConfigValidationError(ConfigError, ValidationError):
    """CONFIG_ERROR for values that do not fit the fields; `errors()` has the details as pydantic gives them."""

    def __init__(
        self, title: str, lines: Sequence[Any] = (), input_type: str = "python", hide_input: bool = False
    ) -> None:
        """Take what pydantic makes errors from; `of` makes one that has texts."""
        self._texts: tuple[str, ...] = ()
        self.within("")

    @classmethod
    def of(cls, section: type[BaseModel], error: ValidationError, where: str = "") -> ConfigValidationError:
        """Return the error of a section; `where` (a file, an argument) stands before the message."""
        items = error.errors(include_url=False)
        return _made(cls, error.title, items, tuple(dict.fromkeys(_text(section, item) for item in items)), where)

    def within(self, where: str) -> ConfigValidationError:
        """Put `where` before the texts of all mistakes; returns the error itself."""
        self._where = where
        more = f"; and {len(self._texts) - MOST_ERRORS} more" if len(self._texts) > MOST_ERRORS else ""
        head = f"{where}: " if where else ""
        QBCompilerError.__init__(self, f"{head}{'; '.join(self._texts[:MOST_ERRORS])}{more}")
        return self

    def __reduce__(self) -> Any:
        return _made, (type(self), self.title, self.errors(include_url=False), self._texts, self._where)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.describe()!r})"


def _made(
    cls: type[ConfigValidationError], title: str, items: Sequence[Any], texts: tuple[str, ...], where: str
) -> ConfigValidationError:
    """Make the error from the details that pydantic gives, and the texts for them."""
    lines = [
        InitErrorDetails(type=item["type"], loc=item["loc"], input=item["input"], ctx=item.get("ctx", {}))
        for item in items
    ]
    error = cls.from_exception_data(title, lines)
    error._texts = texts
    return error.within(where)


def _text(cls: type[BaseModel], item: Any) -> str:
    parts = [part for part in item["loc"] if not str(part).startswith(("function-", "tagged-union", "literal["))]
    path = key_path(cls, parts)
    if item["type"] == "extra_forbidden":
        section = _class_at(cls, parts[:-1])
        group: Mapping[str, str] | None = getattr(section, "groups", {}).get(parts[-1])
        if group is not None:
            return _text_of_group(path, group, item["input"])
        near = nearest_field(section, str(parts[-1]))
        return f"{path}: unknown key{f', did you mean {key_path(section, near)!r}?' if section and near else ''}"
    message = _message(item)
    return f"{path}: {message[:1].lower()}{message[1:]}" if path else message


def _text_of_group(path: str, group: Mapping[str, str], value: Any) -> str:
    """Return what is wrong with a key of files that holds sections; what is left in it are unknown keys."""
    if not isinstance(value, Mapping):
        return f"{path}: expected a dictionary, found {_found(value)}"
    key = str(next(iter(value)))
    near = difflib.get_close_matches(key, list(group), n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"keys are {', '.join(group)}"
    return f"{path}.{key}: unknown key, {meant}"


def _message(item: Any) -> str:
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] in _NO_MAPPING:
        wanted = item.get("ctx", {}).get("class_name")
        return f"expected {f'{wanted} or ' if wanted else ''}a dictionary, found {_found(item['input'])}"
    return message if item["type"] in _OWN_WORDS else f"{message}, found {_found(item['input'])}"


def _found(value: Any) -> str:
    text = described(value)
    return f"a value {text}" if text.startswith("of type") else text


def key_path(cls: type[BaseModel], parts: Sequence[Any]) -> str:
    """Return a location as a dotted path of keys in the spelling of files; of operations it has the name."""
    names: list[str] = []
    candidates = [cls]
    for part in parts:
        fields = [model.model_fields[part] for model in candidates if part in model.model_fields]
        tagged = [model for model in candidates if len(candidates) > 1 and _has_tag(model, part)]
        if fields:
            names.append(fields[0].alias or part)
            candidates = _models_in(fields[0].annotation)
            continue
        names.append(str(part))
        candidates = tagged or candidates
    return ".".join(names)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that a field holds: itself, or elements of its lists, mappings and unions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models_in(part)]


def _has_tag(model: type[BaseModel], part: Any) -> bool:
    literals = [field.annotation for field in model.model_fields.values() if field.is_required()]
    return any(part in typing.get_args(kind) for kind in literals if typing.get_origin(kind) is Literal)


def model_class(cls: type[BaseModel], field: str) -> type[BaseModel] | None:
    """Return the class of a field that is a model, None for other fields."""
    kind = cls.model_fields[field].annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _class_at(cls: type[BaseModel], parts: Sequence[Any]) -> type[BaseModel] | None:
    current: type[BaseModel] | None = cls
    for part in parts:
        if current is None or part not in current.model_fields:
            return None
        current = model_class(current, part)
    return current


def nearest_field(cls: type[BaseModel] | None, key: str) -> list[str]:
    """Return the path of the field that `key` may mean, none where no name is near.

    Fields of `cls` go first, then keys of older releases and fields of the sections inside.
    """
    if cls is None:
        return []
    known = {name: [name] for name in cls.model_fields}
    known |= {to_snake(group): [group] for group in getattr(cls, "groups", {})}
    older = {old: moved.to.split(".") for old, moved in getattr(cls, "moved", {}).items() if moved.to is not None}
    inside: dict[str, list[str]] = {path[-1]: path for path in _inner_fields(cls)} | older
    for paths, cutoff in ((known, 0.6), (inside, 0.8)):
        near = difflib.get_close_matches(to_snake(key), list(paths), n=1, cutoff=cutoff)
        if near:
            return paths[near[0]]
    return []


def _inner_fields(cls: type[BaseModel]) -> Iterator[list[str]]:
    """Yield the paths of the fields of sections inside; where names are the same the outermost comes last."""
    for name in cls.model_fields:
        section = model_class(cls, name)
        if section is None:
            continue
        yield from ([name, *parts] for parts in _inner_fields(section))
        yield from ([name, inner] for inner in section.model_fields)
