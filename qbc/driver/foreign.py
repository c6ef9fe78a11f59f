"""What other packages add, each tried: what cannot be used is told before somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qbc.driver.context import OWN_DIALECTS, load_dialect
from qbc.errors import QBCompilerError
from qbc.extensions import GROUPS, Extension, extensions, find_extension
from qbc.pipelines.registry import is_own, load_pass


@dataclass(frozen=True)
class ForeignPart:
    """An extension, and why it cannot be used (None where it can)."""

    extension: Extension
    problem: str | None


def foreign_parts() -> list[ForeignPart]:
    """Return all extensions, loaded for a trial."""
    return [ForeignPart(extension, _problem(extension)) for kind in GROUPS for extension in extensions(kind)]


def _problem(extension: Extension) -> str | None:
    if _own_names()[extension.kind](extension.name):
        return f"{extension} is never used: that name is one of qbcompiler"
    try:
        find_extension(extension.kind, extension.name)
        _loaders()[extension.kind](extension)
    except QBCompilerError as error:
        return error.message
    return None


def _own_names() -> Mapping[str, Callable[[str], bool]]:
    from qbc.frontends.registry import OWN_FRONTENDS
    from qbc.targets import is_own_target

    return {
        "pass": is_own,
        "dialect": lambda name: name in (*OWN_DIALECTS, "builtin", "func"),
        "target": is_own_target,
        "frontend": lambda name: name in OWN_FRONTENDS,
    }


def _loaders() -> Mapping[str, Callable[[Extension], Any]]:
    from qbc.frontends.registry import load_frontend
    from qbc.targets import load_foreign_target

    return {"pass": load_pass, "dialect": load_dialect, "target": load_foreign_target, "frontend": load_frontend}
