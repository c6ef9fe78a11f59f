"""The base of all computing `npu` ops: two forms (values, buffers), effects, text, and shared checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    opt_prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.properties import INT
from qbc.dialects.npu.syntax import call_values, parse_dictionary, print_dictionary
from qbc.dialects.npu.types import BufferType, NpuTensorType

BLOB = base(BlobAttr)
ASSIGNMENTS = ("core", "order")
I8_RANGE = (-128, 127)
I16_RANGE = (-32768, 32639)


class BufferEffects(MemoryEffect):
    """No effect on values; in buffer form a read of every `ins` buffer and a write of the `outs` buffer."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        if not isinstance(op, KernelOp) or op.results:
            return frozenset()
        reads = {EffectInstance(MemoryEffectKind.READ, value) for value in op.inputs}
        return reads | {EffectInstance(MemoryEffectKind.WRITE, value) for value in op.outs}


def value_type(value: SSAValue) -> NpuTensorType:
    """Return shape and element type of a value, or of the buffer or view that defines a buffer operand."""
    if isinstance(value.type, NpuTensorType):
        return value.type
    owner = value.owner
    declared = owner.properties.get("type") if isinstance(owner, Operation) else None
    if isinstance(declared, NpuTensorType):
        return declared
    blob = owner.properties.get("value") if isinstance(owner, Operation) else None
    if isinstance(blob, BlobAttr):
        return NpuTensorType(blob.type)
    raise VerifyException("a buffer operand must be defined by npu.buffer, npu.view or npu.constant")


class KernelOp(IRDLOperation):
    """One command. Value form `%y = npu.k %x {...} : T -> T`, buffer form `npu.k ins(%a) outs(%b) {...}`.

    Property names are those of the operation's kernel call; blobs are its constants, the others its attributes.
    """

    KIND: ClassVar[str]  # kind of the kernel call
    INPUTS: ClassVar[tuple[int, int]] = (1, 1)  # least and greatest number of inputs

    inputs = var_operand_def()
    outs = var_operand_def(BufferType)
    output = var_result_def(NpuTensorType)
    core = opt_prop_def(INT)
    order = opt_prop_def(INT)
    traits = traits_def(BufferEffects())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def build_value(
        cls, inputs: Sequence[SSAValue], result: NpuTensorType, properties: Mapping[str, Attribute]
    ) -> Self:
        """Create the op in value form."""
        return cls.build(operands=[list(inputs), []], result_types=[[result]], properties=dict(properties))

    @classmethod
    def build_buffer(cls, inputs: Sequence[SSAValue], out: SSAValue, properties: Mapping[str, Attribute]) -> Self:
        """Create the op in buffer form."""
        return cls.build(operands=[list(inputs), [out]], result_types=[[]], properties=dict(properties))

    @classmethod
    def property_names(cls) -> tuple[str, ...]:
        """Return the declared property names in order, without operand segments."""
        names = cls.get_irdl_definition().properties
        return tuple(name for name in names if name != "operandSegmentSizes")

    def call_properties(self) -> dict[str, Attribute]:
        """Return the properties of the kernel call (no assignments, no operand segments)."""
        skip = (*ASSIGNMENTS, "operandSegmentSizes")
        return {name: value for name, value in self.properties.items() if name not in skip}

    def call_attributes(self) -> dict[str, int | str | tuple[int, ...]]:
        """Return the attributes of the kernel call as Python values."""
        return call_values(self.call_properties())

    def call_constants(self) -> dict[str, BlobAttr]:
        """Return the blob handles of the kernel call."""
        return {name: value for name, value in self.call_properties().items() if isinstance(value, BlobAttr)}

    @property
    def core_number(self) -> int:
        """The core that runs the command, 0 where none was assigned."""
        return self.core.value.data if self.core is not None else 0

    @property
    def input_types(self) -> tuple[NpuTensorType, ...]:
        """Types of the inputs, in both forms."""
        return tuple(value_type(value) for value in self.inputs)

    @property
    def output_type(self) -> NpuTensorType:
        """Type of the output, in both forms."""
        return value_type(self.output[0] if self.results else self.outs[0])

    def integer(self, name: str) -> int:
        """Return an integer property."""
        value = self.properties[name]
        if not isinstance(value, IntegerAttr):
            raise VerifyException(f"{name} must be an integer")
        return value.value.data

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list property."""
        value = call_values({name: self.properties[name]}).get(name)
        if not isinstance(value, tuple):
            raise VerifyException(f"{name} must be a list of integers")
        return value

    # --- verification ---

    def verify_(self) -> None:
        forms = (len(self.results), len(self.outs))
        if forms not in ((1, 0), (0, 1)):
            raise VerifyException("must have one result (value form) or one outs buffer (buffer form)")
        wanted = NpuTensorType if self.results else BufferType
        if not all(isinstance(value.type, wanted) for value in self.inputs):
            raise VerifyException(f"inputs must all be of type !{wanted.name}")
        least, greatest = self.INPUTS
        if not least <= len(self.inputs) <= greatest:
            raise VerifyException(f"expects {least} to {greatest} inputs, has {len(self.inputs)}")
        if self.core_number < 0:
            raise VerifyException(f"core must not be negative, is {self.core_number}")
        self._verify_clamp()
        self.verify_call(self.input_types, self.output_type)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        """Check shapes and element types of one command; raises VerifyException."""

    def _verify_clamp(self) -> None:
        if "lo" in self.properties and "hi" in self.properties and self.integer("lo") > self.integer("hi"):
            raise VerifyException(f"clamp range is empty: lo = {self.integer('lo')}, hi = {self.integer('hi')}")

    # --- text ---

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_keyword("ins") is None:
            return cls._parse_value_form(parser)
        ins = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("outs")
        outs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        properties, attributes = parse_dictionary(parser, cls.property_names())
        resolve = [[parser.resolve_operand(value, BufferType()) for value in group] for group in (ins, outs)]
        return cls.build(operands=resolve, result_types=[[]], properties=dict(properties), attributes=dict(attributes))

    @classmethod
    def _parse_value_form(cls, parser: Parser) -> Self:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        operands = operands or []
        properties, attributes = parse_dictionary(parser, cls.property_names())
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation("->")
        result = parser.parse_type()
        inputs = parser.resolve_operands(operands, types, position)
        return cls.build(
            operands=[inputs, []],
            result_types=[[result]],
            properties=dict(properties),
            attributes=dict(attributes),
        )

    def print(self, printer: Printer) -> None:
        names = self.property_names()
        if not self.results:
            for keyword, values in (("ins", self.inputs), ("outs", self.outs)):
                printer.print_string(f" {keyword}(")
                printer.print_list(values, printer.print_operand)
                printer.print_string(")")
            print_dictionary(printer, self, names)
            return
        printer.print_string(" ")
        printer.print_list(self.inputs, printer.print_operand)
        print_dictionary(printer, self, names)
        printer.print_string(" : ")
        printer.print_list(tuple(value.type for value in self.inputs), printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(self.results[0].type)


# --- checks that families share ---


def expect_shape(output: NpuTensorType, shape: Sequence[int]) -> None:
    """Raise unless the output has exactly this shape."""
    if output.shape != tuple(shape):
        raise VerifyException(f"result shape is {list(output.shape)}, the operation gives {list(shape)}")


def expect_element(what: str, actual: NpuTensorType, allowed: Sequence[str]) -> None:
    """Raise unless the element type is one of `allowed`."""
    if actual.element not in allowed:
        raise VerifyException(f"{what} must hold {' or '.join(allowed)}, not {actual.element}")


def expect_codes(inputs: Iterator[NpuTensorType] | Sequence[NpuTensorType], output: NpuTensorType) -> None:
    """Raise unless all inputs and the output hold i8 or i16 codes."""
    for value in inputs:
        expect_element("input", value, ("i8", "i16"))
    expect_element("output", output, ("i8", "i16"))


def expect_same_element(inputs: Sequence[NpuTensorType], output: NpuTensorType) -> None:
    """Raise unless a bit copy has the element type of its inputs."""
    for value in inputs:
        if value.element != output.element:
            raise VerifyException(f"element types differ: {value.element} and {output.element}")


def expect_length(name: str, values: Sequence[int], length: int) -> None:
    """Raise unless a list property has `length` entries."""
    if len(values) != length:
        raise VerifyException(f"{name} must have {length} entries, has {len(values)}")


def expect_positive(name: str, values: Sequence[int]) -> None:
    """Raise unless every entry of a list property is at least 1."""
    if any(value < 1 for value in values):
        raise VerifyException(f"{name} must be positive, is {list(values)}")


def expect_blob(name: str, blob: BlobAttr, shape: Sequence[int], dtypes: Sequence[str]) -> None:
    """Raise unless a constant has this shape and one of these dtypes."""
    if blob.shape != tuple(shape) or blob.dtype not in dtypes:
        raise VerifyException(f"{name} must be {' or '.join(dtypes)}{list(shape)}, is {blob.dtype}{list(blob.shape)}")
