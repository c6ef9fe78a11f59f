"""The base class of all operator classes: their text form and their verifier.

    %0 = framework.Conv(%x, %w) {group = 1 : i64, pads = [1, 1, 1, 1]} : (tensor<...>, tensor<...>) -> tensor<...>
    %h = framework.LSTM(%x, %w, %r, none, none, %h0) {...} : (...) -> (none, tensor<...>)

An absent optional operand or result is `none`; trailing ones are left out. Bodies follow the attributes in parentheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.shapes import compatible
from qbc.dialects.common.tensor_text import dims_text
from qbc.dialects.framework.signature import Parameter, Signature, signatures
from qbc.dialects.framework.types import RawAttr

T = TypeVar("T")
PREFIX = "framework."
OPERAND_SEGMENTS = "operandSegmentSizes"
RESULT_SEGMENTS = "resultSegmentSizes"


def signature_of(op: Operation | type[Operation]) -> Signature | None:
    """Return the signature of an operator, or None for operations that are no ONNX operator (opaque, yield)."""
    return signatures().get(op.name.removeprefix(PREFIX)) if op.name.startswith(PREFIX) else None


def spread(parameters: tuple[Parameter, ...], values: Sequence[T], sizes: Sequence[int] | None) -> list[T | None]:
    """Return values in the positions of the formal parameters, None where an optional one is absent.

    `sizes` are segment sizes; without them every absent value is at the end. A variadic parameter takes several places.
    """
    if sizes is None:
        return list(values)
    spread_values: list[T | None] = []
    position = 0
    for parameter, size in zip(parameters, sizes, strict=True):
        if size == 0 and not parameter.variadic:
            spread_values.append(None)
        spread_values += values[position : position + size]
        position += size
    while spread_values and spread_values[-1] is None:
        spread_values.pop()
    return spread_values


def segment_sizes(parameters: tuple[Parameter, ...], values: Sequence[T | None]) -> DenseArrayBase:
    """Return the segment sizes of values given by position (None: absent); the inverse of `spread`."""
    sizes = []
    for index, parameter in enumerate(parameters):
        if parameter.variadic:
            sizes.append(max(0, len(values) - index))
            break
        sizes.append(int(index < len(values) and values[index] is not None))
    return DenseArrayBase.from_list(i32, sizes)


def segments(op: Operation, name: str) -> tuple[int, ...] | None:
    """Return the segment sizes of an operation, or None when it needs none."""
    sizes = op.properties.get(name)
    return tuple(cast("DenseArrayBase[IntegerType]", sizes).get_values()) if sizes is not None else None


class ShapeMismatch(VerifyException):
    """Shapes of operands or results of an operator do not fit each other."""


class FrameworkOp(IRDLOperation):
    """Base of the operator classes generated from the table."""

    def verify_(self) -> None:
        signature = signature_of(self)
        if signature is None:
            return
        for name, attribute in signature.attributes.items():
            value = self.properties.get(name)
            if value is None:
                if attribute.required and attribute.kind != "GRAPH":
                    raise VerifyException(f"requires attribute '{name}'")
                continue
            if not has_kind(value, attribute.kind):
                raise VerifyException(f"attribute '{name}' is not of kind {attribute.kind}")
        self.verify_values()

    def verify_values(self) -> None:
        """Check types and shapes of operands and results; raises VerifyException, ShapeMismatch where it is a shape."""
        signature = signature_of(self)
        if signature is not None:
            self._verify_types(signature)
            self._verify_shape()

    def _verify_types(self, signature: Signature) -> None:
        from qbc.dialects.framework.type_rules import check_types, type_rules

        operands = spread(signature.inputs, tuple(self.operands), segments(self, OPERAND_SEGMENTS))
        results = spread(signature.outputs, tuple(self.results), segments(self, RESULT_SEGMENTS))
        check_types(type_rules()[signature.name], operands, results, signature.parameter_names)

    def _verify_shape(self) -> None:
        """Compare the shape of the first result with what follows from the operands."""
        from qbc.dialects.framework.shape_rules import infer_shapes

        try:
            shape = infer_shapes(self)
        except VerifyException as error:
            if isinstance(self.parent_op(), FrameworkOp):  # a body that is never taken may be inconsistent
                return
            raise ShapeMismatch(str(error)) from None
        kind = self.results[0].type if self.results else None
        if shape is not None and isinstance(kind, TensorType) and not compatible(shape, kind.get_shape()):
            stated, found = dims_text(kind.get_shape()), dims_text(shape)
            raise ShapeMismatch(f"result has shape {stated}, its operands give {found}")

    def print(self, printer: Printer) -> None:
        signature = cast("Signature", signature_of(self))
        operands = spread(signature.inputs, tuple(self.operands), segments(self, OPERAND_SEGMENTS))
        results = spread(signature.outputs, tuple(self.results), segments(self, RESULT_SEGMENTS))
        with printer.in_parens():
            printer.print_list(operands, lambda value: _print_operand(printer, value))
        shown = {k: v for k, v in self.properties.items() if k not in (OPERAND_SEGMENTS, RESULT_SEGMENTS)}
        if shown:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(shown.items(), lambda item: _print_property(printer, *item))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_regions(self.regions)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list([v.type for v in self.operands], printer.print_attribute)
        printer.print_string(" -> ")
        if len(results) == 1 and results[0] is not None:
            printer.print_attribute(results[0].type)
            return
        with printer.in_parens():
            printer.print_list(results, lambda value: _print_type(printer, value))

    @classmethod
    def parse(cls, parser: Parser) -> FrameworkOp:
        signature = cast("Signature", signature_of(cls))
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_operand(parser))
        properties = dict(_parse_properties(parser, signature))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        regions = parser.parse_region_list()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        results = _parse_result_types(parser)
        present = [name for name in names if name is not None]
        if len(present) != len(types):
            parser.raise_error(f"expected {len(present)} operand types, found {len(types)}")
        resolved = iter(parser.resolve_operands(present, types, parser.pos))
        operands = [None if name is None else next(resolved) for name in names]
        op = build_op(cls, operands, results, properties, regions)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return cast("FrameworkOp", op)


def build_op(
    cls: type[Operation],
    operands: Sequence[SSAValue | None],
    result_types: Sequence[Attribute | None],
    properties: dict[str, Attribute],
    regions: Sequence[Region] = (),
) -> Operation:
    """Create an operator from values by position (None: absent), setting the segment sizes it needs."""
    signature = signature_of(cls)
    if signature is None:
        raise ValueError(f"{cls.name} is not an ONNX operator")
    properties = dict(properties)
    if signature.needs_segments(signature.inputs):
        properties[OPERAND_SEGMENTS] = segment_sizes(signature.inputs, operands)
    if signature.needs_segments(signature.outputs):
        properties[RESULT_SEGMENTS] = segment_sizes(signature.outputs, result_types)
    return cls.create(
        operands=[value for value in operands if value is not None],
        result_types=[kind for kind in result_types if kind is not None],
        properties=properties,
        regions=regions,
    )


def has_kind(value: Attribute, kind: str) -> bool:
    """Return whether an attribute value has an ONNX attribute kind."""
    if kind == "INT":
        return isinstance(value, IntegerAttr) and value.type == i64
    if kind == "FLOAT":
        return isinstance(value, FloatAttr) and isinstance(value.type, Float32Type)
    if kind in ("INTS", "FLOATS"):
        element = i64 if kind == "INTS" else Float32Type()
        return isinstance(value, DenseArrayBase) and value.elt_type == element
    if kind == "STRING":
        return isinstance(value, (StringAttr, RawAttr))
    if kind == "STRINGS":
        return isinstance(value, ArrayAttr) and all(isinstance(item, (StringAttr, RawAttr)) for item in value.data)
    if kind == "TENSOR":
        return isinstance(value, (BlobAttr, DenseIntOrFPElementsAttr, RawAttr))
    return isinstance(value, RawAttr)


# --- text ------------------------------------------------------------------------------------------------------


def _print_operand(printer: Printer, value: SSAValue | None) -> None:
    if value is None:
        printer.print_string("none")
    else:
        printer.print_operand(value)


def _print_type(printer: Printer, value: SSAValue | None) -> None:
    if value is None:
        printer.print_string("none")
    else:
        printer.print_attribute(value.type)


def _print_property(printer: Printer, name: str, value: Attribute) -> None:
    printer.print_string(f"{name} = ")
    if isinstance(value, DenseArrayBase) and value.elt_type == i64:
        with printer.in_square_brackets():
            printer.print_list(value.get_values(), lambda number: printer.print_string(str(number)))
        return
    printer.print_attribute(value)


def _parse_operand(parser: Parser) -> UnresolvedOperand | None:
    if parser.parse_optional_keyword("none") is not None:
        return None
    return parser.parse_unresolved_operand()


def _parse_properties(parser: Parser, signature: Signature) -> list[tuple[str, Attribute]]:
    found = parser.parse_optional_comma_separated_list(
        parser.Delimiter.BRACES, lambda: _parse_property(parser, signature)
    )
    return found or []


def _parse_property(parser: Parser, signature: Signature) -> tuple[str, Attribute]:
    name = parser.parse_identifier()
    parser.parse_punctuation("=")
    attribute = signature.attributes.get(name)
    if attribute is not None and attribute.kind == "INTS":
        numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if numbers is not None:
            return name, DenseArrayBase.from_list(i64, numbers)
    return name, parser.parse_attribute()


def _parse_result_types(parser: Parser) -> list[Attribute | None]:
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_result_type(parser))
    return several if several is not None else [parser.parse_type()]


def _parse_result_type(parser: Parser) -> Attribute | None:
    if parser.parse_optional_keyword("none") is not None:
        return None
    return parser.parse_type()
