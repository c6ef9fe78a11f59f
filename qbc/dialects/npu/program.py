"""The program and its memory: `npu.program`, `npu.return`, constants, buffers and views."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT, STRING
from qbc.dialects.npu.base import BLOB, value_type
from qbc.dialects.npu.syntax import parse_dictionary, print_dictionary
from qbc.dialects.npu.types import BufferType, HostTensorAttr, NpuTensorType
from qbc.modes import CORE_MODES, MODE_NAMES

SPACES = ("dram", "l2")


def _parse_argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """One variant (input size) of a model for one target and core mode.

    Block arguments are the graph inputs as codes, `npu.return` names the outputs; `inputs` and `outputs` say how the
    host sees them, in the order of the source model. After `npu-assign-buffers` inputs are buffers. `code` and `debug`
    are the packed records and the map from records to source nodes, once `npu-emit` made them.

    From `npu-assign-core` on, a program of core mode `multi` has the inputs and outputs of four images: those of the
    first image, then those of the second, and so on; the descriptors stand for one image.
    """

    name = "npu.program"
    sym_name = prop_def(STRING)
    target = prop_def(STRING)
    mode = prop_def(STRING)
    variant = prop_def(INT)
    host_inputs = prop_def(ArrayAttr[HostTensorAttr])
    host_outputs = prop_def(ArrayAttr[HostTensorAttr])
    code = opt_prop_def(BLOB)
    debug = opt_prop_def(BLOB)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @classmethod
    def make(
        cls,
        name: str,
        target: str,
        *,
        mode: str = "single",
        variant: int = 0,
        host_inputs: list[HostTensorAttr],
        host_outputs: list[HostTensorAttr],
        body: Block,
    ) -> Self:
        """Create a program around a block."""
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "target": StringAttr(target),
            "mode": StringAttr(mode),
            "variant": IntegerAttr(variant, i64),
            "host_inputs": ArrayAttr(host_inputs),
            "host_outputs": ArrayAttr(host_outputs),
        }
        return cls.build(properties=dict(properties), regions=[Region(body)])

    @property
    def return_op(self) -> ReturnOp:
        """The terminator."""
        last = self.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException("the body must end with npu.return")
        return last

    @property
    def input_values(self) -> list[SSAValue]:
        """Graph inputs in order: block arguments, or the buffers with an `input` number."""
        if self.body.block.args:
            return list(self.body.block.args)
        # What a property may hold is a rule of the buffer, which is not verified yet when the program is.
        buffers = [op for op in self.body.block.ops if isinstance(op, BufferOp) and isinstance(op.input, IntegerAttr)]
        return [op.buffer for op in sorted(buffers, key=lambda op: op.input_number)]

    def verify_(self) -> None:
        if self.mode.data not in MODE_NAMES:
            raise VerifyException(f"mode must be one of {', '.join(MODE_NAMES)}, not {self.mode.data!r}")
        if self.variant.value.data < 0:
            raise VerifyException("variant must not be negative")
        self._verify_interface("inputs", self.input_values, self.host_inputs)
        self._verify_interface("outputs", list(self.return_op.values), self.host_outputs)

    def _verify_interface(self, what: str, values: list[SSAValue], hosts: ArrayAttr[HostTensorAttr]) -> None:
        if len(values) not in (len(hosts), len(hosts) * CORE_MODES[self.mode.data].images):
            raise VerifyException(f"{len(values)} {what}, {len(hosts)} host descriptors")
        names = [host.label.data for host in hosts]
        if len(set(names)) != len(names):
            raise VerifyException(f"{what} have equal names: {', '.join(names)}")
        for number, value in enumerate(values):
            host = hosts.data[number % len(hosts)]
            element = value_type(value).element
            if (element == "i32") != (host.dtype.data == "i32"):
                raise VerifyException(
                    f"{host.label.data!r} is {host.dtype.data} at the host and {element} on the device"
                )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        arguments = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        properties: dict[str, Attribute] = {"sym_name": name}
        for keyword in ("target", "mode"):
            parser.parse_keyword(keyword)
            with parser.in_parens():
                properties[keyword] = StringAttr(parser.parse_str_literal())
        parser.parse_keyword("variant")
        with parser.in_parens():
            properties["variant"] = IntegerAttr(parser.parse_integer(), i64)
        for keyword in ("inputs", "outputs"):
            parser.parse_keyword(keyword)
            hosts = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_attribute)
            properties[f"host_{keyword}"] = ArrayAttr(hosts)
        attributes: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("attributes"):
            found, attributes = parse_dictionary(parser, ("code", "debug"))
            properties |= found
        region = parser.parse_region(arguments or [])
        if not region.blocks:
            region.add_block(Block())
        return cls.build(properties=dict(properties), attributes=dict(attributes), regions=[region])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.body.block.args:
            printer.print_string("(")
            printer.print_list(self.body.block.args, printer.print_block_argument)
            printer.print_string(")")
        for keyword, text in (("target", self.target.data), ("mode", self.mode.data)):
            printer.print_string(f" {keyword}(")
            printer.print_string_literal(text)
            printer.print_string(")")
        printer.print_string(f" variant({self.variant.value.data})")
        for keyword, hosts in (("inputs", self.host_inputs), ("outputs", self.host_outputs)):
            printer.print_string(f" {keyword}(")
            printer.print_list(hosts.data, printer.print_attribute)
            printer.print_string(")")
        if self.attributes or self.code is not None or self.debug is not None:
            printer.print_string(" attributes")
            print_dictionary(printer, self, ("code", "debug"))
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Names the graph outputs, in the order of the source model."""

    name = "npu.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """Codes from the weight store, as a value or (from `npu-assign-buffers` on) as a read-only buffer."""

    name = "npu.constant"
    value = prop_def(BLOB)
    result = result_def(base(NpuTensorType) | base(BufferType))
    traits = traits_def(Pure())

    def verify_(self) -> None:
        expected = NpuTensorType(self.value.type)
        if isinstance(self.result.type, NpuTensorType) and self.result.type != expected:
            raise VerifyException(f"result type {self.result.type} differs from the data, {expected}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties, attributes = parse_dictionary(parser, ("value",))
        parser.parse_punctuation(":")
        return cls.build(properties=dict(properties), attributes=dict(attributes), result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        print_dictionary(printer, self, ("value",))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


class PlaceOp(IRDLOperation):
    """What buffers and views share: a tensor type and text."""

    type = prop_def(base(NpuTensorType))

    @classmethod
    def property_names(cls) -> tuple[str, ...]:
        """Return the declared property names in order."""
        return tuple(cls.get_irdl_definition().properties)

    @property
    def tensor_type(self) -> NpuTensorType:
        """Shape and element type."""
        return self.type

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_optional_unresolved_operand()
        operands = [] if operand is None else [parser.resolve_operand(operand, BufferType())]
        properties, attributes = parse_dictionary(parser, cls.property_names())
        parser.parse_punctuation(":")
        return cls.build(
            operands=operands,
            properties=dict(properties),
            attributes=dict(attributes),
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_operand(self.operands[0])
        print_dictionary(printer, self, self.property_names())
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)


@irdl_op_definition
class BufferOp(PlaceOp):
    """Bytes in a memory space: `npu-assign-address` fills `space` and `address`; `input` numbers a graph input."""

    name = "npu.buffer"
    size = prop_def(INT)
    space = opt_prop_def(STRING)
    address = opt_prop_def(INT)
    input = opt_prop_def(INT)
    buffer = result_def(BufferType)

    @classmethod
    def make(cls, tensor: NpuTensorType, *, input_number: int | None = None) -> Self:
        """Create a buffer without a place."""
        properties: dict[str, Attribute] = {"type": tensor, "size": IntegerAttr(tensor.nbytes, i64)}
        if input_number is not None:
            properties["input"] = IntegerAttr(input_number, i64)
        return cls.build(properties=dict(properties), result_types=[BufferType()])

    @property
    def input_number(self) -> int:
        """Number of the graph input, or -1."""
        return self.input.value.data if self.input is not None else -1

    def verify_(self) -> None:
        if self.size.value.data != self.type.nbytes:
            raise VerifyException(f"size is {self.size.value.data} bytes, {self.type} needs {self.type.nbytes}")
        if self.space is not None and self.space.data not in SPACES:
            raise VerifyException(f"space must be one of {', '.join(SPACES)}, not {self.space.data!r}")
        if (self.space is None) != (self.address is None):
            raise VerifyException("space and address belong together")
        if self.address is not None and self.address.value.data < 0:
            raise VerifyException("address must not be negative")


@irdl_op_definition
class ViewOp(PlaceOp):
    """The bytes of another buffer from `offset` on, under another shape."""

    name = "npu.view"
    source = operand_def(BufferType)
    offset = prop_def(INT)
    buffer = result_def(BufferType)
    traits = traits_def(Pure())

    @classmethod
    def make(cls, source: SSAValue, tensor: NpuTensorType, offset: int = 0) -> Self:
        """Create a view."""
        properties: dict[str, Attribute] = {"type": tensor, "offset": IntegerAttr(offset, i64)}
        return cls.build(operands=[source], properties=dict(properties), result_types=[BufferType()])

    def verify_(self) -> None:
        available = value_type(self.source).nbytes
        if not 0 <= self.offset.value.data <= available - self.type.nbytes:
            raise VerifyException(
                f"{self.type.nbytes} bytes from {self.offset.value.data} leave a buffer of {available} bytes"
            )


def buffer_root(value: SSAValue) -> tuple[BufferOp | ConstantOp, int]:
    """Return the buffer or constant behind a buffer value and the byte offset inside it."""
    offset = 0
    owner: Operation | Block = value.owner
    while isinstance(owner, ViewOp):
        offset += owner.offset.value.data
        owner = owner.source.owner
    if not isinstance(owner, BufferOp | ConstantOp):
        raise VerifyException("a buffer operand must be defined by npu.buffer, npu.view or npu.constant")
    return owner, offset
