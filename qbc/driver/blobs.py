"""Directories of blobs beside IR text: one file per blob, named by its key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from qbc.atomic import atomic_write, make_directory, undone_on_failure
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


def write_blobs(module: Operation, store: BlobStore, directory: Path, made: list[Path]) -> int:
    """Write the blobs that `module` names and the store holds; returns how many are in the directory now.

    What did not exist before is added to `made`, for `undone_on_failure`; nothing of it is left when this fails.
    """
    keys = [key for key in blob_keys(module) if key in store]
    with undone_on_failure() as own:
        if keys:
            make_directory(directory, own)
        for key in keys:
            path = directory / key
            if not path.is_file():
                with atomic_write(path) as handle:
                    handle.write(store.bytes(key))
                own.append(path)
    made += own
    return len(keys)
