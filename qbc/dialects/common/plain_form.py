"""The assembly form that tensor ops of all dialects share, and construction from Python values.

```mlir
%0 = mblt.relu %x : tensor<1x8xf32> -> tensor<1x8xf32>
%1 = mblt.concat %x, %0 {axis = 1} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x16xf32>
%2 = mblt.constant {value = dense<[1, 2]> : tensor<2xi64>} : tensor<2xi64>
```

One operand prints without parentheses, no operands print the result type alone. Integer and float lists print as
`[3, 3]` and `[2.0, 2.0]`; i64 and f64 numbers print without their type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    UnitAttr,
    UnknownLoc,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from qbc.dialects.common.properties import F64, as_attribute, as_python, float_list, int_list


class PlainFormOp(IRDLOperation):
    """Base of ops written as `name operands {properties} : operand types -> result types`."""

    DEFAULTS: ClassVar[dict[str, object]] = {}  # property values that `create_op` fills in

    @classmethod
    def create_op(
        cls,
        operands: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        properties: dict[str, object],
        location: LocationAttr | None = None,
    ) -> Self:
        """Build the op from Python property values (None leaves a property out; defaults are filled in)."""
        f64_names = _f64_properties(cls)
        merged = {**cls.DEFAULTS, **{name: value for name, value in properties.items() if value is not None}}
        return cls.create(
            operands=[SSAValue.get(operand) for operand in operands],
            result_types=result_types,
            properties={name: as_attribute(value, f64 if name in f64_names else f32) for name, value in merged.items()},
            location=location or UnknownLoc(),
        )

    def value_of(self, name: str) -> object:
        """Return the Python value of a property, or None when it is absent."""
        attribute = self.properties.get(name)
        return None if attribute is None else as_python(attribute)

    def ints(self, name: str) -> tuple[int, ...]:
        """Return a list-of-integers property as a tuple."""
        return cast("DenseArrayBase[IntegerType]", self.properties[name]).get_values()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        entries = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_entry(parser))
        parser.parse_punctuation(":")
        position = parser.pos
        types = _parse_types(parser)
        results = _parse_types(parser) if parser.parse_optional_punctuation("->") else None
        operand_types, result_types = (types, results) if results is not None else ([], types)
        values = parser.resolve_operands(operands or [], operand_types, position)
        names = cls.get_irdl_definition().properties.keys() | {"operandSegmentSizes", "resultSegmentSizes"}
        attributes = dict(entries or [])
        return cls.create(
            operands=values,
            result_types=result_types,
            properties={name: value for name, value in attributes.items() if name in names},
            attributes={name: value for name, value in attributes.items() if name not in names},
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        entries = [*self.properties.items(), *self.attributes.items()]
        if entries:
            printer.print_string(" {")
            printer.print_list(entries, lambda entry: _print_entry(printer, *entry))
            printer.print_string("}")
        printer.print_string(" : ")
        if self.operands:
            _print_types(printer, self.operand_types)
            printer.print_string(" -> ")
        _print_types(printer, self.result_types)


_F64_CACHE: dict[type[PlainFormOp], frozenset[str]] = {}


def _f64_properties(cls: type[PlainFormOp]) -> frozenset[str]:
    names = _F64_CACHE.get(cls)
    if names is None:
        definitions = cls.get_irdl_definition().properties
        names = frozenset(name for name, definition in definitions.items() if definition.constr is F64)
        _F64_CACHE[cls] = names
    return names


def _parse_types(parser: Parser) -> list[Attribute]:
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)


def _print_types(printer: Printer, types: Iterable[Attribute]) -> None:
    listed = list(types)
    if len(listed) == 1:
        printer.print_attribute(listed[0])
        return
    printer.print_string("(")
    printer.print_list(listed, printer.print_attribute)
    printer.print_string(")")


def _parse_entry(parser: Parser) -> tuple[str, Attribute]:
    name = parser.parse_identifier_or_str_literal()
    if not parser.parse_optional_punctuation("="):
        return name, UnitAttr()
    listed = _parse_optional_list(parser)
    return name, parser.parse_attribute() if listed is None else listed


def _parse_list_item(parser: Parser) -> int | float | Attribute:
    number = parser.parse_optional_number()
    return parser.parse_attribute() if number is None else number


def _parse_optional_list(parser: Parser) -> Attribute | None:
    items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_list_item(parser))
    if items is None:
        return None
    numbers = [item for item in items if isinstance(item, int | float)]
    attributes = [item for item in items if isinstance(item, Attribute)]
    if attributes and numbers:
        parser.raise_error("a list holds numbers or attributes, not both")
    if attributes:
        return ArrayAttr(attributes)
    return (
        float_list(numbers) if any(isinstance(item, float) for item in numbers) else int_list([int(n) for n in numbers])
    )


def _print_entry(printer: Printer, name: str, value: Attribute) -> None:
    printer.print_identifier_or_string_literal(name)
    if isinstance(value, UnitAttr):
        return
    printer.print_string(" = ")
    text = _short_text(value)
    if text is None:
        printer.print_attribute(value)
        return
    printer.print_string(text)


def _short_text(value: Attribute) -> str | None:
    """Return the text of a number or number list whose kind the text itself tells, or None."""
    if isinstance(value, IntegerAttr) and value.type == i64:
        return str(value.value.data)
    if isinstance(value, FloatAttr) and value.type == f64 and math.isfinite(value.value.data):
        return _float_text(value.value.data)
    if isinstance(value, DenseArrayBase) and value.elt_type == i64:
        return f"[{', '.join(map(str, value.get_values()))}]"
    if isinstance(value, DenseArrayBase) and value.elt_type == f64 and len(value):
        numbers = value.get_values()
        return f"[{', '.join(map(_float_text, numbers))}]" if all(map(math.isfinite, numbers)) else None
    return None


def _float_text(value: float) -> str:
    """Return the shortest decimal text that reads back as `value`, with the dot that MLIR asks for."""
    mantissa, exponent, power = repr(float(value)).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"
