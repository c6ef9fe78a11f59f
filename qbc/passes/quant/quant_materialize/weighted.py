"""Convolution and linear: weight codes, B, one multiplier and shift for each output channel, overflow proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from qbc.dialects import quant
from qbc.dialects.quant.base import int_attr
from qbc.passes.base import source_names
from qbc.passes.quant.quant_materialize.workspace import Encoding, Result, Rule, Workspace, kept, shape_of

INPUT_LIMITS = {"i8": 128, "i16": 32768}
PLANE_LIMIT = 128
_RAISES = 64


@dataclass
class ChannelConstants:
    """Integers of the output channels: codes, B, and the largest possible |accumulator|."""

    scales: Any  # float32 [OC]
    codes: Any  # int8, axis 0 is the output channel
    bias: Any  # int64 [OC], includes -zx * sum(codes)
    bound: Any  # int64 [OC], |B| + limit * sum|codes|
    raised: int = 0  # channels whose scale had to grow


def channel_constants(weight: Any, bias: Any, given_scales: Any, x: Encoding) -> ChannelConstants:
    """Choose codes and B for every channel.

    `bias_q = hu(bias / (Sx*Sw))`, `B = bias_q - zx * sum w`. A channel whose scale is so small that B does not fit
    31 bits (47 for 16-bit inputs) gets a larger scale, at least |bias| / (Sx * 2^30): its weights are tiny beside
    its bias.
    """
    import numpy as np

    from qbc.algorithms.fixed_point import LONG_BOUND, SHORT_BOUND, weight_codes, weight_scales

    scales = weight_scales(weight) if given_scales is None else np.array(given_scales, dtype=np.float32)
    limit = LONG_BOUND if x.storage == "i8" else SHORT_BOUND
    result = _constants_at(scales, weight_codes(weight, scales), bias, x)
    raised: set[int] = set()
    for _ in range(_RAISES):
        failing = np.flatnonzero(result.bound >= limit)
        failing = failing[np.abs(bias[failing]) > 0]
        if not failing.size:
            break
        floor = np.abs(bias[failing]) / (x.scale * 2.0**30)
        scales = scales.copy()
        scales[failing] = np.maximum(2.0 * scales[failing].astype(np.float64), floor).astype(np.float32)
        raised.update(int(channel) for channel in failing)
        result = _constants_at(scales, weight_codes(weight, scales), bias, x)
    result.raised = len(raised)
    return result


def _constants_at(scales: Any, codes: Any, bias: Any, x: Encoding) -> ChannelConstants:
    import numpy as np

    from qbc.algorithms.fixed_point import half_up_quotients

    flat = codes.reshape(codes.shape[0], -1).astype(np.int64)
    grid = scales.astype(np.float64) * x.scale  # exact: two float32 numbers
    reachable = np.clip(bias, -grid * 2.0**60, grid * 2.0**60)
    total = half_up_quotients(reachable, grid) - x.zero_point * flat.sum(axis=1)
    bound = np.abs(total) + INPUT_LIMITS[x.storage] * np.abs(flat).sum(axis=1)
    return ChannelConstants(scales, codes, total, bound)


def weighted(workspace: Workspace, op: Operation) -> Result:
    """Materialize a convolution or linear operation."""
    import numpy as np

    x = workspace.encoding(op.operands[0])
    weight = workspace.read(op, "weight")
    bias = np.zeros(weight.shape[0], dtype=np.float64)
    for name in ("bias", "bias_delta"):
        part = workspace.read(op, name)
        if part is not None:
            bias = bias + part.astype(np.float64)
    _check_finite(workspace, op, weight, bias)
    constants = channel_constants(weight, bias, workspace.read(op, "weight_scale"), x)
    if constants.raised:
        workspace.raised_channels[", ".join(source_names(op)) or op.name] = constants.raised
    multiplier, shift = _multipliers(workspace, op, constants, x)
    properties: dict[str, Attribute] = {
        **kept(op, "strides", "padding", "dilations", "groups"),
        "zx": int_attr(x.zero_point),
        **workspace.result_range(op),
        "plane": StringAttr("full"),
        "weight": workspace.write(np.ascontiguousarray(constants.codes)),
        "bias": workspace.write(constants.bias),
        "multiplier": workspace.write(multiplier),
        "shift": workspace.write(shift),
    }
    return Result(properties)


def _check_finite(workspace: Workspace, op: Operation, weight: Any, bias: Any) -> None:
    import numpy as np

    for what, data in (("weight", weight), ("bias", bias)):
        bad = np.argwhere(~np.isfinite(data))
        if bad.size:
            raise workspace.error(op, f"has a {what} that is not finite in output channel {int(bad[0][0])}")


def _multipliers(workspace: Workspace, op: Operation, constants: ChannelConstants, x: Encoding) -> tuple[Any, Any]:
    """Return (multiplier, shift) of all channels after the overflow proof of each."""
    import numpy as np

    from qbc.algorithms.fixed_point import LONG, LONG_BOUND, SHORT, SHORT_BOUND, channel_multipliers

    weights = np.abs(constants.codes.reshape(constants.codes.shape[0], -1).astype(np.int64)).sum(axis=1)
    limit = LONG_BOUND if x.storage == "i8" else SHORT_BOUND
    plane = PLANE_LIMIT * weights
    failing = np.flatnonzero((constants.bound >= limit) | (plane >= LONG_BOUND))
    if failing.size:
        channel = int(failing[0])
        raise workspace.error(
            op,
            f"output channel {channel}: the sum can reach {max(int(constants.bound[channel]), int(plane[channel]))}, "
            f"the accumulator holds {limit.bit_length() - 1} bits",
            "Split the layer, or make its bias smaller.",
        )
    widths = np.where(constants.bound < LONG_BOUND, LONG, SHORT)
    short = int((widths == SHORT).sum())
    if short:
        workspace.ctx.count("short channels", short)
    return channel_multipliers(x.scale, constants.scales, workspace.scales_of_result(op), widths)


def matmul(workspace: Workspace, op: Operation) -> Result:
    """Materialize a product of two activations; the bound of the accumulator chooses the multiplier's width."""
    a, b = (workspace.encoding(value) for value in op.operands)
    y = workspace.encoding(op.results[0])
    inner = shape_of(op.operands[0])[-1]
    ratio = a.exact * b.exact / y.exact
    return Result(
        {
            "za": int_attr(a.zero_point),
            "zb": int_attr(b.zero_point),
            "transpose_b": op.properties["transpose_b"],
            **workspace.rescale(op, ratio, a.bound * b.bound * inner),
            **workspace.result_range(op),
        }
    )


RULES: dict[type[Operation], Rule] = {
    quant.Conv2dOp: weighted,
    quant.TransposeConv2dOp: weighted,
    quant.LinearOp: weighted,
    quant.MatmulOp: matmul,
}

__all__ = ["RULES", "ChannelConstants", "channel_constants"]
