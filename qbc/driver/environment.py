"""What variables of the environment mean."""

from __future__ import annotations

import os

PARSER_PREFIX = "MBLT_HL_PARSER_"

# Shown in the documentation of the commands.
VARIABLES = {
    "QBCOMPILER_JSONL": "1, true, yes or on: JSON lines on stdout (next section)",
    "QBCOMPILER_PROVENANCE": "0: nothing is hashed, files record no provenance",
    "QBCOMPILER_PRESETS": "directories of presets, separated as in PATH",
    "QBC_TRACEBACK": "1: a defect (INTERNAL_ERROR) ends with its traceback",
    f"{PARSER_PREFIX}*": "settings of the parser of older releases: without effect, a notice names those that are set",
}

# Settings of the parser of older releases, and what holds in their place.
_PARSER_SETTINGS = {
    "RANDOM_SEED": "nothing is drawn at random",
    "NUM_WORK": "parsing runs in one process",
    "FORCE_NP_SUPPORTED_TYPES": "bfloat16 always becomes float32",
    "TRANSFORM_SKIP_ON_ERROR": "errors are never skipped",
    "DYNAMIC": "open dimensions stay open until they are bound",
}


def ignored_settings() -> str | None:
    """Return a notice that names the variables of the parser that are set, None where none is."""
    names = sorted(name for name in os.environ if name.startswith(PARSER_PREFIX))
    if not names:
        return None
    return f"no effect in this version: {', '.join(map(_with_reason, names))}"


def _with_reason(name: str) -> str:
    reason = _PARSER_SETTINGS.get(name.removeprefix(PARSER_PREFIX).upper())
    return f"{name} ({reason})" if reason else name
