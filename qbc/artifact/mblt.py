"""`.mblt` files: the parsed graph (a module of mblt functions and what did not convert) with its weights."""

from __future__ import annotations

import os
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from qbc.artifact.attribute_table import DamagedTable
from qbc.artifact.ir_table import TABLE_VERSION, NewerTable, read_ir_table, write_ir_table
from qbc.artifact.manifest import MANIFEST_SECTION, Manifest, read_manifest
from qbc.dialects.blob import BlobRefAttr
from qbc.dialects.blob.handles import blob_handles, blob_keys
from qbc.errors import QBCompilerError
from qbc.store import BlobStore, adopt_blobs, blob_sections, read_container, write_container
from qbc.store.container import newer_version

KIND = "MBLT"
IR_SECTION = "ir"


@dataclass(frozen=True)
class MbltFile:
    """An opened `.mblt`: module, weights (views of the mapped file) and manifest."""

    module: ModuleOp
    store: BlobStore
    manifest: Manifest


def write_mblt(path: str | os.PathLike[str], module: ModuleOp, store: BlobStore, manifest: Manifest) -> None:
    """Write a snapshot atomically; only blobs that the module names are stored."""
    sections = {
        MANIFEST_SECTION: manifest.to_bytes(),
        IR_SECTION: write_ir_table(module),
        **blob_sections(store, blob_keys(module)),
    }
    write_container(path, KIND, sections)


def read_mblt(path: str | os.PathLike[str], context: Context, store: BlobStore | None = None) -> MbltFile:
    """Open a snapshot; raises INVALID_SNAPSHOT when it is damaged and UNSUPPORTED_VERSION when it is too new."""
    container = read_container(path, KIND)
    manifest = read_manifest(container.section(MANIFEST_SECTION))
    store = store if store is not None else BlobStore()
    keys = set(adopt_blobs(container, store))
    try:
        module = read_ir_table(container.section(IR_SECTION), context)
    except NewerTable as error:
        raise newer_version(f"{os.fspath(path)!r}: {error}", TABLE_VERSION) from None
    except DamagedTable as error:
        raise QBCompilerError(f"{os.fspath(path)!r}: {error}", code="INVALID_SNAPSHOT") from None
    _check_blobs(path, module, store, keys)
    return MbltFile(module, store, manifest)


def _check_blobs(path: str | os.PathLike[str], module: ModuleOp, store: BlobStore, keys: set[str]) -> None:
    for handle in blob_handles(module):
        key = handle.key.data
        if key not in keys or not _fits(handle, store):
            raise QBCompilerError(f"{os.fspath(path)!r} lacks blob {key!r} of {handle.type}", code="INVALID_SNAPSHOT")


def _fits(handle: BlobRefAttr, store: BlobStore) -> bool:
    try:
        store.get(handle.key.data, handle.dtype, handle.shape)
    except (QBCompilerError, ValueError, TypeError):
        return False
    return True
