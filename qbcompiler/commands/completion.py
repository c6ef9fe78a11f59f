"""`completion`: scripts that complete commands and flags in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from qbcompiler.channel import channel


def completion(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    from qbcompiler.parser import build_parser

    words = _words(build_parser())
    text = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](words)
    channel().result("completion", {"shell": options.shell, "script": text}, text)
    return 0


def _words(parser: Any) -> dict[str, list[str]]:
    """Return the flags and inner commands of each command."""
    (action,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: sorted(_flags(command)) for name, command in action.choices.items()}


def _flags(command: Any) -> set[str]:
    flags: set[str] = set()
    for action in command._actions:
        flags.update(text for text in action.option_strings if text.startswith("--"))
        if isinstance(action.choices, Mapping):
            flags.update(action.choices)
    return flags


def _bash(words: Mapping[str, list[str]]) -> str:
    cases = "\n".join(f"    {name}) words={_quoted(flags)} ;;" for name, flags in words.items())
    return f"""_qbcompiler() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words={_quoted(list(words))}
  if [ "$COMP_CWORD" -gt 1 ]; then case "${{COMP_WORDS[1]}}" in
{cases}
  esac; fi
  if [ "$COMP_CWORD" -gt 1 ] && [ "${{current#-}}" = "$current" ] && [ "${{COMP_WORDS[1]}}" != target ]; then
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o filenames -F _qbcompiler qbcompiler"""


def _zsh(words: Mapping[str, list[str]]) -> str:
    cases = "\n".join(f"    {name}) compadd -- {' '.join(flags)}; _files ;;" for name, flags in words.items())
    return f"""#compdef qbcompiler
_qbcompiler() {{
  if (( CURRENT == 2 )); then compadd -- {" ".join(words)}; return; fi
  case "$words[2]" in
{cases}
  esac
}}
compdef _qbcompiler qbcompiler"""


def _fish(words: Mapping[str, list[str]]) -> str:
    lines = [f"complete -c qbcompiler -n __fish_use_subcommand -f -a '{' '.join(words)}'"]
    for name, flags in words.items():
        condition = f"'__fish_seen_subcommand_from {name}'"
        for flag in flags:
            option = f"-l {flag[2:]}" if flag.startswith("--") else f"-a {flag}"
            lines.append(f"complete -c qbcompiler -n {condition} {option}")
    return "\n".join(lines)


def _quoted(words: list[str]) -> str:
    return '"' + " ".join(words) + '"'
