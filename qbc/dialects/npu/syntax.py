"""Text of property lists that all `npu` ops share: `{strides = [1, 1], zx = -3, weight = #blob.ref<...>}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer


def print_value(printer: Printer, value: Attribute) -> None:
    """Print i64 integers as `3`, lists of them as `[3, 3]`, anything else as an attribute."""
    if isinstance(value, DenseArrayBase) and value.elt_type == i64:
        printer.print_string("[" + ", ".join(str(item) for item in value.get_values()) + "]")
    elif isinstance(value, IntegerAttr) and value.type == i64:
        printer.print_string(str(value.value.data))
    else:
        printer.print_attribute(value)


def parse_value(parser: Parser) -> Attribute:
    """Parse what `print_value` prints."""
    integers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if integers is not None:
        return DenseArrayBase.from_list(i64, integers)
    integer = parser.parse_optional_integer(allow_boolean=False)
    if integer is not None:
        return IntegerAttr(integer, i64)
    return parser.parse_attribute()


def print_dictionary(printer: Printer, op: Operation, names: Iterable[str]) -> None:
    """Print the properties called `names` and then the attributes of `op` as ` {...}`; nothing when there are none."""
    entries = {name: op.properties[name] for name in names if name in op.properties} | op.attributes
    if not entries:
        return
    printer.print_string(" {")
    for position, (name, value) in enumerate(entries.items()):
        printer.print_string((", " if position else "") + f"{name} = ")
        print_value(printer, value)
    printer.print_string("}")


def parse_dictionary(parser: Parser, names: Iterable[str]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Parse an optional ` {...}` into (properties called `names`, other attributes)."""

    def entry() -> tuple[str, Attribute]:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        return name, parse_value(parser)

    entries = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry) or []
    known = set(names)
    found: dict[str, Attribute] = {}
    for name, value in entries:
        if name in found:
            parser.raise_error(f"attribute {name!r} is given twice")
        found[name] = value
    properties = {name: value for name, value in found.items() if name in known}
    return properties, {name: value for name, value in found.items() if name not in known}


def call_values(properties: Mapping[str, Attribute]) -> dict[str, int | str | tuple[int, ...]]:
    """Return integer, string and list properties as Python values."""
    values: dict[str, int | str | tuple[int, ...]] = {}
    for name, value in properties.items():
        if isinstance(value, IntegerAttr):
            values[name] = value.value.data
        elif isinstance(value, StringAttr):
            values[name] = value.data
        elif isinstance(value, DenseArrayBase):
            values[name] = tuple(int(item) for item in value.get_values())
    return values
