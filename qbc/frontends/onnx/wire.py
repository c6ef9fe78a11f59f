"""Reading the protobuf wire format in place, just enough to find large payloads without copying them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from qbc.errors import QBCompilerError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


@dataclass(frozen=True, slots=True)
class Field:
    """One field occurrence: `data[start:stop]` is the whole field with its tag, `data[value:stop]` its content."""

    number: int
    wire_type: int
    start: int
    value: int
    stop: int


def malformed(offset: int) -> QBCompilerError:
    """Build the error of bytes that are no protobuf message."""
    return QBCompilerError(f"the file is damaged or not an ONNX model (byte {offset})", code="INVALID_MODEL")


def read_varint(data: memoryview, position: int, stop: int) -> tuple[int, int]:
    """Return a varint and the position after it."""
    result = shift = 0
    for index in range(position, min(position + _MAX_VARINT_BYTES, stop)):
        byte = data[index]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, index + 1
        shift += 7
    raise malformed(position)


def encode_varint(value: int) -> bytes:
    """Return the varint of a non-negative integer."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_bytes(number: int, payload: bytes) -> bytes:
    """Return a length-delimited field."""
    return encode_varint(number << 3 | BYTES) + encode_varint(len(payload)) + payload


def read_fields(data: memoryview, start: int, stop: int) -> Iterator[Field]:
    """Iterate over the fields of the message `data[start:stop]`; raises INVALID_MODEL where it is malformed."""
    position = start
    while position < stop:
        tag, value = read_varint(data, position, stop)
        wire_type = tag & 7
        if wire_type == BYTES:
            length, value = read_varint(data, value, stop)
            end = value + length
        elif wire_type == VARINT:
            _, end = read_varint(data, value, stop)
        elif wire_type in (FIXED32, FIXED64):
            end = value + (4 if wire_type == FIXED32 else 8)
        else:
            raise malformed(position)
        if end > stop or tag >> 3 == 0:
            raise malformed(position)
        yield Field(tag >> 3, wire_type, position, value, end)
        position = end
