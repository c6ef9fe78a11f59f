"""Names of the sections of an `.mxq` that hold programs: one pair per core mode and variant."""

from __future__ import annotations

PROGRAM_PREFIX = "program."
DEBUG_PREFIX = "debug."


def program_section(mode: str, variant: int) -> str:
    """Return the section of the packed program of a mode and variant, for example `program.single.0`."""
    return f"{PROGRAM_PREFIX}{mode}.{variant}"


def debug_section(mode: str, variant: int) -> str:
    """Return the section of the map from records to source nodes."""
    return f"{DEBUG_PREFIX}{mode}.{variant}"
