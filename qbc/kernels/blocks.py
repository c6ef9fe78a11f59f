"""Blocks of output channels: one core's share of a convolution or a linear layer.

A call with the attribute `channels = (begin, end)` has the constants, inputs and output of the whole operation and
computes only the output channels begin..end-1; the other channels of the output stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qbc.kernels.checks import CallChecks
from qbc.kernels.compile import Array
from qbc.kernels.spec import KernelCall, TensorSpec

CHANNELS = "channels"
BLOCK_KINDS = ("conv2d", "depthwise_conv2d", "transpose_conv2d", "linear")
_PER_CHANNEL = ("weight", "bias", "multiplier", "shift")


def prepare_block(call: KernelCall, prepare: Callable[[KernelCall], Callable[..., None]]) -> Callable[..., None]:
    """Return the kernel of a block; raises INVALID_SNAPSHOT for a block that does not fit.

    With groups, a block consists of whole groups and reads only their input channels. `prepare` makes the kernel of
    the smaller operation.
    """
    checks = CallChecks(call)
    checks.require(call.kind in BLOCK_KINDS and bool(call.output.shape), "has no blocks of output channels")
    total = call.output.shape[-1]
    begin, end = checks.integers(CHANNELS, 2, 0, total)
    checks.require(begin < end, f"the block {begin}..{end} is empty")
    groups = _block_groups(checks, begin, end)
    first, last = _input_channels(checks, begin, end)
    x, *others = call.inputs
    checks.require(all(spec.shape == call.output.shape for spec in others), "an operand differs from the output")
    attributes = {name: value for name, value in call.attributes.items() if name != CHANNELS}
    if groups is not None:
        attributes["groups"] = groups
    block = replace(
        call,
        inputs=(_narrow(x, last - first), *(_narrow(spec, end - begin) for spec in others)),
        output=_narrow(call.output, end - begin),
        attributes=attributes,
        constants={name: _rows(checks, name, array, begin, end) for name, array in call.constants.items()},
    )
    kernel = prepare(block)

    def run(*arrays: Array) -> None:
        x_array, *rest, out = arrays
        result = np.empty(block.output.shape, out.dtype)
        inputs = [np.ascontiguousarray(array[..., begin:end]) for array in rest]
        kernel(np.ascontiguousarray(x_array[..., first:last]), *inputs, result)
        out[..., begin:end] = result

    return run


def _block_groups(checks: CallChecks, begin: int, end: int) -> int | None:
    """Return the number of groups of the block, None where the operation has no groups."""
    if "groups" not in checks.call.attributes:
        return None
    groups = checks.integer("groups", 1, 1 << 20)
    total = checks.call.output.shape[-1]
    if groups == 1:
        return 1
    checks.require(total % groups == 0, f"{groups} groups do not divide {total} channels")
    outputs = total // groups
    checks.require(begin % outputs == 0 and end % outputs == 0, f"the block {begin}..{end} splits a group")
    return (end - begin) // outputs


def _input_channels(checks: CallChecks, begin: int, end: int) -> tuple[int, int]:
    """Return the range of input channels that the block reads."""
    checks.require(bool(checks.call.inputs) and bool(checks.call.inputs[0].shape), "lacks its input")
    channels = checks.call.inputs[0].shape[-1]
    groups = checks.integer("groups", 1, 1 << 20, 1)
    if groups == 1:
        return 0, channels
    checks.require(channels % groups == 0, f"{groups} groups do not divide {channels} channels")
    outputs, inputs = checks.call.output.shape[-1] // groups, channels // groups
    return begin // outputs * inputs, end // outputs * inputs


def _narrow(spec: TensorSpec, channels: int) -> TensorSpec:
    return replace(spec, shape=(*spec.shape[:-1], channels))


def _rows(checks: CallChecks, name: str, array: Array, begin: int, end: int) -> Array:
    if name not in _PER_CHANNEL:
        return array
    total = checks.call.output.shape[-1]
    checks.require(array.ndim > 0 and array.shape[0] == total, f"constant {name!r} does not have {total} channels")
    return array[begin:end]
