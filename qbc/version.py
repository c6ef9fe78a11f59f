"""The version of this package, whatever else of its name is installed."""

from __future__ import annotations

PACKAGE = "qbcompiler"
OWN_COMMAND = "qbc-opt"  # an entry point that no other package of this name has
ABSENT = "absent"


def own_version() -> str:
    """Return the version of this package, `absent` where it runs from a directory without being installed.

    The first package called qbcompiler on the path may be another one, so the one with our commands is looked for.
    """
    from importlib.metadata import distributions

    for found in distributions(name=PACKAGE):
        if any(point.name == OWN_COMMAND for point in found.entry_points):
            return found.version
    return ABSENT
