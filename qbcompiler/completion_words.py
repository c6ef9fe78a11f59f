"""What can stand where on the command line, for shell completion: flags of each command, and the values they take."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Paths = Literal["", "file", "directory"]


@dataclass(frozen=True)
class Values:
    """What an argument may be: words, and paths of files or directories; nothing of both where it is free text."""

    words: tuple[str, ...] = ()
    paths: Paths = ""


@dataclass(frozen=True)
class CommandWords:
    """What can follow a command: flags with their values (None: the flag takes none), an argument, inner commands."""

    path: tuple[str, ...]
    flags: Mapping[str, Values | None]
    argument: Values | None
    inner: tuple[str, ...]


def command_words(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[CommandWords]:
    """Yield the words of a parser, then those of its commands, in their order."""
    flags: dict[str, Values | None] = {}
    argument = None
    commands: Mapping[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands = action.choices
        elif action.option_strings:
            values = None if action.nargs == 0 else values_of(action, path)
            flags.update(dict.fromkeys((flag for flag in action.option_strings if flag.startswith("--")), values))
        else:
            argument = values_of(action, path)
    yield CommandWords(path, dict(sorted(flags.items())), argument, tuple(commands))
    for name, command in commands.items():
        yield from command_words(command, (*path, name))


def values_of(action: argparse.Action, path: tuple[str, ...]) -> Values:
    """Return what an argument of the command at `path` may be."""
    if action.choices is not None:
        return Values(tuple(map(str, action.choices)))
    for dest in (" ".join((*path, action.dest)), action.dest):
        if dest in _NAMED:
            return _NAMED[dest]()
    metavar = str(action.metavar or "")
    if metavar == "DIR":
        return Values(paths="directory")
    return Values(paths="file") if "FILE" in metavar or metavar in ("PATH", "MODEL") else Values()


def _targets() -> Values:
    from qbc.targets import target_names

    return Values(tuple(target_names()), "file")


def _presets() -> Values:
    from qbc.pipelines.phases import preset_names

    return Values(tuple(preset_names()), "file")


def _preset_names() -> Values:
    return Values(_presets().words)


def _codes() -> Values:
    from qbc.errors import ERROR_CODES

    return Values(tuple(ERROR_CODES))


def _backends() -> Values:
    from qbc.frontends.registry import frontend_names

    return Values(tuple(frontend_names()))


def _devices() -> Values:
    return Values(("cpu", "gpu"))


def _modes() -> Values:
    from qbc.modes import MODE_NAMES

    return Values(MODE_NAMES)


def _schemes() -> Values:
    from qbc.modes import ALL, MODE_NAMES

    return Values((*MODE_NAMES, ALL))


# Arguments whose values are names that the parser does not list: by name, or by command and name.
_NAMED: Mapping[str, Callable[[], Values]] = {
    "target_device": _targets,
    "target show name": _targets,
    "config_preset": _presets,
    "dump-config preset": _presets,
    "presets name": _preset_names,
    "code": _codes,
    "backend": _backends,
    "device": _devices,
    "core_mode": _modes,
    "inference_scheme": _schemes,
}
