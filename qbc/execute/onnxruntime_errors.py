"""What onnxruntime raises: exception classes that have no common base but Exception."""

from __future__ import annotations

from functools import cache


@cache
def onnxruntime_errors() -> tuple[type[Exception], ...]:
    """Return the exception classes of a model that onnxruntime does not accept, or cannot run."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    names = ("Fail", "InvalidArgument", "InvalidGraph", "NotImplemented", "RuntimeException", "InvalidProtobuf")
    return (RuntimeError, ValueError, *(getattr(state, name) for name in names if hasattr(state, name)))
