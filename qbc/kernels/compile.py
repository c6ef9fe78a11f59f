"""How loops are compiled: numba, without fast-math, without the GIL, cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt

Array = npt.NDArray[Any]
Scalar = Any  # an int outside of compiled code, a machine integer inside
Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a loop on its first call (one machine-code version for each combination of array types).

    Division follows numpy (no exceptions), so loops vectorize. The cache lies beside the source or in the user's cache
    folder; where neither can be written the loop is compiled again in each process.
    """
    import numba  # takes a third of a second, and only family modules come here

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    compiler: Any = numba.njit
    compiled: Function
    try:
        compiled = compiler(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable cache folder
        compiled = compiler(**options)(function)
    return compiled
