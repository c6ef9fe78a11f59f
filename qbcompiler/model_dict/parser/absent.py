"""Functions of frontends that this version does not have: they can be imported, a call says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from qbc.errors import QBCompilerError


def absent(name: str, what: str) -> Callable[..., Any]:
    """Return a function of this name that raises UNSUPPORTED_FEATURE: `what` is not available."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise QBCompilerError(
            f"{name}: {what} is not available in this version",
            code="UNSUPPORTED_FEATURE",
            hint="export the model to ONNX, with shapes of fixed size",
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raise UNSUPPORTED_FEATURE: {what} is not available in this version."
    return refuse
