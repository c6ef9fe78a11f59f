"""`mblt-fold-batch-norm`: batch normalization becomes part of the layer before it, or a product and a sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.common.access import number
from qbc.dialects.mblt import AddOp, BatchNormOp, Conv2dOp, LinearOp, MulOp, TransposeConv2dOp, shape_of
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.layers import scaled_layer
from qbc.passes.mblt.matching import made_by, new_constant, read_float64, replace_group, sweep

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array


@dataclass(frozen=True)
class FoldBatchNormPass(FunctionPass):
    """Fold `mblt.batch_norm` into the conv2d, transpose_conv2d or linear whose only user it is; computed in float64.

    ```mlir
    %1 = mblt.conv2d %0 {weight = W, bias = B, ...} : tensor<1x8x8x3xf32> -> tensor<1x8x8x16xf32>
    %2 = mblt.batch_norm %1 {scale = g, bias = b, mean = m, variance = v, epsilon = e}
    ```
    becomes, with `f = g / sqrt(v + e)`,
    ```mlir
    %2 = mblt.conv2d %0 {weight = W * f, bias = (B - m) * f + b, ...}
    ```
    A batch norm that stays alone becomes `x * f + (b - m * f)` with constants of shape [1, ..., C].
    """

    name = "mblt-fold-batch-norm"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FoldBatchNorm(ctx)])
        sweep(op, ctx)


@dataclass
class _FoldBatchNorm(RewritePattern):
    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter) -> None:
        factor, offset = self._affine(op)
        source = op.operands[0]
        layer = made_by(source, Conv2dOp, TransposeConv2dOp, LinearOp)
        if layer is not None and single_user(source) is op:
            replace_group(rewriter, op, scaled_layer(self.ctx, layer, factor, offset), [layer])
            self.ctx.count("folded")
            return
        shape = [1] * (len(shape_of(source)) - 1) + [-1]
        factor_op = new_constant(self.ctx, factor.reshape(shape))
        offset_op = new_constant(self.ctx, offset.reshape(shape))
        scaled = MulOp.of(source, factor_op)
        replace_group(rewriter, op, [factor_op, offset_op, scaled, AddOp.of(scaled, offset_op)], [])
        self.ctx.count("split")

    def _affine(self, op: BatchNormOp) -> tuple[Float64Array, Float64Array]:
        """Return `f` and `b - m * f`."""
        import numpy as np

        scale, bias, mean, variance = (read_float64(self.ctx, op, n) for n in ("scale", "bias", "mean", "variance"))
        factor = scale / np.sqrt(variance + number(op, "epsilon"))
        return factor, bias - mean * factor
