"""Directories of blobs beside IR text: one file per blob, named by its key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from qbc.dialects.blob.handles import blob_keys
from qbc.errors import ArgumentError, QBCompilerError

if TYPE_CHECKING:
    from qbc.store import BlobStore

_KEY = re.compile(r"[0-9a-f]{32}")


def sidecar(path: Path) -> Path:
    """Return the blob directory that belongs to an IR text file: `x.mlir` has `x.blobs`."""
    return path.with_suffix(".blobs")


def adopt_directory(store: BlobStore, directory: Path) -> None:
    """Add all blobs of a directory to the store as memory maps; a file whose bytes do not fit its name is an error."""
    from qbc.store import map_file

    if not directory.is_dir():
        raise ArgumentError(f"blob directory {str(directory)!r} does not exist")
    for path in sorted(directory.iterdir()):
        if not _KEY.fullmatch(path.name) or path.name in store:
            continue
        if store.put_view(map_file(path)) != path.name:
            raise QBCompilerError(f"blob file {str(path)!r} is damaged", code="MISSING_BLOB", hint="write it again")


def write_blobs(module: Operation, store: BlobStore, directory: Path) -> int:
    """Write the blobs that `module` names and the store holds; returns how many are in the directory now."""
    from qbc.store import atomic_write

    keys = [key for key in blob_keys(module) if key in store]
    if keys:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QBCompilerError(
                f"cannot make directory {str(directory)!r}: {error.strerror}", code="OUTPUT_WRITE_ERROR"
            ) from None
    for key in keys:
        path = directory / key
        if not path.exists():
            with atomic_write(path) as handle:
                handle.write(store.bytes(key))
    return len(keys)
