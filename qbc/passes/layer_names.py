"""Lists of layers in options: names of source nodes, or globs over them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from qbc.errors import ArgumentError


def matching_names(patterns: Sequence[str], names: Iterable[str], option: str) -> set[str]:
    """Return the names that are listed or match a glob; a pattern without any match is ARGUMENT_ERROR."""
    known = list(dict.fromkeys(names))
    found: set[str] = set()
    for pattern in patterns:
        matches = [pattern] if pattern in known else [name for name in known if fnmatchcase(name, pattern)]
        if not matches:
            raise _unmatched(pattern, known, option)
        found.update(matches)
    return found


def _unmatched(pattern: str, known: Sequence[str], option: str) -> ArgumentError:
    near = difflib.get_close_matches(pattern, known, n=3, cutoff=0.4)
    what = "matches no layer" if any(mark in pattern for mark in "*?[") else "is the name of no layer"
    return ArgumentError(
        f"{option}: {pattern!r} {what}",
        hint=f"Nearest names: {', '.join(near)}." if near else "`info --layers` lists the names",
    )
