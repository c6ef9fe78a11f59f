"""How the package compiles its loops: numba, without fast-math, without the GIL, cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a loop on its first call (one machine-code version for each combination of array types).

    Division follows numpy (no exceptions), so loops vectorize. The cache lies beside the source or in the user's cache
    folder; where neither can be written the loop is compiled again in each process.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable cache folder
        compiled = numba.njit(**options)(function)
    return compiled


def inline(function: Function) -> Function:
    """Compile a scalar helper that is expanded into the loops that call it."""
    compiled: Function = numba.njit(inline="always", error_model="numpy")(function)
    return compiled


def int64_array(values: Any) -> Array:
    """Return a C-contiguous int64 copy."""
    return np.array(values, dtype=np.int64, order="C")
