"""The argument parser, and parsing of argument values that several commands share."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from qbc.errors import ArgumentError

_DIMS = re.compile(r"\d+(?:[x,]\d+)*")


class _StoreOnce(argparse.Action):
    """Store a value; a flag that is given again with another one is a mistake, no value wins silently."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = parser.given if isinstance(parser, Parser) else {}
        if option_string is not None and given.setdefault(self.dest, values) != values:
            parser.error(f"{'/'.join(self.option_strings)} is given twice")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """Argument mistakes become ArgumentError with the nearest right spelling, and are shown like all errors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.given: dict[str, Any] = {}  # values of flags, during one run of the parser
        self.texts: list[str] = []  # the command line of that run
        for action in (None, "store"):
            self.register("action", action, _StoreOnce)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.given = {}
        self.texts = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(self.texts, namespace)

    def error(self, message: str) -> NoReturn:
        if "arguments are required" in message and (unknown := self._unknown_flags()):
            message = f"unrecognized arguments: {' '.join(unknown)}; {message}"  # a flag that is misspelled is missing
        help_ = self._help(message)
        usage = f"{self.prog} --help shows the usage"
        raise ArgumentError(message, hint=f"{help_} {usage}" if help_ else usage)

    def _unknown_flags(self) -> list[str]:
        """Return the flags of the command line that this parser does not have."""
        texts = self.texts[: self.texts.index("--")] if "--" in self.texts else self.texts
        flags = [text.partition("=")[0] for text in texts if text.startswith("--")]
        known = tuple(self._option_string_actions)
        return [flag for flag in flags if flag not in known and not (self.allow_abbrev and _begins_one(flag, known))]

    def _help(self, message: str) -> str | None:
        """Return what was probably meant, or which commands take the flag that the given one does not."""
        flag = re.search(r"unrecognized arguments:.*?(--[\w-]+)", message)
        owners = [] if flag is None else [name for name, inner in self._commands() if flag[1] in inner.all_flags()]
        if flag is not None and owners:
            return f"{flag[1]} is a flag of {', '.join(owners)};"
        near = self._nearest(message, None if flag is None else flag[1])
        return f"did you mean {near}?" if near else None

    def _nearest(self, message: str, flag: str | None) -> str | None:
        """Return the nearest right spelling of an unknown flag or an unknown choice."""
        if flag is not None:
            found = difflib.get_close_matches(flag, sorted(self.all_flags()), n=1)
            return found[0] if found else None
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice is None:
            return None
        names = re.findall(r"[\w.-]+", choice[2])
        found = difflib.get_close_matches(choice[1], names, n=1)
        return found[0] if found else None

    def all_flags(self) -> set[str]:
        """Return the long flags of this parser and of all its commands."""
        flags: set[str] = set()
        for action in self._actions:
            flags.update(text for text in action.option_strings if text.startswith("--"))
        for _, inner in self._commands():
            flags |= inner.all_flags()
        return flags

    def _commands(self) -> list[tuple[str, Parser]]:
        """Return the commands with their parsers."""
        actions = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return [command for action in actions for command in action.choices.items()]


def _begins_one(flag: str, flags: Sequence[str]) -> bool:
    return any(known.startswith(flag) for known in flags)


class OneFile(argparse.Action):
    """An argument with several names that takes one file: two different ones are an error, not the last of them."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        known = getattr(namespace, self.dest)
        if known not in (None, values):
            parser.error(f"{option_string} {values}: the input is {known} already")
        setattr(namespace, self.dest, values)


def parse_input_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Parse `NAME=1x3x224x224` texts (commas may separate too); raises ArgumentError for anything else."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, dims = text.rpartition("=")  # names may hold "=" themselves
        if not name or not _DIMS.fullmatch(dims):
            raise ArgumentError(f"--input-shape {text!r} is not of the form NAME=1x3x224x224")
        shape = tuple(int(part) for part in re.split("[x,]", dims))
        if 0 in shape:
            raise ArgumentError(f"--input-shape {text!r} has a dimension of 0")
        if name in shapes and shapes[name] != shape:
            raise ArgumentError(f"--input-shape names input {name!r} twice")
        shapes[name] = shape
    return shapes
