"""`completion`: scripts that complete commands, flags and values in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from qbcompiler.channel import channel
from qbcompiler.completion_words import CommandWords, Values, command_words


def completion(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    from qbcompiler.parser import build_parser

    commands = list(command_words(build_parser()))
    text = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](commands)
    channel().result("completion", {"shell": options.shell, "script": text}, text)
    return 0


# --- bash and zsh: one `case` over the command and the word before, one over the command alone -------------------


_BASH = """_qbcompiler() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words="" paths=""
  local command=""
  if [ "$current" = "=" ]; then current=""
  elif [ "$previous" = "=" ]; then previous="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  if [ "$COMP_CWORD" -gt 1 ]; then command="${{COMP_WORDS[1]}}"; fi
  case "$command" in {outer}) if [ "$COMP_CWORD" -gt 2 ]; then command="$command ${{COMP_WORDS[2]}}"; fi ;; esac
  case "$command:$previous" in
{values}
    *) case "$current" in
      -*) case "$command" in
{flags}
      esac ;;
      *) case "$command" in
{arguments}
      esac ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  local IFS=$'\\n'
  if [ -n "$paths" ]; then COMPREPLY+=($(compgen "-${{paths:0:1}}" -- "$current")); fi
}}
complete -o filenames -F _qbcompiler qbcompiler"""

_ZSH = """#compdef qbcompiler
_qbcompiler() {{
  local current="${{words[CURRENT]}}" previous="${{words[CURRENT-1]}}" found="" paths="" command=""
  if [[ "$current" == --*=* ]]; then previous="${{current%%=*}}"; current="${{current#*=}}"; compset -P '*='; fi
  if (( CURRENT > 2 )); then command="${{words[2]}}"; fi
  case "$command" in {outer}) if (( CURRENT > 3 )); then command="$command ${{words[3]}}"; fi ;; esac
  case "$command:$previous" in
{values}
    *) case "$current" in
      -*) case "$command" in
{flags}
      esac ;;
      *) case "$command" in
{arguments}
      esac ;;
    esac ;;
  esac
  if [[ -n "$found" ]]; then compadd -- ${{=found}}; fi
  if [[ "$paths" == file ]]; then _files; elif [[ "$paths" == directory ]]; then _files -/; fi
}}
compdef _qbcompiler qbcompiler"""


def _bash(commands: Sequence[CommandWords]) -> str:
    return _cases(_BASH, commands, "words")


def _zsh(commands: Sequence[CommandWords]) -> str:
    return _cases(_ZSH, commands, "found")


def _cases(script: str, commands: Sequence[CommandWords], variable: str) -> str:
    """Fill in a script: which values follow a flag, which flags a command has, and what else may follow it."""

    def put(values: Values) -> str:
        texts = [f'{variable}="{" ".join(values.words)}"'] if values.words else []
        return "; ".join([*texts, f"paths={values.paths}"] if values.paths else texts)

    values, flags, arguments = [], [], []
    for command in commands:
        name = _quoted(" ".join(command.path))
        for flag, taken in command.flags.items():
            if taken is not None:
                values.append(f"    {name}:{flag}) {put(taken)} ;;")
        flags.append(f"        {name}) {put(Values(tuple(command.flags)))} ;;")
        arguments.append(f"        {name}) {put(_following(command))} ;;")
    outer = "|".join(command.path[0] for command in commands if command.path and command.inner)
    return script.format(outer=outer, values="\n".join(values), flags="\n".join(flags), arguments="\n".join(arguments))


def _following(command: CommandWords) -> Values:
    """Return what may stand behind a command where no flag was begun: flags, where it takes nothing else."""
    if command.inner:
        return Values(command.inner)
    return command.argument or Values(tuple(command.flags))


def _quoted(text: str) -> str:
    return f'"{text}"'


# --- fish: one line for each flag ------------------------------------------------------------------------------------

_FISH = """function __qbcompiler_begins
  set -l given (commandline -opc)
  set -e given[1]
  set -l length (count $argv)
  test (count $given) -ge $length; and test "$given[1..$length]" = "$argv"
end
function __qbcompiler_is
  set -l given (commandline -opc)
  set -e given[1]
  test "$given" = "$argv"
end"""


def _fish(commands: Sequence[CommandWords]) -> str:
    return "\n".join([_FISH, *(line for command in commands for line in _fish_lines(command))])


def _fish_lines(command: CommandWords) -> Iterator[str]:
    test = "__qbcompiler_begins" if command.path else "__qbcompiler_is"
    begin = f"complete -c qbcompiler -n '{' '.join((test, *command.path))}'"
    if command.inner:
        begin_here = f"complete -c qbcompiler -n '{' '.join(('__qbcompiler_is', *command.path))}'"
        yield f"{begin_here} -f{_fish_words(Values(command.inner))}"
    else:
        argument = command.argument or Values()
        yield f"{begin} {'-F' if argument.paths == 'file' else '-f'}{_fish_words(argument)}"
    for flag, values in command.flags.items():
        yield f"{begin} -l {flag[2:]}{'' if values is None else _fish_values(values)}"


def _fish_values(values: Values) -> str:
    if values.paths == "directory":
        return " -x -a '(__fish_complete_directories)'"
    return (" -r -F" if values.paths else " -x") + _fish_words(values)


def _fish_words(values: Values) -> str:
    return f" -a '{' '.join(values.words)}'" if values.words else ""
