"""Types and attributes of the framework dialect for what builtin types cannot say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import base, irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_HEX = re.compile("(?:[0-9a-fA-F]{2})*")


def _check_hex(data: str) -> None:
    if _HEX.fullmatch(data) is None:
        raise VerifyException("the encoded bytes are not pairs of hex digits")


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """`!framework.string`: the element type of string tensors."""

    name = "framework.string"


@irdl_attr_definition
class UnknownType(ParametrizedAttribute, TypeAttribute):
    """`!framework.unknown`: a value whose type the model does not say and inference does not find."""

    name = "framework.unknown"


@irdl_attr_definition
class SequenceType(ParametrizedAttribute, TypeAttribute):
    """`!framework.sequence<T>`: an ONNX sequence."""

    name = "framework.sequence"
    element: Attribute = param_def(base(Attribute))


@irdl_attr_definition
class OptionalType(ParametrizedAttribute, TypeAttribute):
    """`!framework.optional<T>`: an ONNX optional."""

    name = "framework.optional"
    element: Attribute = param_def(base(Attribute))


@irdl_attr_definition
class RawTypeAttr(ParametrizedAttribute, TypeAttribute):
    """`!framework.raw_type<"0a04...">`: any other ONNX type (sparse tensors, maps) as the bytes of its TypeProto."""

    name = "framework.raw_type"
    data: StringAttr = param_def(base(StringAttr))

    def verify(self) -> None:
        _check_hex(self.data.data)


@irdl_attr_definition
class RawAttr(ParametrizedAttribute):
    """`#framework.raw<KIND, "0a04...">`: an attribute value that is only carried through, in its ONNX encoding.

    Kinds: TENSOR (string tensors), SPARSE_TENSOR, TYPE_PROTO, STRING (not UTF-8), ATTRIBUTE (of opaque operators).
    """

    name = "framework.raw"
    kind: StringAttr = param_def(base(StringAttr))
    data: StringAttr = param_def(base(StringAttr))

    @classmethod
    def of(cls, kind: str, data: bytes) -> RawAttr:
        """Wrap encoded bytes."""
        return cls(StringAttr(kind), StringAttr(data.hex()))

    def verify(self) -> None:
        _check_hex(self.data.data)

    @property
    def payload(self) -> bytes:
        """The encoded bytes."""
        return bytes.fromhex(self.data.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_identifier()
            parser.parse_punctuation(",")
            return (StringAttr(kind), StringAttr(parser.parse_str_literal()))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.kind.data}, ")
            printer.print_string_literal(self.data.data)
