"""Building a program: blob table with deduplication, commands with debug rows, and the finished image."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qbc.errors import QBCompilerError
from qbc.program.image import encode_program
from qbc.program.model import AttributeValue, Blob, Command, HostTensor, Operand, Program, invalid_program
from qbc.store.container import newer_version

DEBUG_VERSION = 1
_KEY = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class DebugRow:
    """Where a record comes from: the operation's name and the source nodes it computes."""

    op: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class ProgramImage:
    """A packed program: its bytes, the keys of the blobs it names, and the debug map as JSON bytes."""

    code: bytes
    blob_keys: tuple[str, ...]
    debug: bytes


@dataclass
class ProgramWriter:
    """Collects one program."""

    target: str
    mode: str
    variant: int
    arenas: dict[str, int]
    inputs: list[HostTensor] = field(default_factory=list)
    outputs: list[HostTensor] = field(default_factory=list)
    _blobs: dict[Blob, int] = field(default_factory=dict)
    _commands: list[Command] = field(default_factory=list)
    _debug: list[DebugRow] = field(default_factory=list)

    def blob(self, key: str, dtype: str, shape: Sequence[int]) -> int:
        """Return the index of a blob, adding it when it is new; MISSING_BLOB for a key that no blob can have."""
        if _KEY.fullmatch(key) is None:
            raise QBCompilerError(f"no blob has the key {key!r}: it is not 32 hex digits", code="MISSING_BLOB")
        return self._blobs.setdefault(Blob(key, dtype, tuple(shape)), len(self._blobs))

    def command(
        self,
        kind: str,
        inputs: Sequence[Operand],
        output: Operand,
        attributes: Mapping[str, AttributeValue],
        constants: Mapping[str, int],
        source: DebugRow,
        core: int = 0,
    ) -> None:
        """Append a command."""
        debug = len(self._debug)
        self._debug.append(source)
        self._commands.append(Command(kind, tuple(inputs), output, dict(attributes), dict(constants), debug, core))

    def program(self) -> Program:
        """Return the program as data."""
        return Program(
            self.target,
            self.mode,
            self.variant,
            dict(self.arenas),
            tuple(self.inputs),
            tuple(self.outputs),
            tuple(self._blobs),
            tuple(self._commands),
        )

    def image(self) -> ProgramImage:
        """Pack the program."""
        keys = tuple(dict.fromkeys(blob.key for blob in self._blobs))
        return ProgramImage(encode_program(self.program()), keys, encode_debug(self._debug))


def encode_debug(rows: Sequence[DebugRow]) -> bytes:
    """Return the debug map: JSON with one row [operation, source nodes] per debug id."""
    table = {"version": DEBUG_VERSION, "records": [[row.op, list(row.nodes)] for row in rows]}
    return json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()


def decode_debug(data: bytes | memoryview) -> tuple[DebugRow, ...]:
    """Read a debug map; raises INVALID_SNAPSHOT when it is damaged, UNSUPPORTED_VERSION when newer."""
    try:
        table = json.loads(bytes(data))
        version = table["version"]
        if type(version) is int and version > DEBUG_VERSION:
            raise newer_version(f"the debug map has version {version}", DEBUG_VERSION)
        rows = [DebugRow(_text(op), tuple(_text(node) for node in nodes)) for op, nodes in table["records"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise invalid_program("the debug map cannot be read") from None
    return tuple(rows)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


__all__ = ["DebugRow", "ProgramImage", "ProgramWriter", "decode_debug", "encode_debug"]
