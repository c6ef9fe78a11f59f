"""The one error type that reaches users, and the registry of its codes.

Every layer raises `QBCompilerError` (or a subclass) for a mistake that a user can mend. The CLI prints
`ERROR [CODE]: message`, `qbc-opt` prints `error[CODE]: message`; a traceback for a user's mistake is our bug.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ErrorCode:
    """A documented error: what it means and what a user does about it."""

    code: str
    summary: str
    remedy: str


MISSING_BLOB_HINT = "the weights of NAME.mlir are in the directory NAME.blobs beside it"  # qbc-opt knows one place more

_CODES = (
    ErrorCode(
        "ARGUMENT_ERROR",
        "An argument or flag is wrong or missing.",
        "Read the message; `--help` lists the accepted values.",
    ),
    ErrorCode(
        "CONFIG_ERROR",
        "A configuration file or field is not valid.",
        "Fix the named key; `dump-config` writes a complete valid file.",
    ),
    ErrorCode(
        "INVALID_MODEL",
        "The source model cannot be read or is not a valid model.",
        "Check the file with its own framework, export it again.",
    ),
    ErrorCode(
        "UNSUPPORTED_OPSET",
        "The model uses a newer operator set than the framework dialect (25).",
        "Export the model with opset 25 or lower.",
    ),
    ErrorCode(
        "MISSING_EXTERNAL_DATA",
        "A weight file that the model refers to is missing or too short.",
        "Put the external data file beside the model.",
    ),
    ErrorCode(
        "SHAPE_ERROR",
        "A shape is unknown, dynamic where it must be fixed, or does not fit.",
        "Bind dimensions with --input-shape NAME=1x3x224x224.",
    ),
    ErrorCode(
        "UNSUPPORTED_OP",
        "Operators have no form on the target.",
        "The message lists all of them; change the model or keep those parts on the host.",
    ),
    ErrorCode(
        "UNSUPPORTED_FEATURE",
        "A documented option is not available in this version.",
        "Leave the option at its default.",
    ),
    ErrorCode(
        "NO_CALIBRATION_DATA",
        "No calibration dataset is provided.",
        "Pass --calib-data-path DIR, or --use-random-calib for a smoke test.",
    ),
    ErrorCode(
        "INVALID_CALIBRATION_DATA",
        "A calibration sample cannot be read or does not fit the model input.",
        "The message names the file, what was expected and what was found.",
    ),
    ErrorCode(
        "INVALID_INPUT",
        "An input given to run or infer does not fit the model.",
        "The message shows the expected and the found shape and dtype.",
    ),
    ErrorCode(
        "INVALID_SNAPSHOT",
        "A .mblt or .mxq file is damaged or not one of ours.",
        "Build the file again from its source.",
    ),
    ErrorCode(
        "UNSUPPORTED_VERSION",
        "A snapshot was written by a newer version.",
        "Install a newer qbcompiler, or build the file again.",
    ),
    ErrorCode(
        "OUTPUT_WRITE_ERROR", "An output file cannot be written.", "Check the directory, permissions and free space."
    ),
    ErrorCode(
        "TARGET_ERROR",
        "The target device is unknown or does not allow what was asked.",
        "`qbcompiler target show NAME` prints what a device can do.",
    ),
    ErrorCode(
        "QUANTIZATION_ERROR",
        "A value cannot be quantized as asked.",
        "The message names the value and the bound that fails.",
    ),
    ErrorCode(
        "RESOURCE_ERROR",
        "A memory plan or limit of the target does not hold.",
        "The message shows the buffers alive at the peak.",
    ),
    ErrorCode(
        "PIPELINE_ERROR",
        "A pass pipeline text is not valid.",
        "The message points at the place; --list-passes shows names and options.",
    ),
    ErrorCode("PARSE_ERROR", "IR text cannot be parsed.", "The message shows file, line and column."),
    ErrorCode("VERIFY_ERROR", "IR breaks a rule of its dialect.", "The message shows the operation and the rule."),
    ErrorCode(
        "MISSING_BLOB",
        "IR refers to bytes that are not in the store.",
        "Bring the directory NAME.blobs beside NAME.mlir, or use the snapshot that holds the weights; qbc-opt reads "
        "another directory with --blobs DIR.",
    ),
    ErrorCode(
        "RUNTIME_ERROR",
        "A program cannot be loaded or run in the asked form.",
        "The message names the documented runtime status.",
    ),
    ErrorCode(
        "EXTENSION_ERROR",
        "A pass, dialect, target or frontend of another package fails.",
        "Mend or remove the package that the message names.",
    ),
    ErrorCode("INTERRUPTED", "The run was interrupted.", "Start it again; no partial output was left."),
    ErrorCode("INTERNAL_ERROR", "A defect of qbcompiler.", "Please report it with the message and the model."),
)
ERROR_CODES: dict[str, ErrorCode] = {entry.code: entry for entry in _CODES}


_LONG_WORD = re.compile(r"\S{301,}")


def shortened(text: str) -> str:
    """Return a text in which names, paths and numbers are cut to a readable length."""
    return _LONG_WORD.sub(lambda match: f"{match[0][:200]}...{match[0][-60:]}", text)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 input`, `2 inputs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class QBCompilerError(Exception):
    """An error with a documented code, the source node it concerns, and what to do.

    `node` is the name of the node in the user's model (or None); `hint` is one sentence that starts with a verb.
    """

    default_code = "INTERNAL_ERROR"

    def __init__(
        self, message: str, *, code: str | None = None, node: str | None = None, hint: str | None = None
    ) -> None:
        self.code = code or self.default_code
        if self.code not in ERROR_CODES:
            raise AssertionError(f"undocumented error code {self.code!r}")
        self.message = shortened(message)
        self.node = node if node is None else shortened(node)
        self.hint = hint
        self.operation: Any = None  # the operation of the IR, where the one who raises knows it
        self.pass_name: str | None = None  # the pass that ran, set by the pass manager
        super().__init__(self.describe())

    def describe(self) -> str:
        """Return the message with node and hint, without the code."""
        where = f" [node {self.node!r}]" if self.node else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.message}{where}{hint}"


class ArgumentError(QBCompilerError, ValueError):
    """A wrong argument; also a ValueError, because documented calls promise that."""

    default_code = "ARGUMENT_ERROR"


class OptionError(ArgumentError):
    """A wrong value of a pass option; a driver that knows which setting the option came from names that instead."""

    def __init__(self, option: str, reason: str, *, code: str | None = None, hint: str | None = None) -> None:
        self.option = option
        self.reason = reason
        super().__init__(f"{option}: {reason}", code=code, hint=hint)

    def of_setting(self, setting: str) -> OptionError:
        """Return the error with the name of the setting in place of the option."""
        named = OptionError(setting, self.reason, code=self.code, hint=self.hint)
        named.operation, named.pass_name = self.operation, self.pass_name
        return named


class ConfigError(QBCompilerError, ValueError):
    """A wrong key or value of a configuration; also a ValueError, as for arguments."""

    default_code = "CONFIG_ERROR"


def file_error(error: OSError) -> QBCompilerError:
    """Return the error of a file that the operating system refuses, where nobody nearer has said it better."""
    name = str(error.filename)[:200] if error.filename is not None else "a file"
    return ArgumentError(f"cannot access {name!r}: {error.strerror or error}")
