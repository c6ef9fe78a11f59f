"""The text form of pass pipelines.

    pipeline ::= items                     # flat form: an implicit builtin.module
    items    ::= item (',' item)*
    item     ::= anchor '(' items? ')'     # builtin.module(...), func.func(...), npu.program(...)
               | name ('{' option* '}')?
    option   ::= key ('=' value)?          # options are separated by blanks; a bare key means true
    value    ::= scalar (',' scalar)+ | '[' (scalar (',' scalar)*)? ']' | scalar
    scalar   ::= 'quoted string' | "quoted string" | number | true | false | none | word

`builtin.module(...)` is the module that the pipeline runs on: it stands outside only, alone or beside other items, and
its items are items of the pipeline. Blanks (also line breaks) may stand anywhere between tokens. Numbers may be written
in any form that Python reads (`1`, `1e-3`, `.5`, `0x10`, `inf`). Words are unquoted strings: letters, digits and
`_ . / : + - @ * ? ~ %`.
Printing a parsed pipeline and parsing it again gives an equal pipeline.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeGuard

from qbc.errors import QBCompilerError

ANCHORS = ("builtin.module", "func.func", "npu.program")

Scalar = int | float | bool | str | None
Value = Scalar | tuple[Scalar, ...]


EXCERPT_COLUMNS = 400  # of a long pipeline text that errors show


class PipelineError(QBCompilerError):
    """A pipeline text that is not valid; `text` and `position` say where (None when the place is not known)."""

    default_code = "PIPELINE_ERROR"

    def __init__(self, message: str, *, text: str = "", position: int | None = None, hint: str | None = None) -> None:
        self.text = text
        self.position = position
        where = "" if position is None else f" at column {position + 1}"
        super().__init__(f"{message}{where}", hint=hint)

    def caret(self) -> str:
        """Return the text line with a caret under the place, or an empty string."""
        if self.position is None:
            return ""
        start = self.text.rfind("\n", 0, self.position) + 1
        end = self.text.find("\n", self.position)
        line = self.text[start : len(self.text) if end < 0 else end]
        column = self.position - start
        window = max(0, column - EXCERPT_COLUMNS // 2)
        return f"{line[window : window + EXCERPT_COLUMNS]}\n{' ' * (column - window)}^"


@dataclass(frozen=True)
class PassCall:
    """One pass with its options in the order written; keys use hyphens. `position` is not part of equality."""

    name: str
    options: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}{{{' '.join(f'{key}={print_value(value)}' for key, value in self.options)}}}"


@dataclass(frozen=True)
class Nest:
    """Passes that run on every operation of one kind, for example `func.func(a,b)`."""

    anchor: str
    items: tuple[PassCall | Nest, ...] = ()

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.items))})"


@dataclass(frozen=True)
class Pipeline:
    """A whole pipeline; its items run on the module. Prints in nested form."""

    items: tuple[PassCall | Nest, ...] = ()

    def __str__(self) -> str:
        return str(Nest("builtin.module", self.items))

    def __add__(self, other: Pipeline) -> Pipeline:
        return Pipeline(self.items + other.items)

    def calls(self) -> list[PassCall]:
        """Return all passes in the order they run."""
        found: list[PassCall] = []
        stack: list[PassCall | Nest] = list(reversed(self.items))
        while stack:
            item = stack.pop()
            if isinstance(item, PassCall):
                found.append(item)
            else:
                stack.extend(reversed(item.items))
        return found


# --- printing ----------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[A-Za-z0-9_./:+\-@*?~%]+")
_SPECIAL = {"true": True, "false": False, "none": None}


def print_value(value: Value) -> str:
    """Return the text of an option value that parses to an equal value of the same type."""
    if not isinstance(value, tuple):
        return _print_scalar(value)
    inner = ",".join(map(_print_scalar, value))
    return inner if len(value) > 1 else f"[{inner}]"


def _print_scalar(value: Scalar) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if _WORD.fullmatch(value) and isinstance(_scalar_of_word(value), str):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _scalar_of_word(word: str) -> Scalar:
    if word in _SPECIAL:
        return _SPECIAL[word]
    try:
        return int(word, 0)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        return word
    return word if math.isnan(number) else number


# --- parsing -----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\s*(?:(?P<punctuation>[(){}\[\],=])|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<word>[A-Za-z0-9_./:+\-@*?~%]+))",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*")
_MAX_DEPTH = 32


@dataclass(frozen=True)
class _Token:
    kind: str  # "punctuation", "string", "word" or "end"
    text: str
    position: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            while text[position].isspace():
                position += 1
            what = "unterminated string" if text[position] in "\"'" else f"unexpected character {text[position]!r}"
            raise PipelineError(what, text=text, position=position)
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match.group(kind), match.start(kind)))
        position = match.end()
    tokens.append(_Token("end", "", end))
    return tokens


def _is_module(item: PassCall | Nest) -> TypeGuard[Nest]:
    return isinstance(item, Nest) and item.anchor == "builtin.module"


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.index = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.index]

    def next(self) -> _Token:
        token = self.token
        self.index += token.kind != "end"
        return token

    def accept(self, punctuation: str) -> bool:
        if self.token.kind != "punctuation" or self.token.text != punctuation:
            return False
        self.index += 1
        return True

    def fail(self, message: str, token: _Token | None = None) -> PipelineError:
        return PipelineError(message, text=self.text, position=(token or self.token).position)

    def expect(self, punctuation: str, *alternatives: str) -> None:
        if not self.accept(punctuation):
            wanted = " or ".join(repr(choice) for choice in (*alternatives, punctuation))
            raise self.fail(f"expected {wanted}, found {self.token.text or 'the end'!r}")

    def pipeline(self) -> Pipeline:
        items = self.items(0)
        if self.token.kind != "end":
            raise self.fail(f"expected ',' or the end, found {self.token.text!r}")
        outer = [item.items if _is_module(item) else (item,) for item in items]
        return Pipeline(tuple(inner for inners in outer for inner in inners))

    def items(self, depth: int) -> tuple[PassCall | Nest, ...]:
        if depth > _MAX_DEPTH:
            raise self.fail("nesting is too deep")
        if self.token.kind == "end" or self.token.text == ")":
            return ()
        found = [self.item(depth)]
        while self.accept(","):
            found.append(self.item(depth))
        return tuple(found)

    def item(self, depth: int) -> PassCall | Nest:
        name = self.next()
        if name.kind != "word" or not _NAME.fullmatch(name.text):
            raise self.fail(f"expected a pass name, found {name.text or 'the end'!r}", name)
        if self.accept("("):
            if name.text not in ANCHORS:
                hint = did_you_mean(name.text, ANCHORS) or f"anchors are {', '.join(ANCHORS)}"
                raise PipelineError(f"unknown anchor {name.text!r}", text=self.text, position=name.position, hint=hint)
            inner = self.items(depth + 1)
            self.expect(")", ",")
            return Nest(name.text, inner)
        return PassCall(name.text, self.options() if self.accept("{") else ())

    def options(self) -> tuple[tuple[str, Value], ...]:
        options: dict[str, Value] = {}
        while not self.accept("}"):
            key = self.next()
            if key.kind != "word" or not _NAME.fullmatch(key.text):
                raise self.fail(f"expected an option name or '}}', found {key.text or 'the end'!r}", key)
            spelled = key.text.replace("_", "-")
            if spelled in options:
                raise self.fail(f"option {spelled!r} is given twice", key)
            options[spelled] = self.value() if self.accept("=") else True
        return tuple(options.items())

    def value(self) -> Value:
        if self.accept("["):
            return self.bracketed()
        first = self.scalar()
        if not self.accept(","):
            return first
        values = [first, self.scalar()]
        while self.accept(","):
            values.append(self.scalar())
        return tuple(values)

    def bracketed(self) -> tuple[Scalar, ...]:
        values: list[Scalar] = []
        while not self.accept("]"):
            if values:
                self.expect(",", "]")
            values.append(self.scalar())
        return tuple(values)

    def scalar(self) -> Scalar:
        token = self.next()
        if token.kind == "string":
            return _ESCAPE.sub(lambda match: {"n": "\n"}.get(match[1], match[1]), token.text[1:-1])
        if token.kind == "word":
            return _scalar_of_word(token.text)
        raise self.fail(f"expected a value, found {token.text or 'the end'!r}", token)


def parse_pipeline(text: str) -> Pipeline:
    """Parse flat or nested pipeline text; raises PipelineError with the place of the first mistake."""
    return _Parser(text).pipeline()


def did_you_mean(word: str, choices: tuple[str, ...] | list[str]) -> str | None:
    """Return `did you mean 'x'?` for the nearest choice, or None when nothing is near."""
    import difflib

    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else None
