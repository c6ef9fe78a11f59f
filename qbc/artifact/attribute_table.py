"""Attributes of a snapshot as a table: each distinct attribute once, in a form that rebuilds fast.

A row is a JSON list whose first element is its tag; it refers to other attributes by the index of an earlier row, so a
table has no cycles. Attributes without a tag of their own are kept as IR text (tag "t").

| tag | attribute | fields |
| --- | --- | --- |
| s | string | text |
| i | integer | value, type row |
| f | float | hex of the f64, type row |
| d | dense array | values, element type row |
| T | tensor type | dims, element row, encoding row (-1: none) |
| b | #blob.ref | key, type row |
| n | name location | name |
| F | fused location | rows |
| a | array | rows |
| D | dictionary | keys, rows |
| N | no attribute | |
| t | anything else | IR text |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FusedLoc,
    IndexType,
    IntegerAttr,
    IntegerType,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError, VerifyException

from qbc.dialects.blob import BlobRefAttr
from qbc.dialects.common.parser import LARGEST_SIZE, Utf8Parser

Row = list[Any]


class DamagedTable(ValueError):
    """A table that no writer of ours produced."""


class AttributeWriter:
    """Collects the rows of a table; `index(attribute)` gives the row of an attribute, adding it when it is new."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._index: dict[Attribute, int] = {}

    def index(self, attribute: Attribute) -> int:
        """Return the row number of `attribute`."""
        known = self._index.get(attribute)
        if known is not None:
            return known
        row = self._row(attribute)
        self.rows.append(row)
        self._index[attribute] = len(self.rows) - 1
        return len(self.rows) - 1

    def _row(self, attribute: Attribute) -> Row:
        encoder = _ENCODERS.get(type(attribute))
        row = encoder(self, attribute) if encoder is not None else None
        return row if row is not None else ["t", str(attribute)]


def _encode_dense(writer: AttributeWriter, attribute: Any) -> Row | None:
    if not isinstance(attribute.elt_type, IntegerType):
        return None
    return ["d", list(attribute.get_values()), writer.index(attribute.elt_type)]


def _encode_tensor(writer: AttributeWriter, attribute: Any) -> Row:
    encoding = -1 if isinstance(attribute.encoding, NoneAttr) else writer.index(attribute.encoding)
    return ["T", list(attribute.get_shape()), writer.index(attribute.element_type), encoding]


def _encode_name(writer: AttributeWriter, attribute: Any) -> Row | None:
    return ["n", attribute.desc.data] if isinstance(attribute.location, NoneAttr) else None


def _encode_fused(writer: AttributeWriter, attribute: Any) -> Row | None:
    if not isinstance(attribute.metadata, NoneAttr):
        return None
    return ["F", [writer.index(part) for part in attribute.locations.data]]


_ENCODERS: dict[type[Attribute], Callable[[AttributeWriter, Any], Row | None]] = {
    StringAttr: lambda writer, a: ["s", a.data],
    IntegerAttr: lambda writer, a: ["i", a.value.data, writer.index(a.type)],
    FloatAttr: lambda writer, a: ["f", float(a.value.data).hex(), writer.index(a.type)],
    DenseArrayBase: _encode_dense,
    TensorType: _encode_tensor,
    BlobRefAttr: lambda writer, a: ["b", a.key.data, writer.index(a.type)],
    NoneAttr: lambda writer, a: ["N"],
    NameLoc: _encode_name,
    FusedLoc: _encode_fused,
    ArrayAttr: lambda writer, a: ["a", [writer.index(part) for part in a.data]],
    DictionaryAttr: lambda writer, a: ["D", list(a.data), [writer.index(part) for part in a.data.values()]],
}


def read_attributes(rows: Any, context: Context) -> list[Attribute]:
    """Rebuild all attributes of a table; raises DamagedTable for anything that is not a well-formed table."""
    if not isinstance(rows, list):
        raise DamagedTable("attribute rows are not a list")
    attributes: list[Attribute] = []
    for row in rows:
        try:
            attributes.append(_DECODERS[row[0]](row, attributes, context))
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            VerifyException,
            ParseError,
        ) as error:
            raise DamagedTable(f"attribute row {len(attributes)} is damaged: {error}") from None
    return attributes


def _earlier(attributes: list[Attribute], index: int) -> Attribute:
    if index < 0:
        raise DamagedTable("negative row number")
    return attributes[index]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DamagedTable("a string field holds something else")
    return value


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise DamagedTable("an integer field holds something else")
    return value


def _decode_tensor(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    dims = [_integer(dim) for dim in row[1]]
    if any(dim < 0 and dim != DYNAMIC_INDEX for dim in dims):
        raise DamagedTable("negative dimension")
    if any(dim > LARGEST_SIZE for dim in dims):
        raise DamagedTable("a dimension is beyond 64 bits")
    encoding = NoneAttr() if row[3] == -1 else _earlier(attributes, row[3])
    return TensorType(_earlier(attributes, row[2]), dims, encoding)


def _decode_blob(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    return BlobRefAttr(StringAttr(_text(row[1])), _earlier(attributes, row[2]))  # type: ignore[arg-type]  # verified by the attribute


def _decode_dense(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    element = _earlier(attributes, row[2])
    if not isinstance(element, IntegerType):
        raise DamagedTable("a dense array needs an integer element type")
    return DenseArrayBase.from_list(element, [_integer(value) for value in row[1]])


def _decode_fused(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    return FusedLoc(ArrayAttr([_earlier(attributes, part) for part in row[1]]), NoneAttr())


def _decode_dictionary(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    pairs = zip(row[1], row[2], strict=True)
    return DictionaryAttr({_text(key): _earlier(attributes, part) for key, part in pairs})


def _decode_integer(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    kind = _earlier(attributes, row[2])
    if not isinstance(kind, IntegerType | IndexType):
        raise DamagedTable("an integer needs an integer type")
    return IntegerAttr(_integer(row[1]), kind)


def _decode_float(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    return FloatAttr(float.fromhex(_text(row[1])), _earlier(attributes, row[2]))  # type: ignore[call-overload,no-any-return]  # verified by the attribute


def _decode_text(row: Row, attributes: list[Attribute], context: Context) -> Attribute:
    parser = Utf8Parser(context, _text(row[1]))
    return parser.parse_attribute()


_DECODERS: dict[str, Callable[[Row, list[Attribute], Context], Attribute]] = {
    "s": lambda row, attributes, context: StringAttr(_text(row[1])),
    "i": _decode_integer,
    "f": _decode_float,
    "d": _decode_dense,
    "T": _decode_tensor,
    "b": _decode_blob,
    "n": lambda row, attributes, context: NameLoc(StringAttr(_text(row[1])), NoneAttr()),
    "F": _decode_fused,
    "a": lambda row, attributes, context: ArrayAttr([_earlier(attributes, part) for part in row[1]]),
    "D": _decode_dictionary,
    "N": lambda row, attributes, context: NoneAttr(),
    "t": _decode_text,
}

__all__ = ["AttributeWriter", "DamagedTable", "read_attributes"]
