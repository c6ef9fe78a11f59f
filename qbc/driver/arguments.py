"""Parsing of argument values that several commands share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qbc.errors import ArgumentError

_DIMS = re.compile(r"\d+(?:[x,]\d+)*")


def parse_input_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Parse `NAME=1x3x224x224` texts (commas may separate too); raises ArgumentError for anything else."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, dims = text.rpartition("=")  # names may hold "=" themselves
        if not name or not _DIMS.fullmatch(dims):
            raise ArgumentError(f"--input-shape {text!r} is not of the form NAME=1x3x224x224")
        shape = tuple(int(part) for part in re.split("[x,]", dims))
        if 0 in shape:
            raise ArgumentError(f"--input-shape {text!r} has a dimension of 0")
        if name in shapes and shapes[name] != shape:
            raise ArgumentError(f"--input-shape names input {name!r} twice")
        shapes[name] = shape
    return shapes
