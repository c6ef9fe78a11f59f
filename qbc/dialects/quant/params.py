"""Rows of the parameter table."""

from __future__ import annotations

import math
from typing import Self

from xdsl.dialects.builtin import (
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, base, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobAttr
from qbc.dialects.quant.base import BLOB, FLOAT, INT, TEXT
from qbc.dialects.quant.types import check_encoding, shortest_f32, storage_name


@irdl_op_definition
class ParamsOp(IRDLOperation):
    """`quant.params "r7" {storage = i8, scale = 0.1 : f32, zero_point = -3}`: one encoding, shared by a scale group.

    - `storage` i8 or i16 (requested bits), unset until `quant-assign-bits`;
    - `scale`, `zero_point`: unset until `quant-assign-ranges`; `scales` (a blob of f32) in place of `scale` where each
      channel of the last axis has its own, as `quant-output-scales` chooses for graph outputs;
    - `fixed`: the encoding was decided by the graph (a sigmoid or softmax head), no pass changes it;
    - `statistics`: name -> blob, `threshold`: name -> number, `notes`: name -> text; written and read by the
      calibration passes.

    Rows stand in the module. Each is named by the type of a value, and each name has its row, once; behind a pass that
    removed the last value of a row, the row is erased.
    """

    name = "quant.params"
    row = prop_def(TEXT)
    storage = opt_prop_def(base(IntegerType))
    scale = opt_prop_def(FLOAT)
    zero_point = opt_prop_def(INT)
    scales = opt_prop_def(BLOB)
    fixed = opt_prop_def(base(UnitAttr))
    statistics = opt_prop_def(base(DictionaryAttr))
    threshold = opt_prop_def(base(DictionaryAttr))
    notes = opt_prop_def(base(DictionaryAttr))

    @classmethod
    def named(cls, name: str) -> Self:
        """Create an unset row."""
        return cls.create(properties={"row": StringAttr(name)})

    @property
    def row_name(self) -> str:
        """Name that types refer to."""
        name = self.properties["row"]
        assert isinstance(name, StringAttr)
        return name.data

    @property
    def bits(self) -> str | None:
        """Storage name (`i8` or `i16`), or None while it is not decided."""
        storage = self.properties.get("storage")
        return None if storage is None else storage_name(storage)

    @property
    def encoding(self) -> tuple[str, float, int] | None:
        """(storage name, scale, zero point), or None while a part of it is not set."""
        scale, zero_point, bits = self.properties.get("scale"), self.properties.get("zero_point"), self.bits
        if bits is None or not isinstance(scale, FloatAttr) or not isinstance(zero_point, IntegerAttr):
            return None
        return bits, float(scale.value.data), int(zero_point.value.data)

    @property
    def channel_scales(self) -> BlobAttr | None:
        """The scales of the channels of the last axis, or None where the row has one scale or none yet."""
        scales = self.properties.get("scales")
        return scales if isinstance(scales, BlobAttr) else None

    @property
    def channel_zero_point(self) -> int:
        """The zero point that all channels share."""
        zero_point = self.properties["zero_point"]
        assert isinstance(zero_point, IntegerAttr)
        return int(zero_point.value.data)

    @property
    def is_set(self) -> bool:
        """Whether the encoding is known: storage, zero point, and a scale for all or for each channel."""
        return self.encoding is not None or self.channel_scales is not None

    @property
    def is_fixed(self) -> bool:
        """Whether no pass may change the encoding."""
        return "fixed" in self.properties

    def verify_(self) -> None:
        bits = self.bits
        if {"scale", "scales"} <= set(self.properties):
            raise VerifyException("a row has one scale or scales of channels, not both")
        if bool({"scale", "scales"} & set(self.properties)) != ("zero_point" in self.properties):
            raise VerifyException("scale (or scales) and zero_point are set together")
        if "zero_point" in self.properties and bits is None:
            raise VerifyException("a row with a scale has a storage")
        encoding, scales = self.encoding, self.channel_scales
        if encoding is not None:
            check_encoding(*encoding)
        if scales is not None and (len(scales.shape) != 1 or scales.type.element_type != f32):
            raise VerifyException(f"scales are a list of f32, not {scales.type}")
        if scales is not None and bits is not None:
            check_encoding(bits, 1.0, self.channel_zero_point)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        return cls.create(properties={"row": StringAttr(name), **parser.parse_optional_attr_dict()})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.row_name)
        rest = {name: value for name, value in self.properties.items() if name != "row"}
        _print_properties({**rest, **self.attributes}, printer)


def _print_properties(properties: dict[str, Attribute], printer: Printer) -> None:
    """Print `{name = value, ...}`, f32 numbers as the shortest text that reads back; nothing where there are none."""
    if not properties:
        return

    def entry(item: tuple[str, Attribute]) -> None:
        name, value = item
        printer.print_string(name)
        if isinstance(value, UnitAttr):
            return
        printer.print_string(" = ")
        if isinstance(value, IntegerAttr) and value.type == i64:
            printer.print_string(str(value.value.data))
        elif isinstance(value, FloatAttr) and value.type == f32 and math.isfinite(value.value.data):
            printer.print_string(f"{shortest_f32(value.value.data)} : f32")
        else:
            printer.print_attribute(value)

    printer.print_string(" {")
    printer.print_list(properties.items(), entry)
    printer.print_string("}")
