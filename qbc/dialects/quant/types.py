"""The quantized element type: a reference to a row of the parameter table, or an encoding written out in the type."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, NoneAttr, StringAttr, TensorType, f32, i64
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

CODE_RANGES: dict[str, tuple[int, int]] = {"i8": (-128, 127), "i16": (-32768, 32639)}
_STORAGE_WIDTHS = {"i8": 8, "i16": 16}


def storage_type(name: str) -> IntegerType:
    """Return the IR type of a storage name (`i8` or `i16`)."""
    return IntegerType(_STORAGE_WIDTHS[name])


def storage_name(element: Attribute) -> str:
    """Return `i8` or `i16` for a storage type; raises VerifyException for any other type."""
    if isinstance(element, IntegerType):
        for name, width in _STORAGE_WIDTHS.items():
            if element.width.data == width:
                return name
    raise VerifyException(f"storage is i8 or i16, not {element}")


def round_to_f32(value: float) -> float:
    """Return the float32 value nearest to `value`."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def shortest_f32(value: float) -> str:
    """Return the shortest decimal text (with a point, as MLIR needs) that reads back as the same float32."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if round_to_f32(float(text)) == value:
            break
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


@irdl_attr_definition
class QType(ParametrizedAttribute, TypeAttribute):
    """Quantized element.

    `!quant.q<"r7">` names a row of the parameter table, which passes fill; `!quant.q<i8, 0.0078125 : 0>` holds the
    encoding itself: `real = scale * (code - zero_point)` with a float32 scale > 0. `!quant.q<i8, "r7">` is final too:
    its row has one scale for each channel of the last axis.
    """

    name = "quant.q"
    row: Attribute = param_def()  # StringAttr, or NoneAttr where the encoding is inline
    storage: Attribute = param_def()  # IntegerType, or NoneAttr where the row is not final
    scale: Attribute = param_def()  # FloatAttr f32, or NoneAttr
    zero_point: Attribute = param_def()  # IntegerAttr i64, or NoneAttr

    @staticmethod
    def of_row(name: str) -> QType:
        """Return the type that names row `name`."""
        return QType(StringAttr(name), NoneAttr(), NoneAttr(), NoneAttr())

    @staticmethod
    def inline(storage: str, scale: float, zero_point: int) -> QType:
        """Return the type with its encoding inline; `scale` is rounded to float32."""
        return QType(
            NoneAttr(), storage_type(storage), FloatAttr(round_to_f32(scale), f32), IntegerAttr(zero_point, i64)
        )

    @staticmethod
    def of_channels(storage: str, name: str) -> QType:
        """Return the final type of values whose row `name` has one scale for each channel."""
        return QType(StringAttr(name), storage_type(storage), NoneAttr(), NoneAttr())

    @property
    def row_name(self) -> str | None:
        """Name of the row, or None for an inline encoding."""
        return self.row.data if isinstance(self.row, StringAttr) else None

    @property
    def bits(self) -> str | None:
        """Storage name (`i8` or `i16`) of a final type; None where only the row knows."""
        return None if isinstance(self.storage, NoneAttr) else storage_name(self.storage)

    @property
    def encoding(self) -> tuple[str, float, int] | None:
        """(storage name, scale, zero point) of an inline encoding, or None for a row."""
        if not isinstance(self.scale, FloatAttr) or not isinstance(self.zero_point, IntegerAttr):
            return None
        return storage_name(self.storage), float(self.scale.value.data), int(self.zero_point.value.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            row = parser.parse_optional_str_literal()
            if row is not None:
                return (StringAttr(row), NoneAttr(), NoneAttr(), NoneAttr())
            storage = parser.parse_type()
            parser.parse_punctuation(",")
            row = parser.parse_optional_str_literal()
            if row is not None:
                return (StringAttr(row), storage, NoneAttr(), NoneAttr())
            scale = float(parser.parse_number())
            parser.parse_punctuation(":")
            zero_point = parser.parse_integer()
        return (NoneAttr(), storage, FloatAttr(round_to_f32(scale), f32), IntegerAttr(zero_point, i64))

    def print_parameters(self, printer: Printer) -> None:
        encoding = self.encoding
        with printer.in_angle_brackets():
            if encoding is None:
                printer.print_string(f"{self.bits}, " if self.bits else "")
                printer.print_string_literal(self.row_name or "")
                return
            storage, scale, zero_point = encoding
            printer.print_string(f"{storage}, {shortest_f32(scale)} : {zero_point}")

    def verify(self) -> None:
        encoding = self.encoding
        if encoding is None:
            if not self.row_name:
                raise VerifyException("a quantized type names a row or holds storage, scale and zero point")
            if not isinstance(self.storage, NoneAttr):
                storage_name(self.storage)
            return
        storage, scale, zero_point = encoding
        check_encoding(storage, scale, zero_point)


def check_encoding(storage: str, scale: float, zero_point: int) -> None:
    """Raise VerifyException unless the encoding is legal: scale > 0 and finite, zero point a code, 0 for i16."""
    low, high = CODE_RANGES[storage]
    if not (math.isfinite(scale) and scale > 0.0):
        raise VerifyException(f"a scale is finite and greater than 0, not {scale}")
    if not low <= zero_point <= high:
        raise VerifyException(f"zero point {zero_point} is outside the codes of {storage}, {low}..{high}")
    if storage == "i16" and zero_point != 0:
        raise VerifyException(f"i16 encodings have zero point 0, not {zero_point}")


def quantized_element(value: SSAValue | Attribute) -> QType | None:
    """Return the quantized element type of a value (or type), or None when it is not quantized."""
    kind = value.type if isinstance(value, SSAValue) else value
    if isinstance(kind, TensorType) and isinstance(kind.element_type, QType):
        return kind.element_type
    return None
