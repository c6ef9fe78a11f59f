"""Checking the arrays that a caller feeds to a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.errors import QBCompilerError

Array = npt.NDArray[Any]


def ordered_inputs(names: Sequence[str], shapes: Sequence[tuple[int, ...]], inputs: Mapping[str, Array]) -> list[Array]:
    """Return the inputs in the order of the arguments; a negative number in a shape accepts any size.

    Raises INVALID_INPUT for a missing input and for one whose shape does not fit.
    """
    arrays = []
    for name, shape in zip(names, shapes, strict=True):
        if name not in inputs:
            listed = ", ".join(names)
            raise QBCompilerError(f"no value for input {name!r}", code="INVALID_INPUT", hint=f"the inputs are {listed}")
        array = np.asarray(inputs[name])
        fits = array.ndim == len(shape) and all(w < 0 or w == g for w, g in zip(shape, array.shape, strict=True))
        if not fits:
            wanted = ", ".join(str(size) if size >= 0 else "?" for size in shape)
            raise QBCompilerError(
                f"input {name!r} has shape {list(array.shape)}, expected [{wanted}]", code="INVALID_INPUT"
            )
        arrays.append(array)
    return arrays
