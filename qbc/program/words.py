"""Bounded reading and writing of little-endian 32-bit words."""

from __future__ import annotations

import struct

from qbc.errors import QBCompilerError
from qbc.program.model import invalid_program

MAX_STRING_BYTES = 4096


class WordWriter:
    """Collects words."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size // 4

    def word(self, value: int) -> None:
        """Add an unsigned word."""
        self.raw(struct.pack("<I", value))

    def signed(self, value: int) -> None:
        """Add a signed word."""
        self.raw(struct.pack("<i", value))

    def long(self, value: int) -> None:
        """Add a signed 64-bit number in two words."""
        self.raw(struct.pack("<q", value))

    def single(self, value: float) -> None:
        """Add a float32."""
        self.raw(struct.pack("<f", value))

    def text(self, value: str) -> None:
        """Add a UTF-8 string: its byte count, then its bytes padded to whole words."""
        data = value.encode()
        if len(data) > MAX_STRING_BYTES:
            message = f"the name {value!r} has {len(data)} bytes, a program holds at most {MAX_STRING_BYTES}"
            raise QBCompilerError(message, code="UNSUPPORTED_FEATURE", hint="rename it in the model")
        self.word(len(data))
        self.raw(data + bytes(-len(data) % 4))

    def raw(self, data: bytes) -> None:
        """Add whole words."""
        self._pieces.append(data)
        self._size += len(data)

    def data(self) -> bytes:
        """Return everything written."""
        return b"".join(self._pieces)


class WordReader:
    """Reads words; anything outside the data raises INVALID_SNAPSHOT."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data).cast("B")
        self._position = 0

    @property
    def position(self) -> int:
        """Word number of the next word."""
        return self._position // 4

    @property
    def remaining(self) -> int:
        """Words left."""
        return (len(self._data) - self._position) // 4

    def word(self) -> int:
        """Read an unsigned word."""
        value: int = struct.unpack("<I", self.raw(4))[0]
        return value

    def signed(self) -> int:
        """Read a signed word."""
        value: int = struct.unpack("<i", self.raw(4))[0]
        return value

    def long(self) -> int:
        """Read a signed 64-bit number."""
        value: int = struct.unpack("<q", self.raw(8))[0]
        return value

    def single(self) -> float:
        """Read a float32."""
        value: float = struct.unpack("<f", self.raw(4))[0]
        return value

    def count(self, least_words: int = 1) -> int:
        """Read a count of items that take at least `least_words` words each; it must fit what is left."""
        value = self.word()
        if value * least_words > self.remaining:
            raise invalid_program(f"a count of {value} exceeds the data")
        return value

    def index(self, length: int, what: str) -> int:
        """Read a word below `length`."""
        value = self.word()
        if value >= length:
            raise invalid_program(f"{what} {value} is not below {length}")
        return value

    def text(self) -> str:
        """Read a string."""
        size = self.word()
        if size > MAX_STRING_BYTES:
            raise invalid_program(f"a string of {size} bytes is too long")
        data = bytes(self.raw(size + -size % 4))
        if any(data[size:]):
            raise invalid_program("a string is not padded with zeros")
        try:
            return data[:size].decode()
        except UnicodeDecodeError:
            raise invalid_program("a string is not UTF-8") from None

    def raw(self, size: int) -> memoryview:
        """Read bytes."""
        end = self._position + size
        if end > len(self._data):
            raise invalid_program("it ends too early")
        view = self._data[self._position : end]
        self._position = end
        return view
