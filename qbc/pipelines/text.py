"""IR as text: a parser that gives operations their file position, and a printer that keeps source names.

Locations that name source nodes print as `loc("name")`; file positions are not printed, because they are found again
when the text is read. So a text that is written, read and written again stays the same.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import IO

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, UnregisteredConstructException, VerifyException

from qbc.dialects.common.parser import Utf8Parser
from qbc.errors import QBCompilerError
from qbc.extensions import extension_names
from qbc.passes.base import CompileContext
from qbc.pipelines.grammar import did_you_mean

MAX_OPERATION_TEXT = 600
_UNKNOWN = re.compile(r"Operation (?P<name>[^.\s]+\.\S+) is not registered")
_COMMENT = re.compile(r"//[^\n]*")


class IRParseError(QBCompilerError):
    """IR text that cannot be parsed; `line` (one-based) and `excerpt` (source line and caret) say where."""

    default_code = "PARSE_ERROR"

    def __init__(self, message: str, *, line: int | None = None, excerpt: str = "", hint: str | None = None) -> None:
        self.line = line
        self.excerpt = excerpt
        super().__init__(message, hint=hint)


class IRParser(Utf8Parser):
    """Parser whose operations carry their file position when the text gives no location."""

    def __init__(self, ctx: CompileContext, text: str, name: str) -> None:
        super().__init__(ctx, text, name)
        self._file = StringAttr(name)
        self._text = text
        self._line = 1
        self._line_start = 0

    def parse_operation(self) -> Operation:
        position = self._current_token.span.start
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            op.location = self._location_of(position)
        return op

    def _location_of(self, position: int) -> FileLineColLoc:
        # Operations end in order, but an enclosing one starts before its body: then the count restarts.
        if position < self._line_start:
            self._line, self._line_start = 1, 0
        newlines = self._text.count("\n", self._line_start, position)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rfind("\n", 0, position) + 1
        return FileLineColLoc(self._file, IntAttr(self._line), IntAttr(position - self._line_start + 1))


class IRPrinter(Printer):
    """Printer that prints the locations of operations where they name source nodes."""

    def __init__(self, stream: IO[str], *, generic: bool = False, locations: bool = True) -> None:
        super().__init__(stream, print_generic_format=generic)
        self._locations = locations

    def print_op(self, op: Operation) -> None:
        super().print_op(op)
        if self._locations and names_source(op.location):
            self.print_string(" ")
            self.print_attribute(op.location)


def names_source(location: Attribute) -> bool:
    """Return whether a location holds anything but a position in an IR text."""
    return isinstance(location, NameLoc | FusedLoc | CallSiteLoc)


def print_ir(op: Operation, *, generic: bool = False, locations: bool = True) -> str:
    """Return the text of an operation (usually a module), ending with a line break."""
    stream = StringIO()
    IRPrinter(stream, generic=generic, locations=locations).print_op(op)
    return stream.getvalue() + "\n"


def parse_ir(ctx: CompileContext, text: str, name: str) -> ModuleOp:
    """Parse a module; raises IRParseError with file, line and column."""
    if not _COMMENT.sub("", text).strip():
        raise IRParseError(f"{name}: the text is empty, there is no module in it", line=1)
    parser: IRParser | None = None
    try:
        parser = IRParser(ctx, text, name)
        return parser.parse_module()
    except ParseError as error:
        span = error.span
        line, column = _line_and_column(text, span.start)
        message = _first_line(error.msg)
        raise IRParseError(
            f"{name}:{line}:{column}: {message}",
            line=line,
            excerpt=_excerpt(text, span.start),
            hint=_about_unknown(message, ctx),
        ) from None
    except (VerifyException, UnregisteredConstructException, ValueError, KeyError, RecursionError) as error:
        if isinstance(error, QBCompilerError):
            raise
        position = 0 if parser is None else parser.pos
        line, column = _line_and_column(text, position)
        message = "nesting is too deep" if isinstance(error, RecursionError) else _first_line(str(error))
        raise IRParseError(f"{name}:{line}:{column}: {message}", line=line, excerpt=_excerpt(text, position)) from None


def _about_unknown(message: str, ctx: CompileContext) -> str | None:
    """Return what helps with a name that is not known: the nearest one, or where its dialect may come from."""
    found = _UNKNOWN.fullmatch(message)
    if found is None:
        return None
    dialect = found["name"].partition(".")[0]
    if dialect in ctx.registered_dialect_names:
        return did_you_mean(found["name"], [op.name for op in ctx.loaded_ops])
    near = did_you_mean(dialect, [*ctx.registered_dialect_names, *extension_names("dialect")])
    return near or f"no installed package has the dialect {dialect!r}"


def operation_text(op: Operation) -> str:
    """Return one operation on one line, without its regions and cut to a readable length."""
    if op.regions:
        symbol = op.properties.get("sym_name") or op.attributes.get("sym_name")
        return f"{op.name} @{symbol.data}" if isinstance(symbol, StringAttr) else op.name
    stream = StringIO()
    try:
        IRPrinter(stream, locations=False).print_op(op)
    except (AttributeError, KeyError, ValueError, TypeError, IndexError):
        # A custom printer may rely on what the verifier has just refused; the generic form relies on nothing.
        stream = StringIO()
        IRPrinter(stream, generic=True, locations=False).print_op(op)
    text = " ".join(stream.getvalue().split())
    return text if len(text) <= MAX_OPERATION_TEXT else text[: MAX_OPERATION_TEXT - 4] + " ..."


def location_text(location: Attribute) -> str | None:
    """Return `file:line:column` or the quoted source names of a location; None when nothing is known."""
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}:{location.column.data}"
    if isinstance(location, NameLoc):
        return f'"{location.desc.data}"'
    if isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        parts = [location_text(part) for part in location.locations.data]
        return ", ".join(part for part in parts if part) or None
    return None


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "invalid text"


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - (text.rfind("\n", 0, position) + 1) + 1


def _excerpt(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : len(text) if end < 0 else end]
    column = position - start
    window = max(0, column - 60)
    return f"{line[window : window + 120]}\n{' ' * (column - window)}^"
