"""`mblt-fuse-layer-norm`: layer normalization written out becomes one op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.mblt import AddOp, DivOp, LayerNormOp, MulOp, SubOp, TransposeOp, shape_of
from qbc.passes.base import CompileContext, FunctionPass, rewrite
from qbc.passes.mblt.matching import (
    blob,
    constant_along,
    has_activation,
    inner_values_stay_inside,
    made_by,
    replace_group,
    sweep,
    trailing_axes,
)
from qbc.passes.mblt.statistics import Statistic, centered_of, deviation_of, mean_of

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array


@dataclass(frozen=True)
class FuseLayerNormPass(FunctionPass):
    """Replace `(x - mean(x)) / sqrt(variance(x) + epsilon)`, with or without a scale inside.

    ```mlir
    %1 = mblt.reduce_mean %x {axes = [2], keep_dims = true} : ...
    %2 = mblt.sub %x, %1 : ...
    %3 = mblt.square %2 : ...                                        // or pow 2, or a product
    %4 = mblt.reduce_mean %3 {axes = [2], keep_dims = true} : ...
    %5 = mblt.add %4, %epsilon : ...
    %6 = mblt.sqrt %5 : ...
    %7 = mblt.div %2, %6 : ...                                       // or times rsqrt, or times a reciprocal
    ```
    becomes
    ```mlir
    %7 = mblt.layer_norm %x {normalized_rank = 1, epsilon = ...} : ...
    ```
    The second form is `x * f + (beta - mean(x) * f)` with `f = gamma / sqrt(variance + epsilon)`. The variance may be
    `mean(x^2) - mean(x)^2`, which the op records as `variance = "moments"`; a mean may be a sum times a constant.
    Statistics over one axis that is not the last get a transpose around the layer_norm. Scale and bias that follow are
    folded in by `mblt-fold-norm-affine`.
    """

    name = "mblt-fuse-layer-norm"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseQuotient(ctx), _FuseFactored(ctx)])
        sweep(op, ctx)


def _factor_of(ctx: CompileContext, value: SSAValue) -> tuple[Statistic, Float64Array | None] | None:
    """Read one over the deviation, or `gamma` over the deviation."""
    plain = deviation_of(ctx, value, inverse=True)
    if plain is not None:
        return plain, None
    product = made_by(value, MulOp)
    if product is None:
        return None
    for inner, constant in (product.operands, product.operands[::-1]):
        found = deviation_of(ctx, inner, inverse=True)
        gamma = None if found is None else constant_along(ctx, constant, found.x, found.axes)
        if found is not None and gamma is not None:
            return found.then(product), gamma
    return None


def _norm_ops(
    ctx: CompileContext, found: Statistic, gamma: Float64Array | None, beta: Float64Array | None
) -> list[Operation] | None:
    """Return the layer_norm over the axes of a statistic; None when these are several inner or unknown ones."""
    if any(shape_of(found.x)[axis] < 0 for axis in found.axes):
        return None
    scale = None if gamma is None else blob(ctx, gamma)
    bias = None if beta is None else blob(ctx, beta)
    variance = "moments" if found.from_moments else None

    def norm(x: SSAValue | Operation, count: int) -> Operation:
        return LayerNormOp.of(
            x, normalized_rank=count, epsilon=found.epsilon, scale=scale, bias=bias, variance=variance
        )

    rank = len(shape_of(found.x))
    trailing = trailing_axes(rank, found.axes)
    if trailing is not None:
        return [norm(found.x, trailing)]
    if len(found.axes) != 1:
        return None
    axis = found.axes[0]
    order = [place for place in range(rank) if place != axis] + [axis]
    moved = TransposeOp.of(found.x, permutation=order)
    normalized = norm(moved, 1)
    return [moved, normalized, TransposeOp.of(normalized, permutation=[order.index(place) for place in range(rank)])]


def _replace(
    ctx: CompileContext, rewriter: PatternRewriter, new_ops: list[Operation] | None, group: Sequence[Operation]
) -> bool:
    """Replace the last op of `group`, if the group stands alone."""
    if new_ops is None:
        return False
    if new_ops[-1].results[0].type != group[-1].results[0].type or not inner_values_stay_inside(group):
        for op in reversed(new_ops):
            op.erase()  # it stands nowhere, but would stay a user of x
        return False
    replace_group(rewriter, group[-1], new_ops, group)
    ctx.count("fused")
    return True


@dataclass
class _FuseQuotient(RewritePattern):
    """`(x - mean) / deviation` and `(x - mean) * (gamma / deviation)`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, DivOp | MulOp) or has_activation(op):
            return
        pairs = [op.operands] if isinstance(op, DivOp) else [op.operands, op.operands[::-1]]
        for numerator, divisor in pairs:
            centered = centered_of(self.ctx, numerator)
            factor = self._factor(op, divisor) if centered is not None else None
            if centered is None or factor is None:
                continue
            deviation, gamma = factor
            if centered.x is not deviation.x or centered.axes != deviation.axes:
                continue
            group = list(dict.fromkeys([*centered.ops, *deviation.ops, op]))
            if _replace(self.ctx, rewriter, _norm_ops(self.ctx, deviation, gamma, None), group):
                return

    def _factor(self, op: Operation, divisor: SSAValue) -> tuple[Statistic, Float64Array | None] | None:
        if isinstance(op, MulOp):
            return _factor_of(self.ctx, divisor)
        deviation = deviation_of(self.ctx, divisor, inverse=False)
        return None if deviation is None else (deviation, None)


@dataclass
class _FuseFactored(RewritePattern):
    """`x * f + (beta - mean(x) * f)`, where `f` is one or gamma over the deviation."""

    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if has_activation(op):
            return
        for left, right in (op.operands, op.operands[::-1]):
            if self._fuse(op, left, right, rewriter):
                return

    def _fuse(self, op: AddOp, left: SSAValue, right: SSAValue, rewriter: PatternRewriter) -> bool:
        scaled, shift = made_by(left, MulOp), made_by(right, SubOp)
        scaled_mean = None if shift is None else made_by(shift.operands[1], MulOp)
        if scaled is None or shift is None or scaled_mean is None:
            return False
        factor = next((value for value in scaled.operands if value in scaled_mean.operands), None)
        found = None if factor is None else _factor_of(self.ctx, factor)
        if factor is None or found is None:
            return False
        deviation, gamma = found
        mean = mean_of(self.ctx, _other(scaled_mean, factor))
        beta = constant_along(self.ctx, shift.operands[0], deviation.x, deviation.axes)
        if mean is None or beta is None or _other(scaled, factor) is not deviation.x:
            return False
        if mean.x is not deviation.x or mean.axes != deviation.axes:
            return False
        group = list(dict.fromkeys([*mean.ops, *deviation.ops, scaled, scaled_mean, shift, op]))
        return _replace(self.ctx, rewriter, _norm_ops(self.ctx, deviation, gamma, beta), group)


def _other(op: Operation, value: SSAValue) -> SSAValue:
    return op.operands[1] if op.operands[0] is value else op.operands[0]
