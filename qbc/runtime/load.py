"""Reading an `.mxq`: its programs by mode and variant, and simulators on demand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from qbc.errors import QBCompilerError
from qbc.program import DebugRow, Program, debug_section, decode_debug, decode_program
from qbc.program.sections import PROGRAM_PREFIX
from qbc.runtime.simulator import Simulator
from qbc.store import BlobStore, adopt_blobs, read_container


@dataclass(frozen=True)
class LoadedModel:
    """An opened `.mxq`: programs and debug maps by (mode, variant), and the constants."""

    path: str
    programs: Mapping[tuple[str, int], Program]
    debug: Mapping[tuple[str, int], tuple[DebugRow, ...]]
    store: BlobStore

    @property
    def modes(self) -> tuple[str, ...]:
        """Core modes that the file holds programs for."""
        return tuple(sorted({mode for mode, _ in self.programs}))

    @property
    def variants(self) -> int:
        """Number of variants (input sizes)."""
        return len({variant for _, variant in self.programs})

    def program(self, mode: str = "single", variant: int = 0) -> Program:
        """Return one program; raises RUNTIME_ERROR when the file has none for that mode and variant."""
        found = self.programs.get((mode, variant))
        if found is None:
            held = ", ".join(f"{name} {number}" for name, number in sorted(self.programs))
            raise QBCompilerError(
                f"{self.path!r} has no program for mode {mode!r}, variant {variant}; it has: {held}",
                code="RUNTIME_ERROR",
            )
        return found

    def simulator(self, mode: str = "single", variant: int = 0, *, threads: int = 1) -> Simulator:
        """Return a simulator of one program."""
        return Simulator(self.program(mode, variant), self.store, threads=threads)


def open_model(path: str | os.PathLike[str], *, verify: bool = True) -> LoadedModel:
    """Read and check an `.mxq`; raises INVALID_SNAPSHOT for damaged files. Needs no IR section."""
    container = read_container(path, "MXQ", verify=verify)
    store = BlobStore()
    adopt_blobs(container, store, verify=verify)
    programs: dict[tuple[str, int], Program] = {}
    debug: dict[tuple[str, int], tuple[DebugRow, ...]] = {}
    for name, section in container.sections.items():
        if not name.startswith(PROGRAM_PREFIX):
            continue
        program = decode_program(section)
        key = (program.mode, program.variant)
        programs[key] = program
        rows = container.sections.get(debug_section(*key))
        debug[key] = decode_debug(rows) if rows is not None else ()
    if not programs:
        raise QBCompilerError(f"{str(path)!r} holds no program", code="INVALID_SNAPSHOT")
    return LoadedModel(str(path), programs, debug, store)


def load(path: str | os.PathLike[str], *, mode: str = "single", variant: int = 0, threads: int = 1) -> Simulator:
    """Open an `.mxq` and return the simulator of one of its programs."""
    return open_model(path).simulator(mode, variant, threads=threads)
