"""Compiled files: opening, layouts, summaries, devices."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from qbc.argument_types import path_of
from qbc.errors import ArgumentError, QBCompilerError

if TYPE_CHECKING:
    from qbc.program import Command, HostTensor, Program
    from qbc.runtime import LoadedModel

_CHANNEL_LAST_KINDS = (
    *("conv2d", "depthwise_conv2d", "transpose_conv2d", "linear"),
    *("max_pool2d", "avg_pool2d", "resize_nearest", "resize_linear"),
)


class LogLevel(Enum):
    """How much the runtime reports."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"
    FATAL = "fatal"
    OFF = "off"


def get_model_summary(mxq_path: str | Path) -> str:
    """Return the programs of a file as text: target, mode, variant, inputs, outputs, commands."""
    path = path_of("mxq_path", mxq_path)
    lines = [path.name]
    for (mode, variant), program in open_file(path).package.programs.items():
        lines.append(f"  {program.target}, core mode {mode}, variant {variant}: {len(program.commands)} commands")
        for what, tensors in (("input", program.inputs), ("output", program.outputs)):
            for tensor in tensors:
                lines.append(f"    {what} {tensor.name!r} {list(user_shape(tensor))} {_encoding_text(tensor)}")
    return "\n".join(lines)


def _encoding_text(tensor: HostTensor) -> str:
    scales = tensor.channel_scales
    scale = f"scales {min(scales):.9g} to {max(scales):.9g} by channel" if scales else f"scale {tensor.scale:.9g}"
    return f"{tensor.operand.dtype}, {scale}, zero point {tensor.zero_point}"


def get_available_devices() -> list[str]:
    """Return the names of the devices that can be simulated."""
    from qbc.targets import target_names

    return list(target_names())


def set_log_level(level: LogLevel | str) -> None:
    """Set how much the runtime reports; unknown levels are an error."""
    import logging

    name = level.value if isinstance(level, LogLevel) else str(level).lower()
    if name not in {known.value for known in LogLevel}:
        choices = ", ".join(known.value for known in LogLevel)
        raise ArgumentError(f"unknown log level {level!r}", hint=f"choose one of {choices}")
    numbers = {"warn": logging.WARNING, "fatal": logging.CRITICAL, "off": logging.CRITICAL + 1}
    logging.getLogger("qbcompiler.runtime").setLevel(numbers.get(name) or name.upper())


def open_file(path: Path) -> LoadedModel:
    """Open a file with the documented status of what fails."""
    from qbc.runtime import RuntimeStatusError, Status, open_model

    try:
        return open_model(path)
    except QBCompilerError as error:
        broken = error.code in ("INVALID_SNAPSHOT", "UNSUPPORTED_VERSION")
        status = Status.MODEL_BROKEN_MXQ if broken else Status.MODEL_FAILED_TO_LOAD_MXQ
        raise RuntimeStatusError(status, error.message, code=error.code, hint=error.hint) from None


def with_layouts(program: Program) -> Program:
    """Let images of a channel-last model be given as CHW too: rank 4 values get the layout pair HWC / CHW.

    A program that computes nothing along channels last (a convolution, pooling, resize or linear layer of rank 4) may
    hold values in any order of axes, and keeps them in the only one it has.
    """
    if any(tensor.source_layout for tensor in program.inputs) or not any(map(_is_channel_last, program.commands)):
        return program
    inputs = tuple(_with_layout(tensor) for tensor in program.inputs)
    return replace(program, inputs=inputs, outputs=tuple(_with_layout(tensor) for tensor in program.outputs))


def _is_channel_last(command: Command) -> bool:
    return command.kind in _CHANNEL_LAST_KINDS and len(command.output.shape) == 4


def _with_layout(tensor: HostTensor) -> HostTensor:
    return replace(tensor, source_layout="nchw") if len(tensor.operand.shape) == 4 else tensor


def user_shape(tensor: HostTensor) -> tuple[int, ...]:
    """Return the shape of a tensor without its batch axis of 1."""
    shape = tensor.operand.shape
    return shape[1:] if shape[:1] == (1,) and len(shape) > 1 else shape
