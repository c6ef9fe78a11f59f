"""The reference pages of what users touch: configuration, presets, commands, Python functions."""

from __future__ import annotations

import argparse
import inspect
import typing
from collections.abc import Iterator
from typing import Any

from qbc.config import CompileConfig
from qbc.config.fields import key_of, treatment
from qbc.config.files import config_text
from qbc.config.model import GROUPS
from qbc.config.section import ConfigSection, section_class
from qbc.driver.environment import VARIABLES
from qbc.pipelines.phases import PHASES, load_preset, preset_names
from qbcompiler.result_keys import ResultKeys

NOTE = "<!-- Made by docs/generate.py; edit the docstrings in the code instead. -->\n"
KINDS = {"option": "", "driver": "", "notice": "noted: ", "refused": "refused: "}


def configuration_page() -> str:
    """Return the page of all configuration fields."""
    groups = [f"`{group}.{key}`" for group, keys in GROUPS.items() for key in keys]
    parts = [
        NOTE,
        "# Configuration\n",
        _cleaned("""
        A configuration is a `.json`, `.yaml` or `.yml` file (`--compile-config`, `compile_config=`), a `CompileConfig`
        object, or objects and dictionaries of its sections. Keys may be written in camelCase, as here, or in
        snake_case; a key without a value (None, null) is not set. `qbcompiler dump-config --output config.yaml`
        writes all of them.

        What counts where several say something, highest first: arguments that are given; fields that were set in
        section objects (`CalibrationConfig(mode=0)` sets one field); the preset, if one is given, else the file or
        object; the defaults. `--config-save-path FILE` writes what came out; given again, it makes the same bytes.

        Files may hold some sections in groups: GROUPS. Where a section stands in a group and outside, both are merged,
        and where they differ the group wins with a warning (`--strict-config`: an error). Keys of older releases are
        accepted with a warning that says what replaces them.

        Last column: the effect, where the meaning does not say it. *noted* fields are accepted, recorded and
        named in one notice; *refused* ones belong to features that this version lacks, any value but the default is
        UNSUPPORTED_FEATURE. Fields of a section whose `apply` is false have no effect.
        """).replace("GROUPS", ", ".join(groups)),
    ]
    for title, cls, prefix in _sections(CompileConfig, ""):
        parts.append(_section(title, cls, prefix))
    return "\n".join(parts)


def _cleaned(text: str) -> str:
    return inspect.cleandoc(text) + "\n"


def _sections(cls: type[ConfigSection], prefix: str) -> Iterator[tuple[str, type[ConfigSection], str]]:
    yield (f"`{key_of(prefix.rstrip('.'))}`" if prefix else "Top level"), cls, prefix
    for name in cls.model_fields:
        section = section_class(cls, name)
        if section is not None:
            yield from _sections(section, f"{prefix}{name}.")


def _section(title: str, cls: type[ConfigSection], prefix: str) -> str:
    rows = []
    for name, info in cls.model_fields.items():
        if section_class(cls, name) is not None:
            continue
        default = info.get_default(call_default_factory=True, validated_data={})
        known = treatment(f"{prefix}{name}")
        effect = "" if known.kind == "driver" and info.description else f"{KINDS[known.kind]}{known.text}"
        cells = (f"`{info.alias}`", _cell(type_text(info.annotation)), f"`{_value(default)}`")
        rows.append(f"| {' | '.join(cells)} | {_cell(info.description or '')} | {_cell(effect)} |")
    head = f"## {title}\n\n{inspect.getdoc(cls)}\n"
    if not rows:
        return head
    return (
        head
        + "\n| key | type | default | meaning | effect |\n| --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n"
    )


def type_text(kind: Any) -> str:
    """Return a type as people write it: choices, lists, names."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return ", ".join(map(str, arguments))
    if origin is typing.Annotated:
        return type_text(arguments[0])
    if origin in (list, tuple):
        return f"list of {type_text(arguments[0])}"
    if origin is dict:
        return f"mapping of {type_text(arguments[0])} to {type_text(arguments[1])}"
    if arguments:
        return " or ".join(type_text(item) for item in arguments)
    if isinstance(kind, type) and issubclass(kind, ConfigSection):
        return kind.__name__
    return "any" if kind is Any else getattr(kind, "__name__", str(kind))


def _value(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def presets_page() -> str:
    """Return the page of all presets."""
    from qbcompiler.tools import preset_entry

    parts = [
        NOTE,
        "# Presets\n",
        _cleaned("""
        A preset is a YAML file with `name`, `base`, `description`, `config` (a partial configuration) and `pipelines`
        (the text of phases). It inherits from its base: mappings merge, lists and scalars replace. Your own presets are
        files (`--config-preset my.yaml`) or stand in directories that the environment variable QBCOMPILER_PRESETS
        lists (`qbcompiler check` names what is wrong with them); without a `base` they build on `default`.
        `qbcompiler presets --name NAME` shows one.
        """),
    ]
    for name in preset_names():
        entry = preset_entry(name)
        base = f" Based on `{entry['base']}`." if entry["base"] else ""
        parts.append(f"## {name}\n\n{entry['description']}{base}\n")
        if entry["missing"]:
            parts.append(f"**Cannot compile yet.** Not available in this version: {'; '.join(entry['missing'])}.\n")
        if "backend: opencv" in config_text(entry["config"], as_yaml=True):
            parts.append("Needs OpenCV: `pip install 'qbcompiler[images]'`.\n")
        if entry["config"]:
            parts.append(f"```yaml\n{config_text(entry['config'], as_yaml=True)}```\n")
        if entry["base"] is None:
            parts.extend(f"- {phase}: `{load_preset(name).pipeline(phase)}`" for phase in PHASES)
            parts.append("")
    return "\n".join(parts)


def commands_page() -> str:
    """Return the page of all commands with their flags, and of the JSON lines."""
    from qbcompiler import channel, result_keys
    from qbcompiler.parser import build_parser

    parser = build_parser()
    parts = [
        NOTE,
        "# Commands\n",
        "`qbcompiler COMMAND` and `python -m qbcompiler COMMAND` are the same.\n",
    ]
    (action,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for name, command in action.choices.items():
        parts.extend(_command(name, command))
    parts.append("# Environment\n")
    parts.append("| variable | meaning |\n| --- | --- |")
    parts.append("".join(f"| `{name}` | {_cell(text)} |\n" for name, text in VARIABLES.items()))
    parts.append(f"# JSON lines\n\n{inspect.cleandoc(channel.__doc__ or '')}\n")
    parts.append(f"## Results\n\n{inspect.cleandoc(result_keys.__doc__ or '')}\n")
    parts.append("| command | data |\n| --- | --- |\n" + "\n".join(_result(row) for row in result_keys.RESULTS) + "\n")
    return "\n".join(parts)


def _result(row: ResultKeys) -> str:
    call = f"`{row.command}`" + (f" ({row.flags})" if row.flags else "")
    return f"| {call} | {'; '.join(f'`{key}`: {text}' for key, text in row.keys.items())} |"


def _command(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    text = command.description or ""
    yield f"## {name}\n\n{text[:1].upper()}{text[1:]}\n" if text else f"## {name}\n"
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    rows = [_flag(action) for action in command._actions if not isinstance(action, hidden)]
    if rows:
        yield "| argument | meaning |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    for inner in (action for action in command._actions if isinstance(action, argparse._SubParsersAction)):
        for inner_name, inner_command in inner.choices.items():
            yield from _command(f"{name} {inner_name}", inner_command)


def _flag(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or '|'.join(map(str, action.choices or ['TEXT']))}"
    if isinstance(action, argparse.BooleanOptionalAction):
        value = ""
    names = ", ".join(action.option_strings) or str(action.metavar)
    shown = f"{names}{value}" if action.option_strings else names
    required = " (required)" if action.required and action.option_strings else ""
    return f"| `{_cell(shown)}` | {_cell(action.help or '')}{required} |"


def functions_page() -> str:
    """Return the page of the Python functions."""
    import qbcompiler

    parts = [NOTE, "# Python functions\n", "All of these are members of `qbcompiler`; they load what they need.\n"]
    for name in qbcompiler.__all__:
        member = getattr(qbcompiler, name)
        if not inspect.isfunction(member):
            continue
        parameters = list(inspect.signature(member).parameters.values())
        shown = ", ".join(_parameter(parameter) for parameter in parameters)
        parts.append(f"## {name}\n\n`{name}({shown})`\n\n{inspect.getdoc(member)}\n")
    return "\n".join(parts)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is inspect.Parameter.empty else f"={parameter.default!r}"
    return f"{stars}{parameter.name}{default}"
