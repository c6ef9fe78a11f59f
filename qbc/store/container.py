"""The file container of snapshots: named, aligned, checksummed sections that can be memory-mapped.

Layout (little-endian): header of 64 bytes = magic "QBCF", kind (4 bytes, "MBLT" or "MXQ "), format version u32, section
count u32, file size u64, first 16 bytes of the SHA-256 of the section table, zeros; then the table, one row of 64 bytes
per section: name (24 bytes), offset u64, size u64, first 16 bytes of the SHA-256 of the section, flags u64 (1: the
section is checked by the keys of an index, its checksum is zero); then the sections, each aligned to 64 bytes. No time
stamps, no paths.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from qbc.atomic import atomic_write
from qbc.errors import ArgumentError, QBCompilerError
from qbc.store.store import map_file

ALIGNMENT_BYTES = 64
# Kind of a snapshot -> version that is written, the newest that is read; all from 1 on are read (docs/formats.md).
FORMAT_VERSIONS = {"MBLT": 1, "MXQ": 1}
MAX_SECTIONS = 64
_MAGIC = b"QBCF"
_HEADER = struct.Struct("<4s4sIIQ16s24x")
_NAME_BYTES = 24
_ROW = struct.Struct(f"<{_NAME_BYTES}sQQ16sQ")
_CHECKED_BY_INDEX = 1
_NO_CHECKSUM = bytes(16)


@dataclass(frozen=True)
class IndexedPieces:
    """Pieces of a section that another section lists with their hashes, which makes a checksum superfluous."""

    pieces: Iterable[bytes | memoryview]


Pieces = bytes | Iterable[bytes | memoryview] | IndexedPieces


@dataclass(frozen=True)
class Container:
    """An opened snapshot: its kind, format version and sections (views of the mapped file)."""

    path: Path
    kind: str
    version: int
    sections: Mapping[str, memoryview]

    def section(self, name: str) -> memoryview:
        """Return one section; raises INVALID_SNAPSHOT when it is missing."""
        try:
            return self.sections[name]
        except KeyError:
            raise _invalid(self.path, f"has no section {name!r}") from None


def aligned(size: int) -> int:
    """Round a byte count up to the section alignment."""
    return -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def write_container(path: str | os.PathLike[str], kind: str, sections: Mapping[str, Pieces]) -> None:
    """Write sections (bytes or an iterable of pieces) atomically; equal sections give equal files.

    More sections or longer names than the table holds are an INTERNAL_ERROR, a defect of the caller.
    """
    unfit = [name for name in sections if len(name.encode()) > _NAME_BYTES or not name.isascii() or "\0" in name]
    if unfit or len(sections) > MAX_SECTIONS:
        what = f"section {unfit[0]!r}" if unfit else f"{len(sections)} sections"
        raise QBCompilerError(f"the table of a snapshot does not hold {what}", code="INTERNAL_ERROR")
    with atomic_write(path) as handle:
        offset = _HEADER.size + _ROW.size * len(sections)
        rows = []
        for name, pieces in sections.items():
            offset = aligned(offset)
            handle.seek(offset)
            size, checksum = _write_pieces(handle, pieces)
            flags = _CHECKED_BY_INDEX if isinstance(pieces, IndexedPieces) else 0
            rows.append(_ROW.pack(name.encode(), offset, size, checksum, flags))
            offset += size
        table = b"".join(rows)
        handle.truncate(offset)
        handle.seek(0)
        checksum = hashlib.sha256(table).digest()[:16]
        handle.write(_HEADER.pack(_MAGIC, kind.ljust(4).encode(), FORMAT_VERSIONS[kind], len(rows), offset, checksum))
        handle.write(table)


def _write_pieces(handle: IO[bytes], pieces: Pieces) -> tuple[int, bytes]:
    """Write a section and return its size and checksum."""
    if isinstance(pieces, IndexedPieces):
        return sum(handle.write(piece) for piece in pieces.pieces), _NO_CHECKSUM
    digest, size = hashlib.sha256(), 0
    for piece in [pieces] if isinstance(pieces, bytes) else pieces:
        handle.write(piece)
        digest.update(piece)
        size += len(piece)
    return size, digest.digest()[:16]


def read_container(path: str | os.PathLike[str], kind: str | None = None, *, verify: bool = True) -> Container:
    """Open a snapshot; every offset and size is bounded and, with `verify`, every section checksum is compared.

    Who reads a section that an index checks (`adopt_blobs`) compares its pieces with the index.
    Raises INVALID_SNAPSHOT for anything damaged or foreign, UNSUPPORTED_VERSION for a newer format.
    """
    location = Path(path)
    try:
        data = map_file(location)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ArgumentError(f"cannot read {str(location)!r}: {reason}") from None
    if len(data) < _HEADER.size:
        raise _invalid(location, "is too short for a snapshot")
    magic, found_kind, version, count, file_size, checksum = _HEADER.unpack(data[: _HEADER.size])
    if magic != _MAGIC:
        raise _invalid(location, "is not a qbcompiler snapshot")
    found = found_kind.decode("ascii", "replace").strip()
    if kind is not None and found != kind:
        raise _invalid(location, f"is a snapshot of kind {found!r}, expected {kind!r}")
    if found not in FORMAT_VERSIONS or version < 1:
        raise _invalid(location, f"is a snapshot of unknown kind {found!r}, version {version}")
    if version > FORMAT_VERSIONS[found]:
        raise newer_version(f"{str(location)!r} has format version {version}", FORMAT_VERSIONS[found])
    if file_size != len(data) or count > MAX_SECTIONS or _HEADER.size + _ROW.size * count > len(data):
        raise _invalid(location, "is truncated or has a damaged header")
    table = data[_HEADER.size : _HEADER.size + _ROW.size * count]
    if hashlib.sha256(table).digest()[:16] != checksum:
        raise _invalid(location, "has a damaged section table")
    return Container(location, found, version, _sections(location, data, table, verify))


def _sections(path: Path, data: memoryview, table: memoryview, verify: bool) -> dict[str, memoryview]:
    sections: dict[str, memoryview] = {}
    end = _HEADER.size + len(table)
    for raw_name, offset, size, checksum, flags in _ROW.iter_unpack(table):
        name = raw_name.rstrip(b"\0").decode("ascii", "replace")
        misplaced = offset % ALIGNMENT_BYTES or offset < end or offset + size > len(data)
        if misplaced or name in sections or flags not in (0, _CHECKED_BY_INDEX):
            raise _invalid(path, f"has a damaged table row for section {name!r}")
        section = data[offset : offset + size]
        if verify and not flags and hashlib.sha256(section).digest()[:16] != checksum:
            raise _invalid(path, f"has a damaged section {name!r} (checksum differs)")
        sections[name] = section
        end = offset + size
    return sections


def newer_version(what: str, newest: int) -> QBCompilerError:
    """Build the error about a file of a newer version."""
    return QBCompilerError(
        f"{what}, this release reads up to version {newest}",
        code="UNSUPPORTED_VERSION",
        hint="install a newer qbcompiler, or build the file again with this one",
    )


def _invalid(path: Path, what: str) -> QBCompilerError:
    return QBCompilerError(
        f"{str(path)!r} {what}", code="INVALID_SNAPSHOT", hint="build the file again from its source"
    )
