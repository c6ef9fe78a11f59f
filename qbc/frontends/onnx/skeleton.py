"""The skeleton of an ONNX file: the model without its large tensors, whose bytes stay in the memory map.

The onnx package copies weights at every step (load, convert, infer). So the file is walked once in its wire format:
the content of every large tensor is replaced by a 16-byte token, and the skeleton, a few hundred KB, is what onnx sees.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from qbc.errors import QBCompilerError
from qbc.frontends.onnx.wire import BYTES, VARINT, encode_bytes, malformed, read_fields, read_varint

STRIP_BYTES = 1024
STRIP_INTEGER_BYTES = 1 << 16  # integer tensors may be shapes, which inference must see
MAX_DEPTH = 64  # nesting of messages; protobuf itself refuses 100

# Field numbers of onnx.proto, message by message, that lead to tensors.
_CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph"},
}
_DATA_TYPE, _FLOAT_DATA, _RAW_DATA, _DOUBLE_DATA = 2, 4, 9, 10
_PACKED = {_FLOAT_DATA: 1, _DOUBLE_DATA: 11}  # data field -> the TensorProto type whose bytes it holds as they are
_INTEGER_TYPES = frozenset({6, 7, 12, 13})


@dataclass
class Payloads:
    """The large contents that were taken out of a model, by token."""

    nonce: bytes = field(default_factory=lambda: os.urandom(8))
    views: list[memoryview] = field(default_factory=list)

    def add(self, view: memoryview) -> bytes:
        """Register bytes and return the token that stands for them."""
        self.views.append(view)
        return self.nonce + (len(self.views) - 1).to_bytes(8, "little")

    def find(self, raw_data: bytes) -> memoryview | None:
        """Return the bytes a token stands for, or None when `raw_data` is no token."""
        if len(raw_data) != 16 or raw_data[:8] != self.nonce:
            return None
        index = int.from_bytes(raw_data[8:], "little")
        return self.views[index] if index < len(self.views) else None


def strip_model(data: memoryview, payloads: Payloads) -> bytes:
    """Return the bytes of a ModelProto with tokens in place of large tensors; raises INVALID_MODEL when malformed."""
    return _strip(data, 0, len(data), "model", payloads, 0)


def _strip(data: memoryview, start: int, stop: int, kind: str, payloads: Payloads, depth: int) -> bytes:
    if depth > MAX_DEPTH:
        raise QBCompilerError("the model nests deeper than 64 levels", code="INVALID_MODEL")
    if kind == "tensor":
        return _strip_tensor(data, start, stop, payloads)
    children = _CHILDREN[kind]
    pieces: list[bytes | memoryview] = []
    copied = start
    for item in read_fields(data, start, stop):
        child = children.get(item.number)
        if child is None or item.wire_type != BYTES or item.stop - item.value < STRIP_BYTES:
            continue
        pieces.append(data[copied : item.start])
        pieces.append(encode_bytes(item.number, _strip(data, item.value, item.stop, child, payloads, depth + 1)))
        copied = item.stop
    pieces.append(data[copied:stop])
    return b"".join(pieces)


def _strip_tensor(data: memoryview, start: int, stop: int, payloads: Payloads) -> bytes:
    fields = list(read_fields(data, start, stop))
    data_type = 0
    for item in fields:
        if item.number == _DATA_TYPE and item.wire_type == VARINT:
            data_type, _ = read_varint(data, item.value, item.stop)
    limit = STRIP_INTEGER_BYTES if data_type in _INTEGER_TYPES else STRIP_BYTES
    content = [item for item in fields if _holds_bytes(item.number, data_type) and item.wire_type == BYTES]
    if len(content) != 1 or content[0].stop - content[0].value < limit:
        return bytes(data[start:stop])
    body = content[0]
    if body.stop > len(data):
        raise malformed(body.start)
    token = payloads.add(data[body.value : body.stop])
    return b"".join([data[start : body.start], encode_bytes(_RAW_DATA, token), data[body.stop : stop]])


def _holds_bytes(number: int, data_type: int) -> bool:
    return number == _RAW_DATA or _PACKED.get(number) == data_type
