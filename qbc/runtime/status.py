"""Documented runtime status codes as exceptions."""

from __future__ import annotations

from enum import IntEnum

from qbc.errors import QBCompilerError


class Status(IntEnum):
    """Status numbers that existing scripts compare with."""

    OK = 0
    MODEL_FAILED_TO_LOAD_MXQ = 3
    MODEL_MXQ_AND_MODEL_CONFIG_NOT_MATCH = 16
    MODEL_BROKEN_MXQ = 20
    MODEL_SHAPE_MISMATCHED = 21
    MODEL_DTYPE_MISMATCHED = 22
    MODEL_IS_NOT_SUPPORTED_HARDWARE = 48


_NAMES = {
    Status.MODEL_FAILED_TO_LOAD_MXQ: "Model_FailedToLoadMXQ",
    Status.MODEL_MXQ_AND_MODEL_CONFIG_NOT_MATCH: "Model_MXQAndModelConfigNotMatch",
    Status.MODEL_BROKEN_MXQ: "Model_BrokenMXQ",
    Status.MODEL_SHAPE_MISMATCHED: "Model_ShapeMismatched",
    Status.MODEL_DTYPE_MISMATCHED: "Model_DtypeMismatched",
    Status.MODEL_IS_NOT_SUPPORTED_HARDWARE: "Model_IsNotSupportedHardware",
}


class RuntimeStatusError(QBCompilerError):
    """An error with a documented runtime status: `status` is its number, `status_name` its name."""

    default_code = "RUNTIME_ERROR"

    def __init__(
        self, status: Status, message: str, *, code: str | None = None, node: str | None = None, hint: str | None = None
    ) -> None:
        self.status = int(status)
        self.status_name = _NAMES.get(status, status.name)
        super().__init__(f"{self.status_name} ({self.status}): {message}", code=code, node=node, hint=hint)


def shape_mismatch(message: str, *, hint: str | None = None) -> RuntimeStatusError:
    """Return the error of an input whose shape does not fit."""
    return RuntimeStatusError(Status.MODEL_SHAPE_MISMATCHED, message, code="INVALID_INPUT", hint=hint)


def dtype_mismatch(message: str, *, hint: str | None = None) -> RuntimeStatusError:
    """Return the error of an input whose dtype does not fit."""
    return RuntimeStatusError(Status.MODEL_DTYPE_MISMATCHED, message, code="INVALID_INPUT", hint=hint)
