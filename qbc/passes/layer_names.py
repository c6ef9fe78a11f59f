"""Lists of layers in options: names of source nodes, or globs over them."""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Sequence
from fnmatch import fnmatchcase

from qbc.errors import OptionError


def matching_names(patterns: Sequence[str], names: Iterable[str], option: str) -> set[str]:
    """Return the names that are listed or match a glob; a pattern without any match is OptionError.

    The name of a fused layer as lists and reports show it (`conv + relu` or `conv, relu`) stands for its parts.
    """
    known = dict.fromkeys(names)
    found: set[str] = set()
    for pattern in patterns:
        matches = [pattern] if pattern in known else [name for name in known if fnmatchcase(name, pattern)]
        matches = matches or _parts(pattern, known)
        if not matches:
            raise _unmatched(pattern, list(known), option)
        found.update(matches)
    return found


def _parts(pattern: str, known: Container[str]) -> list[str]:
    """Return the names in the name of a fused layer, if all of them are known."""
    for separator in (" + ", ", "):
        parts = pattern.split(separator)
        if len(parts) > 1 and all(part in known for part in parts):
            return parts
    return []


def _unmatched(pattern: str, known: Sequence[str], option: str) -> OptionError:
    near = difflib.get_close_matches(pattern, known, n=3, cutoff=0.4)
    what = "matches no layer" if any(mark in pattern for mark in "*?[") else "is the name of no layer"
    return OptionError(
        option,
        f"{pattern!r} {what}",
        hint=f"Nearest names: {', '.join(near)}." if near else "`info --layers` lists the names",
    )
