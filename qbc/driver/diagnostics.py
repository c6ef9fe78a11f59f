"""Diagnostics of `qbc-opt`: rendering, and checking against `// expected-error` comments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from qbc.errors import MISSING_BLOB_HINT, QBCompilerError
from qbc.pipelines.grammar import PipelineError
from qbc.pipelines.text import IRParseError, location_text, operation_text
from qbc.pipelines.verify import VerificationError


@dataclass(frozen=True)
class Diagnostic:
    """One error message with its place: `line` is the line of the input file when it is known."""

    code: str
    message: str
    line: int | None = None
    location: str | None = None
    details: tuple[str, ...] = ()

    def render(self) -> str:
        """Return the text that `qbc-opt` prints on stderr."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.location:
            lines.append(f"  at {self.location}")
        lines.extend(f"  {part}" for detail in self.details for part in detail.splitlines())
        return "\n".join(lines) + "\n"


def diagnostics_of(error: QBCompilerError) -> list[Diagnostic]:
    """Return the diagnostics of an error: one each for all violations of a verification, else one."""
    notes = [f"while running pass {error.pass_name}"] if error.pass_name else []
    if error.hint == MISSING_BLOB_HINT:
        error.hint += ", or in the one that --blobs names"
    if isinstance(error, VerificationError):
        notes += [error.hint] if error.hint else []
        notes = [error.subject, *notes] if error.subject else notes
        return [_about(error.code, str(part), part.operation, notes) for part in error.violations]
    if error.operation is not None:
        return [_about(error.code, error.describe(), error.operation, notes)]
    if isinstance(error, IRParseError):
        return [Diagnostic(error.code, error.describe(), error.line, None, (error.excerpt, *notes))]
    if isinstance(error, PipelineError) and error.caret():
        notes = [error.caret(), *notes]
    return [Diagnostic(error.code, error.describe(), details=tuple(notes))]


def _about(code: str, message: str, op: Operation, notes: list[str]) -> Diagnostic:
    line = op.location.line.data if isinstance(op.location, FileLineColLoc) else None
    return Diagnostic(code, message, line, location_text(op.location), (f"op: {operation_text(op)}", *notes))


# --- expected-error comments -------------------------------------------------------------------------------------

_EXPECTED = re.compile(r"expected-error\s*(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}")


@dataclass(frozen=True)
class Expectation:
    """An `// expected-error@+1 {{text}}` comment: `line` it speaks of (None for @unknown), and where it stands."""

    text: str
    line: int | None
    stands_at: int


def expectations_of(text: str, first_line: int = 1) -> list[Expectation]:
    """Collect the expected errors of an input; `@above`, `@below`, `@+n`, `@-n` and `@unknown` say which line."""
    found = []
    for number, content in enumerate(text.splitlines(), first_line):
        for match in _EXPECTED.finditer(content):
            found.append(Expectation(match["text"], _line_of(match["place"], number), number))
    return found


def _line_of(place: str | None, number: int) -> int | None:
    if place == "unknown":
        return None
    if place is None:
        return number
    offset = {"above": -1, "below": 1}.get(place)
    return number + (int(place) if offset is None else offset)


def check_expectations(expectations: list[Expectation], diagnostics: list[Diagnostic]) -> list[str]:
    """Return complaints: errors that no comment expects, and comments that no error meets.

    An error whose line is not known (its operation has a source name, or a pass concerns no operation) meets any
    comment with its text.
    """
    open_expectations = list(expectations)
    complaints = []
    for diagnostic in diagnostics:
        match = next((item for item in open_expectations if _meets(item, diagnostic)), None)
        if match is None:
            place = f"line {diagnostic.line}: " if diagnostic.line else ""
            complaints.append(f"{place}unexpected error[{diagnostic.code}]: {diagnostic.message}")
        else:
            open_expectations.remove(match)
    complaints.extend(
        f'line {item.stands_at}: expected error "{item.text}" was not produced' for item in open_expectations
    )
    return complaints


def _meets(expectation: Expectation, diagnostic: Diagnostic) -> bool:
    if expectation.text not in diagnostic.message and expectation.text not in diagnostic.code:
        return False
    return diagnostic.line is None or expectation.line is None or diagnostic.line == expectation.line
