"""Least time of a command, from the decoded program and three numbers of the machine alone.

Written without `qbc.report`, so that the estimate can be compared with it: multiply-accumulates that meet a real
element over the peak rate of one core, and bytes that cross the external memory over its sustained bandwidth.
"""

from __future__ import annotations

from math import prod

import numpy as np

from qbc.program import Command, Program

STORED_BYTES = {"i8": 1, "i16": 2, "i32": 4, "f32": 4}


def mac_count(command: Command, program: Program) -> int:
    """Multiply-accumulates of a command whose operands both exist (padding does not count)."""
    if "weight" not in command.constants:
        return prod(command.output.shape) * command.inputs[0].shape[-1] if command.kind == "matmul" else 0
    weight = program.blobs[command.constants["weight"]].shape
    if command.kind == "linear":
        return prod(command.inputs[0].shape) * weight[0]
    if command.kind == "transpose_conv2d":
        return prod(command.inputs[0].shape[:3]) * prod(weight)
    return command.output.shape[0] * _window_hits(command, weight) * weight[0] * weight[3]


def _window_hits(command: Command, weight: tuple[int, ...]) -> int:
    """Pairs of output position and tap that lie on the map."""
    hits = []
    for axis in range(2):
        extent, outputs = command.inputs[0].shape[1 + axis], command.output.shape[1 + axis]
        stride, dilation = (command.attributes[name][axis] for name in ("strides", "dilations"))
        position = np.arange(outputs)[:, None] * stride + np.arange(weight[1 + axis]) * dilation
        position = position - command.attributes["padding"][axis]
        hits.append(int(((position >= 0) & (position < extent)).sum()))
    return hits[0] * hits[1]


def external_bytes(command: Command, program: Program) -> int:
    """Bytes of operands and constants outside of the chip."""
    operands = [operand for operand in (*command.inputs, command.output) if operand.space != "l2"]
    constants = [program.blobs[index] for index in command.constants.values()]
    return sum(prod(operand.shape) * STORED_BYTES[operand.dtype] for operand in operands) + sum(
        prod(blob.shape) * np.dtype(blob.dtype).itemsize for blob in constants
    )


def least_seconds(command: Command, program: Program, macs_per_second: float, bytes_per_second: float) -> float:
    """Time below which no estimate of the command may lie."""
    return max(
        mac_count(command, program) / macs_per_second,
        external_bytes(command, program) / bytes_per_second,
    )
