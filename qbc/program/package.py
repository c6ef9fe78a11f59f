"""The sections of an `.mxq` that run: one packed program and debug map per core mode and variant, and the blobs.

Section names: `program/MODE/VARIANT`, `debug/MODE/VARIANT`, `golden/MODE/VARIANT`, the blob sections, `manifest`, and
for people `ir`. A package without `ir` and `manifest` still runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from qbc.errors import QBCompilerError
from qbc.program.image import decode_program
from qbc.program.model import Program, invalid_program
from qbc.program.writer import DebugRow, ProgramImage, decode_debug
from qbc.store import BlobStore, Container, adopt_blobs, blob_sections, read_container
from qbc.store.container import Pieces

KIND = "MXQ"
PROGRAM = "program"
DEBUG = "debug"
GOLDEN = "golden"
ProgramKey = tuple[str, int]


@dataclass(frozen=True)
class Package:
    """An opened `.mxq`: programs and debug maps by (mode, variant), and the constants they name."""

    container: Container
    programs: Mapping[ProgramKey, Program]
    debug: Mapping[ProgramKey, tuple[DebugRow, ...]]
    store: BlobStore

    @property
    def modes(self) -> tuple[str, ...]:
        """The core modes this package holds, in file order."""
        return tuple(dict.fromkeys(mode for mode, _ in self.programs))


def package_sections(images: Mapping[ProgramKey, ProgramImage], store: BlobStore) -> dict[str, Pieces]:
    """Return the sections of an `.mxq` that run."""
    sections: dict[str, Pieces] = {}
    for (mode, variant), image in images.items():
        sections[f"{PROGRAM}/{mode}/{variant}"] = image.code
        sections[f"{DEBUG}/{mode}/{variant}"] = image.debug
    keys = {key for image in images.values() for key in image.blob_keys}
    return {**sections, **blob_sections(store, keys)}


def read_package(path: str | os.PathLike[str]) -> Package:
    """Open an `.mxq`; raises INVALID_SNAPSHOT when anything that runs is damaged or missing."""
    container = read_container(path, KIND)
    store = BlobStore()
    adopt_blobs(container, store)
    programs: dict[ProgramKey, Program] = {}
    debug: dict[ProgramKey, tuple[DebugRow, ...]] = {}
    for name, section in container.sections.items():
        if not name.startswith(f"{PROGRAM}/"):
            continue
        program = decode_program(section)
        key = (program.mode, program.variant)
        if name != f"{PROGRAM}/{key[0]}/{key[1]}":
            raise invalid_program(f"section {name!r} holds mode {key[0]!r}, variant {key[1]}")
        _check_blobs(program, store)
        programs[key] = program
        debug[key] = _debug_rows(container, key, program)
    if not programs:
        raise invalid_program("the file holds no program")
    return Package(container, programs, debug, store)


def _check_blobs(program: Program, store: BlobStore) -> None:
    for blob in program.blobs:
        try:
            store.get(blob.key, blob.dtype, blob.shape)
        except (QBCompilerError, TypeError, ValueError):
            raise invalid_program(f"blob {blob.key!r} of type {blob.dtype}{list(blob.shape)} is missing") from None


def _debug_rows(container: Container, key: ProgramKey, program: Program) -> tuple[DebugRow, ...]:
    section = container.sections.get(f"{DEBUG}/{key[0]}/{key[1]}")
    if section is None:
        return ()
    rows = decode_debug(section)
    if any(command.debug >= len(rows) for command in program.commands):
        raise invalid_program("a record has no row in the debug map")
    return rows
