"""`.mxq` files: compiled programs with their constants, manifest and, for people, the `npu` text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from qbc.artifact.manifest import MANIFEST_SECTION, Manifest, read_manifest
from qbc.program.package import GOLDEN, KIND, ProgramKey, package_sections
from qbc.program.writer import ProgramImage
from qbc.store import BlobStore, Container, read_container, write_container
from qbc.store.container import Pieces

IR_SECTION = "ir"


@dataclass(frozen=True)
class MxqInfo:
    """What an `.mxq` tells people: its manifest and the text of its programs (empty when it was removed)."""

    container: Container
    manifest: Manifest
    ir_text: str


def write_mxq(
    path: str | os.PathLike[str],
    images: Mapping[ProgramKey, ProgramImage],
    store: BlobStore,
    manifest: Manifest,
    *,
    ir_text: str,
    golden: Mapping[ProgramKey, bytes] | None = None,
) -> None:
    """Write a compiled program atomically; only blobs that records name are stored."""
    sections: dict[str, Pieces] = {MANIFEST_SECTION: manifest.to_bytes()}
    for (mode, variant), vectors in (golden or {}).items():
        sections[f"{GOLDEN}/{mode}/{variant}"] = vectors
    sections[IR_SECTION] = ir_text.encode()
    sections.update(package_sections(images, store))
    write_container(path, KIND, sections)


def read_mxq_info(path: str | os.PathLike[str]) -> MxqInfo:
    """Read manifest and text of an `.mxq` without its programs; raises INVALID_SNAPSHOT when it is damaged."""
    container = read_container(path, KIND)
    manifest = read_manifest(container.section(MANIFEST_SECTION))
    text = bytes(container.sections.get(IR_SECTION, b"")).decode("utf-8", "replace")
    return MxqInfo(container, manifest, text)
