"""Packed records: one self-contained command each.

| word | content |
| --- | --- |
| 0 | opcode (bits 0-7), words of the record (8-23), number of inputs (24-31) |
| 1 | debug id: row of the map from records to source nodes (bits 0-23), core (24-31) |
| 2 | presence mask: bit i is set when field i of the opcode's table row (attributes, constants, later) is there |
| then | operands, output first: space (bits 0-3), element type (4-7), rank (8-11), zero; address (2 words); extents |
| then | present attributes in table order: int = 2 words, list = count and signed words, enumeration = its number |
| then | present constants in table order: index into the blob table |
| then | present later attributes in table order |
"""

from __future__ import annotations

from collections.abc import Sequence

from qbc.errors import QBCompilerError
from qbc.program.model import (
    MAX_ELEMENTS,
    MAX_RANK,
    AttributeValue,
    Blob,
    Command,
    Operand,
    invalid_program,
)
from qbc.program.opcodes import ELEMENT_BYTES, ELEMENTS, OPCODE_OF_KIND, OPCODE_OF_NUMBER, SPACES, Field, Opcode
from qbc.program.words import WordReader, WordWriter

MAX_RECORD_WORDS = (1 << 16) - 1
MAX_DEBUG = (1 << 24) - 1
_LONG = 1 << 63
_SIGNED = 1 << 31


class RecordScope:
    """What operands, constants and cores are checked against: arena sizes, the blob table, the number of cores."""

    def __init__(self, arenas: dict[str, int], blobs: Sequence[Blob], cores: int = 1) -> None:
        self.arenas = arenas
        self.blobs = blobs
        self.cores = cores

    def check(self, operand: Operand) -> None:
        """Raise INVALID_SNAPSHOT unless the operand lies inside its arena, aligned, or is the named blob."""
        if any(extent < 1 for extent in operand.shape) or operand.size > MAX_ELEMENTS:
            raise invalid_program(f"shape {list(operand.shape)} is not valid")
        if operand.space == "const":
            self._check_constant(operand)
            return
        size = self.arenas[operand.space]
        if operand.address < 0 or operand.address + operand.nbytes > size:
            raise invalid_program(f"bytes {operand.address}+{operand.nbytes} leave {operand.space} of {size} bytes")
        if operand.address % ELEMENT_BYTES[operand.dtype]:
            raise invalid_program(f"address {operand.address} is not aligned to {operand.dtype}")

    def _check_constant(self, operand: Operand) -> None:
        if not 0 <= operand.address < len(self.blobs):
            raise invalid_program(f"blob {operand.address} is not one of {len(self.blobs)}")
        blob = self.blobs[operand.address]
        if blob.dtype != f"int{operand.dtype[1:]}" or _size(blob.shape) != operand.size:
            raise invalid_program(f"operand {operand.dtype}{list(operand.shape)} does not fit blob {operand.address}")


def _size(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


# --- writing ---


def encode_record(command: Command) -> bytes:
    """Pack one command; raises INTERNAL_ERROR when a field does not fit the format (a defect of the caller)."""
    opcode = OPCODE_OF_KIND.get(command.kind)
    if opcode is None:
        raise _unencodable(command, "the kind has no opcode")
    if not opcode.least_inputs <= len(command.inputs) <= opcode.most_inputs:
        raise _unencodable(command, f"{len(command.inputs)} inputs")
    mask = _presence(command, opcode)
    body = WordWriter()
    if command.debug > MAX_DEBUG:
        raise _unencodable(command, f"debug id {command.debug}")
    body.word(command.debug | command.core << 24)
    body.word(mask)
    for operand in (command.output, *command.inputs):
        write_operand(body, operand)
    for field in opcode.attributes:
        if field.name in command.attributes:
            _write_attribute(body, command, field)
    for field in opcode.constants:
        if field.name in command.constants:
            body.word(command.constants[field.name])
    for field in opcode.later:
        if field.name in command.attributes:
            _write_attribute(body, command, field)
    words = len(body) + 1
    if words > MAX_RECORD_WORDS:
        raise _unencodable(command, f"{words} words")
    head = WordWriter()
    head.word(opcode.number | words << 8 | len(command.inputs) << 24)
    return head.data() + body.data()


def write_operand(writer: WordWriter, operand: Operand) -> None:
    """Pack one operand."""
    rank = len(operand.shape)
    if rank > MAX_RANK:
        raise QBCompilerError(f"a tensor of rank {rank} has no packed form, at most {MAX_RANK}", code="UNSUPPORTED_OP")
    writer.word(SPACES.index(operand.space) | ELEMENTS.index(operand.dtype) << 4 | rank << 8)
    writer.long(operand.address)
    for extent in operand.shape:
        writer.word(extent)


def _presence(command: Command, opcode: Opcode) -> int:
    mask = 0
    for bit, field in enumerate(opcode.fields):
        given = command.constants if field in opcode.constants else command.attributes
        if field.name in given:
            mask |= 1 << bit
        elif not field.optional:
            raise _unencodable(command, f"{field.name!r} is missing")
    known = {field.name for field in opcode.fields}
    unknown = sorted({*command.attributes, *command.constants} - known)
    if unknown:
        raise _unencodable(command, f"unknown fields {', '.join(unknown)}")
    return mask


def _write_attribute(writer: WordWriter, command: Command, field: Field) -> None:
    value = command.attributes[field.name]
    if field.kind == "int" and isinstance(value, int) and -_LONG <= value < _LONG:
        writer.long(value)
    elif field.kind == "list" and isinstance(value, tuple) and all(-_SIGNED <= item < _SIGNED for item in value):
        writer.word(len(value))
        for item in value:
            writer.signed(item)
    elif isinstance(field.kind, tuple) and value in field.kind:
        writer.word(field.kind.index(value))
    else:
        raise _unencodable(command, f"{field.name} = {value!r}")


def _unencodable(command: Command, what: str) -> QBCompilerError:
    return QBCompilerError(f"command {command.kind!r} cannot be packed: {what}", code="INTERNAL_ERROR")


# --- reading ---


def decode_record(reader: WordReader, scope: RecordScope) -> Command:
    """Unpack one command; every field is bounded, anything else raises INVALID_SNAPSHOT."""
    start = reader.position
    head = reader.word()
    opcode = OPCODE_OF_NUMBER.get(head & 0xFF)
    if opcode is None:
        raise invalid_program(f"unknown opcode {head & 0xFF}")
    words, inputs = head >> 8 & 0xFFFF, head >> 24
    if not opcode.least_inputs <= inputs <= opcode.most_inputs:
        raise invalid_program(f"{opcode.kind} has {inputs} inputs")
    source, mask = reader.word(), reader.word()
    core, debug = source >> 24, source & MAX_DEBUG
    if core >= scope.cores:
        raise invalid_program(f"core {core} is not one of {scope.cores}")
    fields = opcode.fields
    if mask >> len(fields):
        raise invalid_program(f"{opcode.kind} has a wrong presence mask")
    for bit, field in enumerate(fields):
        if not field.optional and not mask >> bit & 1:
            raise invalid_program(f"{opcode.kind} lacks {field.name!r}")
    operands = [read_operand(reader, scope) for _ in range(inputs + 1)]
    present = [field for bit, field in enumerate(opcode.attributes) if mask >> bit & 1]
    attributes = {field.name: _read_attribute(reader, field) for field in present}
    offset = len(opcode.attributes)
    named = [field for bit, field in enumerate(opcode.constants) if mask >> (bit + offset) & 1]
    constants = {field.name: reader.index(len(scope.blobs), "blob") for field in named}
    offset += len(opcode.constants)
    added = [field for bit, field in enumerate(opcode.later) if mask >> (bit + offset) & 1]
    attributes |= {field.name: _read_attribute(reader, field) for field in added}
    if reader.position - start != words:
        raise invalid_program(f"a record of {words} words holds {reader.position - start}")
    return Command(opcode.kind, tuple(operands[1:]), operands[0], attributes, constants, debug, core)


def read_operand(reader: WordReader, scope: RecordScope) -> Operand:
    """Unpack and check one operand."""
    head = reader.word()
    space, element, rank = head & 0xF, head >> 4 & 0xF, head >> 8
    if space >= len(SPACES) or element >= len(ELEMENTS) or rank > MAX_RANK:
        raise invalid_program(f"operand word {head:#x} is not valid")
    address = reader.long()
    shape = tuple(reader.word() for _ in range(rank))
    operand = Operand(SPACES[space], address, shape, ELEMENTS[element])
    scope.check(operand)
    return operand


def _read_attribute(reader: WordReader, field: Field) -> AttributeValue:
    if field.kind == "int":
        return reader.long()
    if field.kind == "list":
        count = reader.count()
        return tuple(reader.signed() for _ in range(count))
    return field.kind[reader.index(len(field.kind), field.name)]
