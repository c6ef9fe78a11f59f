"""What other packages add: passes, dialects, targets and frontends, found by their entry points.

A distribution names an object of its own under one of four groups (docs/extending.md). The table of entry points is
read when a name is not one of this package, or when a list is asked for, and no module of another package is imported
before one of its names is used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from qbc.errors import QBCompilerError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS: Mapping[str, str] = {
    "pass": "qbcompiler.passes",
    "dialect": "qbcompiler.dialects",
    "target": "qbcompiler.targets",
    "frontend": "qbcompiler.frontends",
}


@dataclass(frozen=True)
class Extension:
    """One entry point of another package: its kind (a key of GROUPS), its name, and the distribution it comes from."""

    kind: str
    name: str
    distribution: str
    point: EntryPoint

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.distribution}"

    def load(self) -> Any:
        """Return the object that the entry point names; EXTENSION_ERROR when its module cannot be imported."""
        with self.guarded("cannot be loaded"):
            return self.point.load()

    @contextmanager
    def guarded(self, what: str = "failed", *, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Run code of the extension: whatever it raises, `sys.exit` included, is EXTENSION_ERROR with the cause.

        Errors of this package and the exceptions of `passing` pass, and so do interrupts and the end of a process whose
        output nobody reads.
        """
        try:
            yield
        except QBCompilerError:
            raise
        except Exception as error:  # code of another package may fail in any way
            if isinstance(error, passing):
                raise
            raise self.error(f"{what}: {cause_text(error)}") from error
        except SystemExit as error:
            if type(error) is not SystemExit:
                raise
            raise self.error(f"{what}: {cause_text(error)}") from error

    def error(self, what: str) -> QBCompilerError:
        """Return the error of this extension; `what` completes the sentence that begins with it."""
        return QBCompilerError(f"{self} {what}", code="EXTENSION_ERROR", hint=f"mend or remove {self.distribution}")


def extensions(kind: str) -> tuple[Extension, ...]:
    """Return all extensions of a kind, sorted by name."""
    return _all(tuple(sys.path)).get(kind, ())


def extension_names(kind: str) -> tuple[str, ...]:
    """Return the names of all extensions of a kind, sorted."""
    return tuple(dict.fromkeys(found.name for found in extensions(kind)))


def find_extension(kind: str, name: str) -> Extension | None:
    """Return the extension of a name, None where there is none; EXTENSION_ERROR when two packages offer the name."""
    found = [extension for extension in extensions(kind) if extension.name == name]
    if len(found) > 1:
        raise found[0].error(f"has the name of the {found[1]}")
    return found[0] if found else None


def exit_error(error: SystemExit) -> QBCompilerError:
    """Return the error of code that ended the process where no extension is known to run; raises what is no mere exit.

    No code of this package calls `sys.exit` in the middle of its work.
    """
    if type(error) is not SystemExit:
        raise error
    return QBCompilerError(
        f"code of another package ended the run: {cause_text(error)}",
        code="EXTENSION_ERROR",
        hint="remove the packages that extend qbcompiler; qbcompiler check lists them",
    )


def cause_text(error: BaseException) -> str:
    """Return type and first line of an exception of another package."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@cache
def _all(paths: tuple[str, ...]) -> dict[str, tuple[Extension, ...]]:
    """Return the extensions of each kind; `paths` are the directories of packages, which tests change."""
    found = {kind: sorted(_of_group(kind, group), key=_order) for kind, group in GROUPS.items()}
    return {kind: tuple(entries) for kind, entries in found.items()}


def _order(extension: Extension) -> tuple[str, str]:
    return extension.name, extension.distribution


def _of_group(kind: str, group: str) -> Iterator[Extension]:
    from importlib.metadata import entry_points

    try:
        points = entry_points(group=group)
    except (TypeError, ValueError) as error:  # a line without `=`, bytes that are no text
        raise QBCompilerError(
            f"the entry points of an installed package cannot be read: {cause_text(error)}",
            code="EXTENSION_ERROR",
            hint="install the package again",
        ) from error
    for point in points:
        yield Extension(kind, point.name, _distribution(point), point)


def _distribution(point: EntryPoint) -> str:
    if point.dist is None:
        return "an installed package"
    name = point.dist.metadata["Name"] or "a package without a name"
    return f"{name} {point.dist.version}" if point.dist.version else name
