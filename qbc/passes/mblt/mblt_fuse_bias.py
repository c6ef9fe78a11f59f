"""`mblt-fuse-bias`: constants that are added to or multiplied with the output of a layer become its bias and weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qbc.dialects.mblt import AddOp, Conv2dOp, DivOp, LinearOp, MulOp, SubOp, TransposeConv2dOp, shape_of
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.layers import scaled_layer
from qbc.passes.mblt.matching import (
    channel_vector,
    channels_of,
    invertible,
    made_by,
    replace_group,
    split_constant,
    sweep,
)

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array

ARITHMETIC = (AddOp, SubOp, MulOp, DivOp)
ACTIVATION = ("activation", "activation_min", "activation_max")


@dataclass(frozen=True)
class FuseBiasPass(FunctionPass):
    """Fold add, sub, mul and div by per-channel (or scalar) constants into the layer before, whose only user they are.

    ```mlir
    %1 = mblt.linear %0 {weight = W} : tensor<1x8xf32> -> tensor<1x4xf32>
    %c = mblt.constant {value = b : tensor<1x4xf32>} : tensor<1x4xf32>
    %2 = mblt.add %1, %c {activation = "relu"} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    ```
    becomes
    ```mlir
    %2 = mblt.linear %0 {weight = W, bias = b, activation = "relu"} : tensor<1x8xf32> -> tensor<1x4xf32>
    ```
    """

    name = "mblt-fuse-bias"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseBias(ctx)])
        sweep(op, ctx)


@dataclass
class _FuseBias(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ARITHMETIC):
            return
        split = split_constant(self.ctx, op)
        if split is None:
            return
        source, constant = split
        layer = made_by(source, Conv2dOp, TransposeConv2dOp, LinearOp)
        if layer is None or single_user(source) is not op or shape_of(source) != shape_of(op.results[0]):
            return
        vector = channel_vector(self.ctx, constant, channels_of(source))
        affine = None if vector is None else _affine(op, vector, constant_first=op.operands[0] is constant)
        if affine is None:
            return
        activation = {name: op.properties[name] for name in ACTIVATION if name in op.properties}
        fused = scaled_layer(self.ctx, layer, *affine, activation)
        replace_group(rewriter, op, fused, [layer])
        self.ctx.count("fused")


def _affine(
    op: Operation, vector: Float64Array, *, constant_first: bool
) -> tuple[Float64Array | None, Float64Array | None] | None:
    """Return (factor, offset) of an arithmetic op with a constant; None for `c / x` and divisions by (almost) zero."""
    import numpy as np

    if isinstance(op, AddOp):
        return None, vector
    if isinstance(op, MulOp):
        return vector, None
    if isinstance(op, SubOp):
        return (np.full_like(vector, -1.0), vector) if constant_first else (None, -vector)
    if constant_first or not invertible(vector):
        return None
    return 1.0 / vector, None
