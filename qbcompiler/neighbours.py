"""Another package of the same import name in the environment.

The vendor's compiler is called qbcompiler too, and `import qbcompiler` can mean only one of them. Packages are found by
the names of their directories, so that every import can afford to look.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from qbc.version import OWN_COMMAND, PACKAGE


class NeighbourWarning(UserWarning):
    """Another package of the same import name is installed in this environment."""


def conflict(paths: Sequence[str] | None = None) -> str | None:
    """Return what is wrong with the environment and what to do, None where this is the only package of its name.

    `paths` are the directories of packages, `sys.path` by default.
    """
    found = sorted(set(_foreign(sys.path if paths is None else paths)))
    if not found:
        return None
    return (
        f"another package named qbcompiler is installed here ({', '.join(found)}); it and this one (in "
        f"{os.path.dirname(__file__)}) share the import name, so each hides the other's modules: install them in "
        "separate environments"
    )


def _foreign(paths: Sequence[str]) -> Iterator[str]:
    """Yield version and place of every distribution of this name that is not this package."""
    for directory in paths:
        try:
            entries = os.listdir(directory) if directory else []
        except OSError:  # a path that does not exist, or an archive
            continue
        for entry in entries:
            name, kind = os.path.splitext(entry)
            project, _, version = name.partition("-")
            is_ours = project != PACKAGE or _is_own(os.path.join(directory, entry))
            if kind in (".dist-info", ".egg-info") and not is_ours:
                yield f"{version or 'without a version'} in {directory}"


def _is_own(metadata: str) -> bool:
    try:
        with open(os.path.join(metadata, "entry_points.txt"), encoding="utf-8") as lines:
            return any(line.startswith(OWN_COMMAND) for line in lines)
    except (OSError, UnicodeDecodeError):
        return False


def is_command() -> bool:
    """Return whether this process is the command line, which tells what is wrong in its own way."""
    started = sys.argv[0] if sys.argv else ""
    if started == "-m":  # Python is still looking for the module that it will run
        return any(argument.partition(".")[0] == "qbcompiler" for argument in sys.orig_argv)
    folder, name = os.path.split(started)
    return name in ("qbcompiler", "qbcompiler.exe") or (
        name == "__main__.py" and os.path.basename(folder) == "qbcompiler"
    )


def warn_of_conflict() -> None:
    """Give a Python warning about the environment; the command line gives a notice instead."""
    text = None if is_command() else conflict()
    if text is not None:
        import warnings

        warnings.warn(text, NeighbourWarning, stacklevel=3)
