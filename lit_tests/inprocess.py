"""A lit format that runs `qbc-opt ... | filecheck ...` lines without starting processes.

lit forks its workers, so the modules imported here are loaded once.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import lit.formats
import lit.Test
from filecheck.error import CheckError, ParseError
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from qbc.driver import opt

_RUN = re.compile(r"^\s*(?://|#)\s*RUN:\s*(?P<line>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """One RUN line: arguments of qbc-opt and of filecheck (None without), and how stderr and status are treated."""

    opt: list[str]
    check: list[str] | None
    both: bool  # 2>&1
    fails: bool  # not qbc-opt


def parse_run_line(line: str, path: Path, temporary: str) -> Command | None:
    """Return the command of a RUN line, or None when it needs a shell."""
    if any(mark in line for mark in ("&&", ";", "||", "$(", "<")) and "2>&1" not in line:
        return None
    line = (
        line.replace("%s", shlex.quote(str(path))).replace("%S", shlex.quote(str(path.parent))).replace("%t", temporary)
    )
    both = "2>&1" in line
    parts = [shlex.split(part) for part in _split_pipe(line.replace("2>&1", ""))]
    fails = bool(parts[0]) and parts[0][0] == "not"
    head = parts[0][1:] if fails else parts[0]
    if not head or head[0] != "qbc-opt" or len(parts) > 2 or ">" in head or "<" in head:
        return None
    if len(parts) == 2 and (not parts[1] or parts[1][0] != "filecheck"):
        return None
    return Command(head[1:], parts[1] if len(parts) == 2 else None, both, fails)


def _split_pipe(line: str) -> list[str]:
    parts, quote, start = [], "", 0
    for index, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "|":
            parts.append(line[start:index])
            start = index + 1
    return [*parts, line[start:]]


def run_lines(text: str) -> list[str]:
    """Return the RUN lines of a test, continued lines joined."""
    lines: list[str] = []
    for match in _RUN.finditer(text):
        if lines and lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1] + match["line"].strip()
        else:
            lines.append(match["line"].strip())
    return lines


@contextmanager
def _captured(both: bool) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    out = io.StringIO()
    err = out if both else io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        yield out, err


def run_command(command: Command, path: Path) -> str | None:
    """Run one RUN line; returns what went wrong, or None."""
    with _captured(command.both) as (out, err):
        status = opt.main(command.opt)
    if command.fails != (status != 0):
        wanted = "a failure" if command.fails else "success"
        return f"qbc-opt ended with {status}, wanted {wanted}\n{err.getvalue() or out.getvalue()}"
    if command.check is None:
        return None
    return filecheck(command.check, out.getvalue())


def filecheck(arguments: list[str], text: str) -> str | None:
    """Run filecheck on `text`; returns its complaint, or None."""
    options = parse_argv_options(arguments)
    report = io.StringIO()
    try:
        with redirect_stdout(report), redirect_stderr(report):
            status = Matcher(options, FInput("-", text), Parser.from_opts(options)).run()
    except (ParseError, CheckError) as error:
        return f"{error}\n--- output ---\n{text}"
    return None if status == 0 else f"{report.getvalue()}\n--- output ---\n{text}"


class InProcessTest(lit.formats.ShTest):  # type: ignore[misc]  # lit has no types
    """ShTest that keeps simple RUN lines inside the process."""

    def execute(self, test, lit_config):  # type: ignore[no-untyped-def]  # signature of lit
        path = Path(test.getSourcePath())
        temporary = str(Path(test.getExecPath()).with_suffix(".tmp"))
        Path(temporary).parent.mkdir(parents=True, exist_ok=True)
        lines = run_lines(path.read_text())
        commands = [parse_run_line(line, path, temporary) for line in lines]
        if not commands or None in commands:
            return super().execute(test, lit_config)
        for line, command in zip(lines, commands, strict=True):
            if command is None:
                continue
            problem = run_command(command, path)
            if problem is not None:
                return lit.Test.FAIL, f"RUN: {line}\n{problem}"
        return lit.Test.PASS, ""
