"""Blobs inside a container: an index (JSON rows key, offset, size) and the aligned bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from qbc.errors import QBCompilerError
from qbc.store.container import Container, IndexedPieces, Pieces, aligned
from qbc.store.store import BlobStore, content_key

INDEX_SECTION = "blob-index"
DATA_SECTION = "blobs"


def blob_sections(store: BlobStore, keys: Iterable[str]) -> dict[str, Pieces]:
    """Return the two sections that hold the blobs of `keys`, in sorted key order.

    The keys are hashes of the bytes, so the section of bytes needs no checksum.
    """
    ordered = sorted(set(keys))
    rows, offset = [], 0
    for key in ordered:
        size = len(store.bytes(key))
        rows.append([key, offset, size])
        offset = aligned(offset + size)
    index = json.dumps(rows, separators=(",", ":")).encode()
    return {INDEX_SECTION: index, DATA_SECTION: IndexedPieces(_pieces(store, ordered))}


def _pieces(store: BlobStore, keys: list[str]) -> Iterator[bytes | memoryview]:
    for key in keys:
        raw = store.bytes(key)
        yield raw
        padding = aligned(len(raw)) - len(raw)
        if padding:
            yield bytes(padding)


def adopt_blobs(container: Container, store: BlobStore, *, verify: bool = True) -> list[str]:
    """Register the blobs of a container in `store` (views, nothing is copied) and return their keys.

    Every row is bounded, and with `verify` every key is compared with the hash of its bytes; between blobs are zeros.
    """
    data = container.section(DATA_SECTION)
    keys, end = [], 0
    for key, offset, size in _index_rows(container):
        view = data[offset : offset + size]
        if offset != aligned(end) or len(view) != size or (verify and content_key(view) != key):
            raise _damaged(container)
        if any(data[end:offset]):
            raise _damaged(container)
        store.adopt(key, view)
        keys.append(key)
        end = offset + size
    if len(data) != aligned(end) or any(data[end:]):
        raise _damaged(container)
    return keys


def _index_rows(container: Container) -> list[tuple[str, int, int]]:
    try:
        rows = json.loads(bytes(container.section(INDEX_SECTION)))
    except (ValueError, RecursionError):
        raise _damaged(container) from None
    if not isinstance(rows, list):
        raise _damaged(container)
    checked = []
    for row in rows:
        if not (isinstance(row, list) and [type(field) for field in row] == [str, int, int] and min(row[1:]) >= 0):
            raise _damaged(container)
        checked.append((row[0], row[1], row[2]))
    return checked


def _damaged(container: Container) -> QBCompilerError:
    return QBCompilerError(
        f"{str(container.path)!r} has a damaged blob index", code="INVALID_SNAPSHOT", hint="build the file again"
    )
