"""Arithmetic on layers with weights (conv2d, transpose_conv2d, linear): scale and shift their output or input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation, SSAValue

from qbc.dialects.common.access import integer
from qbc.dialects.mblt import LinearOp, MbltOp, TransposeConv2dOp
from qbc.passes.base import CompileContext, array_of
from qbc.passes.mblt.matching import blob, read_float64, read_optional, with_properties

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array


def weight_of(ctx: CompileContext, layer: Operation) -> Float64Array:
    """Return the weight in float64, output channels first."""
    return read_float64(ctx, layer, "weight")


def scaled_layer(
    ctx: CompileContext,
    layer: Operation,
    factor: Float64Array | None,
    offset: Float64Array | None,
    others: Mapping[str, object] | None = None,
) -> MbltOp:
    """Return a copy of `layer` that computes `layer(x) * factor + offset`, both one number per output channel.

    `others` are further properties of the copy.
    """
    import numpy as np

    layer = cast("MbltOp", layer)
    bias = read_optional(ctx, layer, "bias")
    changes: dict[str, object] = {}
    if factor is not None:
        weight = array_of(ctx, layer.properties["weight"])
        scaled = np.empty(weight.shape, np.float32)
        per_channel = factor.reshape(-1, *[1] * (weight.ndim - 1))
        # Products in float64, rounded once; numpy does it in small blocks, without large temporaries.
        np.multiply(weight, per_channel, out=scaled, dtype=np.float64, casting="same_kind")
        scaled.setflags(write=False)  # so the store need not copy it
        changes["weight"] = blob(ctx, scaled)
        bias = None if bias is None else bias * factor
    if offset is not None:
        bias = offset if bias is None else bias + offset
    if bias is not None:
        changes["bias"] = blob(ctx, np.asarray(bias))
    return with_properties(layer, {**changes, **(others or {})})


def layer_of_affine(
    ctx: CompileContext, layer: Operation, source: SSAValue, factor: Float64Array | None, offset: Float64Array | None
) -> MbltOp:
    """Return a copy of `layer` on `source` that computes `layer(source * factor + offset)`, per input channel.

    An offset is exact only where no zero padding mixes in; the caller checks that.
    """
    layer = cast("MbltOp", layer)
    weight = weight_of(ctx, layer)
    bias = read_optional(ctx, layer, "bias")
    changes: dict[str, object] = {}
    groups = 1 if isinstance(layer, LinearOp) else integer(layer, "groups", 1)
    if offset is not None:
        added = _per_output(weight, offset, groups)
        changes["bias"] = blob(ctx, added if bias is None else bias + added)
    if factor is not None:
        changes["weight"] = blob(ctx, weight * _spread(weight, factor, groups))
    return with_properties(layer, changes, [source])


def _spread(weight: Float64Array, vector: Float64Array, groups: int) -> Float64Array:
    """Return a vector over input channels in the shape of the weight: output channel o sees those of its group."""
    out_channels, depth = weight.shape[0], weight.shape[-1]
    per_group = vector.reshape(groups, depth).repeat(out_channels // groups, axis=0)
    return per_group.reshape(out_channels, *[1] * (weight.ndim - 2), depth)


def _per_output(weight: Float64Array, vector: Float64Array, groups: int) -> Float64Array:
    """Return what a constant input vector adds to each output channel."""
    products = weight * _spread(weight, vector, groups)
    return cast("Float64Array", products.reshape(weight.shape[0], -1).sum(axis=1))


def offset_is_exact(layer: Operation) -> bool:
    """Whether every output of `layer` sees all its taps: a linear, or a convolution without padding."""
    if isinstance(layer, LinearOp):
        return True
    if isinstance(layer, TransposeConv2dOp):
        return False
    padding = cast("MbltOp", layer).ints("padding")
    return not any(padding)
