"""Types and attributes of the `npu` dialect: values, buffers and descriptors of the host boundary."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import base, irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

ELEMENT_BYTES = {"i8": 1, "i16": 2, "i32": 4}
HOST_DTYPES = ("f32", "i32", "u8")
SOURCE_LAYOUTS = ("", "ncw", "nchw", "ncdhw")
_ELEMENTS: dict[str, IntegerType] = {"i8": IntegerType(8), "i16": IntegerType(16), "i32": IntegerType(32)}


@irdl_attr_definition
class NpuTensorType(ParametrizedAttribute, TypeAttribute):
    """`!npu.t<1x56x56x64xi8>`: integer codes of a static shape; elements are i8, i16 (16-bit codes) or i32."""

    name = "npu.t"
    tensor: TensorType[Attribute] = param_def()

    @staticmethod
    def of(shape: Sequence[int], element: str) -> NpuTensorType:
        """Build the type from a shape and an element name."""
        return NpuTensorType(TensorType(_ELEMENTS[element], list(shape)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Static shape."""
        return tuple(self.tensor.get_shape())

    @property
    def element(self) -> str:
        """Element name: `i8`, `i16` or `i32`."""
        return str(self.tensor.element_type)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for dimension in self.shape:
            count *= dimension
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the stored codes."""
        return self.size * ELEMENT_BYTES[self.element]

    def verify(self) -> None:
        if self.tensor.element_type not in _ELEMENTS.values():
            raise VerifyException(f"npu values hold i8, i16 or i32, not {self.tensor.element_type}")
        if any(dimension < 1 for dimension in self.shape):
            raise VerifyException(f"npu values have a static shape without empty dimensions, not {list(self.shape)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            return (TensorType(element, shape),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for dimension in self.shape:
                printer.print_string(f"{dimension}x")
            printer.print_attribute(self.tensor.element_type)


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """`!npu.buffer`: a place in memory; shape, space and address stand on the `npu.buffer` op that defines it."""

    name = "npu.buffer"


@irdl_attr_definition
class HostTensorAttr(ParametrizedAttribute):
    """`#npu.host<"input", f32, 0.0078125 : 0, "nchw">`: how the host sees a graph input or output.

    `f32` values are quantized and dequantized at the boundary with the scale and zero point; `i32` values (indices)
    pass unchanged; `u8` values (inputs only) are the stored bytes: 0..255 is the code -128..127. The layout is that of
    the source model where it differs from the channel-last layout, else "". An `f32` output may have a list of scales,
    one for each channel of the last axis: `#npu.host<"boxes", f32, [0.5, 0.125] : 0>`.
    """

    name = "npu.host"
    label: StringAttr = param_def(base(StringAttr))
    dtype: StringAttr = param_def(base(StringAttr))
    scale: Attribute = param_def()  # FloatAttr, or DenseArrayBase of f32 for the channels
    zero_point: IntegerAttr = param_def(base(IntegerAttr))
    source_layout: StringAttr = param_def(base(StringAttr))

    @staticmethod
    def of(
        label: str, dtype: str, scale: float | Sequence[float], zero_point: int, source_layout: str = ""
    ) -> HostTensorAttr:
        """Build the descriptor from Python values; several scales are those of the channels."""
        return HostTensorAttr(
            StringAttr(label),
            StringAttr(dtype),
            _scale_attr(scale),
            IntegerAttr(zero_point, i64),
            StringAttr(source_layout),
        )

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale, or those of all channels."""
        if isinstance(self.scale, FloatAttr):
            return (float(self.scale.value.data),)
        assert isinstance(self.scale, DenseArrayBase)
        return tuple(float(value) for value in self.scale.get_values())

    @property
    def is_per_channel(self) -> bool:
        """Whether each channel of the last axis has a scale of its own."""
        return isinstance(self.scale, DenseArrayBase)

    def verify(self) -> None:
        if not isinstance(self.scale, FloatAttr) and not (
            isinstance(self.scale, DenseArrayBase) and self.scale.elt_type == f32
        ):
            raise VerifyException(f"the scale of {self.label.data!r} is one f32 or a list of them, not {self.scale}")
        if self.is_per_channel and self.dtype.data != "f32":
            raise VerifyException(f"only f32 tensors have scales of channels, {self.label.data!r} is {self.dtype.data}")
        if self.dtype.data not in HOST_DTYPES:
            raise VerifyException(f"host dtype must be one of {', '.join(HOST_DTYPES)}, not {self.dtype.data!r}")
        if self.source_layout.data not in SOURCE_LAYOUTS:
            raise VerifyException(f"unknown source layout {self.source_layout.data!r}")
        if not self.scales or not all(0.0 < scale < float("inf") for scale in self.scales):
            raise VerifyException(f"the scale of {self.label.data!r} must be positive and finite")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            label = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            dtype = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            scales = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
            scale = _scale_attr(float(parser.parse_number()) if scales is None else [float(item) for item in scales])
            parser.parse_punctuation(":")
            zero_point = IntegerAttr(parser.parse_integer(), i64)
            layout = parser.parse_str_literal() if parser.parse_optional_punctuation(",") else ""
            return (label, dtype, scale, zero_point, StringAttr(layout))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.label.data)
            printer.print_string(f", {self.dtype.data}, ")
            if self.is_per_channel:
                printer.print_string("[")
                printer.print_list(self.scales, lambda scale: printer.print_float(scale, f32))
                printer.print_string("]")
            else:
                printer.print_float(self.scales[0], f32)
            printer.print_string(f" : {self.zero_point.value.data}")
            if self.source_layout.data:
                printer.print_string(", ")
                printer.print_string_literal(self.source_layout.data)


def _scale_attr(scale: float | Sequence[float]) -> Attribute:
    if isinstance(scale, int | float):
        return FloatAttr(scale, f32)
    return DenseArrayBase.from_list(f32, list(scale))
