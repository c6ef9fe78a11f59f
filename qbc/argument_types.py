"""Checks of argument types: a value of a wrong kind is an ArgumentError that names the argument."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qbc.errors import ArgumentError


@dataclass(frozen=True)
class Kind:
    """What an argument may be: a test of the value, and the words for it."""

    accepts: Callable[[Any], bool]
    words: str

    def check(self, name: str, value: Any) -> None:
        """Raise ArgumentError when the value of argument `name` is of another kind."""
        if holds_nul(value):
            raise ArgumentError(f"{name} is {str(value)[:100]!r}, which holds a NUL character")
        if not self.accepts(value):
            raise ArgumentError(f"{name} is {described(value)}, expected {self.words}")


def described(value: Any) -> str:
    """Return how messages name a value: None, else its type and, of plain values, what it is."""
    if value is None:
        return "None"
    kind = type(value).__name__
    plain = isinstance(value, str | bytes | bool | int | float) and len(repr(value)) <= 40
    return f"{value!r} ({kind})" if plain else f"of type {kind}"


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, of Python or numpy; True and False are none."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def is_switch(value: Any) -> bool:
    """Return whether a value is True or False, of Python or numpy, or the 1 or 0 that scripts write for them."""
    kind = type(value)
    if kind is int:
        return value in (0, 1)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike) and not holds_nul(value)


def holds_nul(value: Any) -> bool:
    """Return whether a text or path holds a NUL character: no file can be called so."""
    return isinstance(value, str | os.PathLike) and "\0" in str(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_section(value: Any) -> bool:
    return not isinstance(value, str | bytes | int | float | list | tuple | set | frozenset)


def _is_configuration(value: Any) -> bool:
    return _is_path(value) or _is_section(value)


def _is_samples(value: Any) -> bool:
    return _is_path(value) or _is_list(value) or isinstance(value, Mapping) or hasattr(value, "shape")


TEXT = Kind(lambda value: isinstance(value, str), "a text")
PATH = Kind(_is_path, "a path")
WHOLE = Kind(is_whole, "a whole number")
SWITCH = Kind(is_switch, "True or False")
TABLE = Kind(lambda value: isinstance(value, Mapping), "a dictionary")
LIST = Kind(_is_list, "a list")
SAMPLES = Kind(_is_samples, "a path, arrays, or a list of either")
SECTION = Kind(_is_section, "a configuration section or a dictionary")
CONFIGURATION = Kind(_is_configuration, "a CompileConfig, a dictionary or the path of a file")


def path_of(name: str, value: Any) -> Path:
    """Return a path argument as a Path."""
    PATH.check(name, value)
    return Path(value)


def whole_of(name: str, value: Any) -> int:
    """Return a whole number as an int."""
    WHOLE.check(name, value)
    return operator.index(value)
