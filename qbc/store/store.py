"""Content-addressed store of weight bytes.

A key is the 128-bit XXH3 hash of the bytes, as 32 hex digits: equal keys mean equal bytes. It guards against damage and
finds equal weights at memory speed (a hash that resists forgery costs more than the rest of an import); provenance
records SHA-256 of the sources.

Blobs are views of memory-mapped model files where possible; derived blobs beyond a memory budget move to a spool file,
so models larger than memory compile. Arrays handed out are read-only.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import xxhash

from qbc.errors import MISSING_BLOB_HINT, QBCompilerError

SPOOL_THRESHOLD_BYTES = 64 << 20
SMALL_BLOB_BYTES = 4096


def content_key(data: bytes | memoryview) -> str:
    """Return the store key of `data`: 32 hex digits of XXH3-128."""
    return xxhash.xxh3_128_hexdigest(data)


class BlobStore:
    """Key -> bytes. Thread-unsafe by design: one compile context owns one store."""

    def __init__(self, spool_threshold_bytes: int = SPOOL_THRESHOLD_BYTES) -> None:
        self._blobs: dict[str, memoryview] = {}
        self._places: dict[tuple[int, int], str] = {}  # (address, size) of large blobs -> key
        self._held_bytes = 0
        self._spool_threshold_bytes = spool_threshold_bytes
        self._spool_fd: int | None = None
        self._spool_size = 0

    def put(self, data: npt.NDArray[np.generic] | bytes | memoryview) -> str:
        """Add bytes (an array is stored in C order, little-endian) and return the key.

        The bytes are copied, unless nobody else can change them: an array that owns its data and is not writeable, or
        one that had to be brought into order. A view of a blob of this store (reshaped, or transposed around axes of
        size 1) is recognised without reading it.
        """
        raw, is_own = _as_bytes(data)
        known = self._places.get(_place(raw))
        if known is not None:
            return known
        key = content_key(raw)
        if key not in self._blobs:
            self._remember(key, self._keep(raw, is_own))
        return key

    def put_view(self, view: memoryview) -> str:
        """Add bytes that stay alive and unchanged elsewhere (a memory map); nothing is copied."""
        flat = view.cast("B")
        key = content_key(flat)
        if key not in self._blobs:
            self._remember(key, flat.toreadonly())
        return key

    def adopt(self, key: str, view: memoryview) -> None:
        """Register bytes under a key that a checked container vouches for."""
        if key not in self._blobs:
            self._remember(key, view.cast("B").toreadonly())

    def get(self, key: str, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
        """Return the blob as a read-only array of numpy dtype name `dtype` (little-endian)."""
        raw = self.bytes(key)
        element = np.dtype(dtype).newbyteorder("<")
        expected = element.itemsize * math.prod(shape)
        if len(raw) != expected:
            raise QBCompilerError(
                f"blob {key} holds {len(raw)} bytes, {dtype}{list(shape)} needs {expected}", code="MISSING_BLOB"
            )
        return np.frombuffer(raw, dtype=element).reshape(shape)

    def bytes(self, key: str) -> memoryview:
        """Return the raw bytes of a blob; raises MISSING_BLOB when the store has no such key."""
        try:
            return self._blobs[key]
        except KeyError:
            raise QBCompilerError(
                f"blob {key!r} is not in the store", code="MISSING_BLOB", hint=MISSING_BLOB_HINT
            ) from None

    def __contains__(self, key: str) -> bool:
        return key in self._blobs

    def __len__(self) -> int:
        return len(self._blobs)

    def keys(self) -> Iterator[str]:
        """Iterate over all keys in insertion order."""
        return iter(self._blobs)

    def _remember(self, key: str, view: memoryview) -> None:
        self._blobs[key] = view
        if len(view) >= SMALL_BLOB_BYTES:
            self._places[_place(view)] = key

    def _keep(self, raw: memoryview, is_own: bool) -> memoryview:
        if len(raw) < SMALL_BLOB_BYTES or self._held_bytes + len(raw) <= self._spool_threshold_bytes:
            self._held_bytes += len(raw)
            return raw.toreadonly() if is_own else memoryview(bytes(raw))
        return self._spool(raw)

    def _spool(self, raw: memoryview) -> memoryview:
        try:
            return self._write_spool(raw)
        except OSError as error:
            raise QBCompilerError(
                f"cannot keep weights in a temporary file: {error.strerror}",
                code="RESOURCE_ERROR",
                hint="free space in the directory for temporary files, or set TMPDIR",
            ) from None

    def _write_spool(self, raw: memoryview) -> memoryview:
        if self._spool_fd is None:
            fd, name = tempfile.mkstemp(prefix="qbc-spool-")
            os.unlink(name)
            self._spool_fd = fd
        start = -(-self._spool_size // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        written = 0
        while written < len(raw):
            written += os.pwrite(self._spool_fd, raw[written : written + (8 << 20)], start + written)
        self._spool_size = start + len(raw)
        return memoryview(mmap.mmap(self._spool_fd, len(raw), offset=start, access=mmap.ACCESS_READ))

    def close(self) -> None:
        """Release the spool file descriptor; views that are still referenced stay valid."""
        if self._spool_fd is not None:
            os.close(self._spool_fd)
            self._spool_fd = None

    def __del__(self) -> None:
        self.close()


def map_file(path: Path) -> memoryview:
    """Memory-map a regular file read-only; an empty file gives an empty view. Raises OSError for anything else."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as handle:  # no wait for the writer of a pipe
        if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if os.fstat(handle.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))


def _place(raw: memoryview) -> tuple[int, int]:
    """Return address and size of bytes. Blobs are never removed, so an address that holds one holds nothing else."""
    return int(np.frombuffer(raw, dtype=np.uint8).__array_interface__["data"][0]), len(raw)


def _as_bytes(data: npt.NDArray[np.generic] | bytes | memoryview) -> tuple[memoryview, bool]:
    """Return the bytes to store, and whether nobody else can change them."""
    if not isinstance(data, np.ndarray):
        return memoryview(data).cast("B"), isinstance(data, bytes)
    little = np.ascontiguousarray(data.astype(data.dtype.newbyteorder("<"), copy=False))
    is_own = (data.flags.owndata and not data.flags.writeable) or not np.may_share_memory(little, data)
    return little.reshape(-1).view(np.uint8).data, is_own
