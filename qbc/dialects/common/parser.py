"""A parser that reads string literals as text whenever they are UTF-8, and that refuses sizes beyond 64 bits.

xDSL gives a literal with any byte above 127 as bytes. Names of nodes, inputs and metadata are text in any language, and
no attribute of ours holds bytes as a literal.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.parser import Parser, ParserState
from xdsl.utils.lexer import Input, Position, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind, StringLiteral

LARGEST_SIZE = 2**63 - 1


class Utf8Lexer(MLIRLexer):
    """Lexer whose string literals are text when they are UTF-8, bytes otherwise."""

    def _lex_string_literal(self, start_pos: Position) -> Token[MLIRTokenKind]:
        token = super()._lex_string_literal(start_pos)
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return token
        literal = StringLiteral.from_span(token.span)
        try:
            literal.bytes_contents.decode("utf-8")
        except UnicodeDecodeError:
            return token
        return Token(MLIRTokenKind.STRING_LIT, literal)


class Utf8Parser(Parser):
    """Parser of IR text with `Utf8Lexer`."""

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>") -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(Utf8Lexer(Input(text, name)))

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Parse one size of a shape; sizes are 64-bit integers, whatever holds them."""
        position = self._current_token.span
        size = super().parse_shape_dimension(allow_dynamic)
        if size > LARGEST_SIZE:
            self.raise_error(f"the size {size} is above {LARGEST_SIZE}", position)
        return size
