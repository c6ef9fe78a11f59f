"""Opening an `.mxq` for running: its programs by mode and variant, and simulators on demand."""

from __future__ import annotations

import os
from dataclasses import dataclass

from qbc.errors import QBCompilerError
from qbc.modes import SINGLE
from qbc.program import DebugRow, Package, Program, read_package
from qbc.runtime.notices import Notice, log_notice
from qbc.runtime.simulator import Simulator


@dataclass(frozen=True)
class LoadedModel:
    """An opened `.mxq`."""

    path: str
    package: Package

    @property
    def variants(self) -> int:
        """Number of variants (input sizes)."""
        return len({variant for _, variant in self.package.programs})

    @property
    def default_mode(self) -> str:
        """Core mode taken where none is named: single where the file has it, else its first one."""
        return SINGLE if SINGLE in self.package.modes else self.package.modes[0]

    def program(self, mode: str | None = None, variant: int = 0) -> Program:
        """Return one program; raises RUNTIME_ERROR when the file has none for that mode and variant."""
        mode = mode or self.default_mode
        found = self.package.programs.get((mode, variant))
        if found is None:
            held = ", ".join(f"{name} {number}" for name, number in sorted(self.package.programs))
            raise QBCompilerError(
                f"{self.path!r} has no program for mode {mode!r}, variant {variant}; it has: {held}",
                code="RUNTIME_ERROR",
            )
        return found

    def debug(self, mode: str | None = None, variant: int = 0) -> tuple[DebugRow, ...]:
        """Return operation and source nodes of each debug id of a program; empty when the file has no map."""
        return self.package.debug.get((mode or self.default_mode, variant), ())

    def simulator(
        self, mode: str | None = None, variant: int = 0, *, threads: int = 1, notice: Notice = log_notice
    ) -> Simulator:
        """Return a simulator of one program."""
        return Simulator(self.program(mode, variant), self.package.store, threads=threads, notice=notice)


def open_model(path: str | os.PathLike[str]) -> LoadedModel:
    """Read and check an `.mxq`; raises INVALID_SNAPSHOT for damaged files. Needs no IR section."""
    return LoadedModel(os.fspath(path), read_package(path))


def load(
    path: str | os.PathLike[str],
    *,
    mode: str | None = None,
    variant: int = 0,
    threads: int = 1,
    notice: Notice = log_notice,
) -> Simulator:
    """Open an `.mxq` and return the simulator of one of its programs (of core mode single, where none is named)."""
    return open_model(path).simulator(mode, variant, threads=threads, notice=notice)
