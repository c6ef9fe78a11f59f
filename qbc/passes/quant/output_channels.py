"""Which channels of a graph output must share a scale, and what ranges they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant.base import text
from qbc.passes.base import CompileContext, array_of, pass_error, source_names
from qbc.passes.quant.channel_layout import ChannelClasses, channel_links
from qbc.passes.quant.graph_outputs import is_made_here, is_probability
from qbc.passes.quant.kept_statistics import CHANNEL_EXTREMES
from qbc.passes.quant.legality import activation_bounds, tied_values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.algorithms.output_ranges import ChannelRanges

    F64 = npt.NDArray[np.float64]


def channel_classes(values: list[SSAValue]) -> tuple[ChannelClasses, str | None]:
    """Return which channels must share a scale, and the first reason for putting all of a value together."""
    classes = ChannelClasses(values)
    reason = None
    for value in values:
        if not is_made_here(value):
            continue
        own = _why_one_scale(value)
        if own is not None:
            classes.join(value)
            reason = reason or own
    for op in dict.fromkeys(value.owner for value in values if not is_made_here(value)):
        assert isinstance(op, Operation)
        links = channel_links(op)
        if links is not None:
            for link in links:
                classes.link(*link)
            continue
        reason = reason or f"{described(op)} mixes its channels"
        classes.join(*tied_values(op))
    return classes, reason


def _why_one_scale(value: SSAValue) -> str | None:
    """Return why the operation that makes a value has one scale for all channels, or None where it can have more."""
    op = value.owner
    if not isinstance(op, quant.WeightedOp):
        return f"{described(op)} has one scale" if isinstance(op, Operation) else "it is a graph input"
    if any(bound not in (None, 0.0) for bound in activation_bounds(op)):
        return f"{described(op)} clamps all channels at one value"
    return None


def class_ranges(
    channels: Mapping[SSAValue, list[int]], count: int, margin: float, ctx: CompileContext
) -> ChannelRanges:
    """Return what the codes of each class of channels must cover."""
    import numpy as np

    from qbc.algorithms.output_ranges import ChannelRanges, widened_ranges

    low, high, seen = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
    certain = np.ones(count, bool)  # probabilities: 0..1, whatever the data
    for value in channels:
        if not is_made_here(value):
            continue
        own = _extremes(value, ctx)
        at = channels[value]
        np.minimum.at(low, at, own[0])
        np.maximum.at(high, at, own[1])
        np.add.at(seen, at, own[2])
        certain[at] &= is_probability(value.owner)
    wide = widened_ranges(low, high, seen, margin)
    return ChannelRanges(np.where(certain, 0.0, wide.low), np.where(certain, 1.0, wide.high))


def _extremes(value: SSAValue, ctx: CompileContext) -> F64:
    """Return [3, C]: smallest and largest value of each channel in the calibration data, and the number of values."""
    import numpy as np

    from qbc.algorithms.output_ranges import ChannelExtremes

    op = value.owner
    assert isinstance(op, Operation)
    clamps = []
    while isinstance(op, quant.RequantizeOp) and CHANNEL_EXTREMES not in op.attributes:
        clamps.append(activation_bounds(op))
        op = op.operands[0].owner
        assert isinstance(op, Operation)
    if isinstance(op, quant.ConstantOp):
        constant = ChannelExtremes()
        constant.add(array_of(ctx, op.properties["value"]))
        extremes = constant.to_array()
    elif CHANNEL_EXTREMES not in op.attributes:
        raise pass_error(op, "has no extremes of channels", hint="run quant-collect before quant-output-scales")
    else:
        extremes = array_of(ctx, op.attributes[CHANNEL_EXTREMES]).astype(np.float64)
        clamps.append(activation_bounds(op))
    for low, high in reversed(clamps):
        bounds = (-np.inf if low is None else low, np.inf if high is None else high)
        extremes = np.stack([*np.clip(extremes[:2], *bounds), extremes[2]])
    return extremes


def described(op: Operation) -> str:
    """Return kind and source node of an operation, as notices name it."""
    names = ", ".join(source_names(op))
    kind = text(op, "function") or op.name.partition(".")[2]
    return f"{kind} {names!r}" if names else kind
