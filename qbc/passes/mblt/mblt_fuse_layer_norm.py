"""`mblt-fuse-layer-norm`: layer normalization written out becomes one op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.access import flag, integers
from qbc.dialects.mblt import (
    AddOp,
    DivOp,
    LayerNormOp,
    MulOp,
    PowOp,
    ReciprocalOp,
    ReduceMeanOp,
    RsqrtOp,
    SqrtOp,
    SquareOp,
    SubOp,
    shape_of,
)
from qbc.passes.base import CompileContext, FunctionPass, rewrite
from qbc.passes.mblt.matching import (
    blob,
    has_activation,
    inner_values_stay_inside,
    made_by,
    replace_group,
    scalar,
    sweep,
    trailing_axes,
    trailing_constant,
)

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array


@dataclass(frozen=True)
class FuseLayerNormPass(FunctionPass):
    """Replace `(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon)` over trailing axes.

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
    The second form is `x * f + (beta - mean(x) * f)` with `f = gamma / sqrt(variance + epsilon)`. Scale and bias that
    follow the first form are folded in by `mblt-fold-norm-affine`.
    """

    name = "mblt-fuse-layer-norm"

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseQuotient(ctx), _FuseFactored(ctx)])
        sweep(op, ctx)


@dataclass(frozen=True)
class _Deviation:
    """`sqrt(mean((x - mean(x))^2) + epsilon)` or its inverse: over the last `rank` axes of x, and the ops."""

    x: SSAValue
    rank: int
    epsilon: float
    ops: tuple[Operation, ...]


def _mean_of(value: SSAValue, x: SSAValue | None = None) -> tuple[Operation, int] | None:
    """Return a mean over trailing axes that keeps them (of `x` if given), and how many."""
    mean = made_by(value, ReduceMeanOp)
    if mean is None or not flag(mean, "keep_dims") or (x is not None and mean.operands[0] is not x):
        return None
    rank = trailing_axes(len(shape_of(mean.operands[0])), integers(mean, "axes"))
    return None if rank is None else (mean, rank)


def _centered(value: SSAValue) -> tuple[SSAValue, int, list[Operation]] | None:
    """Return x, the number of trailing axes and the ops of `x - mean(x)`."""
    difference = made_by(value, SubOp)
    if difference is None:
        return None
    found = _mean_of(difference.operands[1], difference.operands[0])
    return None if found is None else (difference.operands[0], found[1], [found[0], difference])


def _squared(ctx: CompileContext, value: SSAValue) -> tuple[SSAValue, Operation] | None:
    """Return d and the op when `value` is d squared."""
    op = made_by(value, SquareOp, MulOp, PowOp)
    if op is None:
        return None
    if isinstance(op, SquareOp) or (isinstance(op, MulOp) and op.operands[0] is op.operands[1]):
        return op.operands[0], op
    is_square = isinstance(op, PowOp) and scalar(ctx, op.operands[1]) == 2.0
    return (op.operands[0], op) if is_square else None


def _variance(ctx: CompileContext, value: SSAValue) -> _Deviation | None:
    """Read `mean((x - mean(x))^2) + epsilon`."""
    total = made_by(value, AddOp)
    if total is None:
        return None
    for operand, constant in (total.operands, total.operands[::-1]):
        epsilon, outer = scalar(ctx, constant), _mean_of(operand)
        if epsilon is None or epsilon < 0 or outer is None:
            continue
        square = _squared(ctx, outer[0].operands[0])
        centered = None if square is None else _centered(square[0])
        if square is None or centered is None or centered[1] != outer[1]:
            continue
        return _Deviation(centered[0], centered[1], epsilon, (*centered[2], square[1], outer[0], total))
    return None


def _root(ctx: CompileContext, value: SSAValue, *, inverse: bool) -> _Deviation | None:
    """Read the square root of a variance, or one over it."""
    exponent = -0.5 if inverse else 0.5
    op = made_by(value, PowOp, RsqrtOp if inverse else SqrtOp)
    if op is not None and (not isinstance(op, PowOp) or scalar(ctx, op.operands[1]) == exponent):
        inner = _variance(ctx, op.operands[0])
        return None if inner is None else _with_op(inner, op)
    return _one_over_root(ctx, value) if inverse else None


def _one_over_root(ctx: CompileContext, value: SSAValue) -> _Deviation | None:
    op = made_by(value, ReciprocalOp, DivOp)
    if op is None or (isinstance(op, DivOp) and scalar(ctx, op.operands[0]) != 1.0):
        return None
    inner = _root(ctx, op.operands[-1], inverse=False)
    return None if inner is None else _with_op(inner, op)


def _with_op(deviation: _Deviation, op: Operation) -> _Deviation:
    return _Deviation(deviation.x, deviation.rank, deviation.epsilon, (*deviation.ops, op))


@dataclass
class _FuseQuotient(RewritePattern):
    """`(x - mean) / deviation` and `(x - mean) * (1 / deviation)`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, DivOp | MulOp) or has_activation(op):
            return
        pairs = [op.operands] if isinstance(op, DivOp) else [op.operands, op.operands[::-1]]
        for numerator, divisor in pairs:
            centered = _centered(numerator)
            deviation = _root(self.ctx, divisor, inverse=isinstance(op, MulOp)) if centered is not None else None
            if centered is None or deviation is None:
                continue
            if (centered[0], centered[1]) != (deviation.x, deviation.rank):
                continue
            group = list(dict.fromkeys([*centered[2], *deviation.ops, op]))
            if inner_values_stay_inside(group):
                replace_group(rewriter, op, _layer_norm(deviation), group)
                self.ctx.count("fused")
            return


@dataclass
class _FuseFactored(RewritePattern):
    """`x * f + (beta - mean(x) * f)`, where `f` is one over the deviation, times gamma or not."""

    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if has_activation(op):
            return
        for left, right in (op.operands, op.operands[::-1]):
            if self._fuse(op, left, right, rewriter):
                self.ctx.count("fused")
                return

    def _fuse(self, op: AddOp, left: SSAValue, right: SSAValue, rewriter: PatternRewriter) -> bool:
        scaled, shift = made_by(left, MulOp), made_by(right, SubOp)
        scaled_mean = None if shift is None else made_by(shift.operands[1], MulOp)
        if scaled is None or shift is None or scaled_mean is None:
            return False
        factor = next((value for value in scaled.operands if value in scaled_mean.operands), None)
        found = None if factor is None else self._factor(factor)
        if factor is None or found is None:
            return False
        deviation, gamma = found
        mean = _mean_of(_other(scaled_mean, factor), deviation.x)
        beta = trailing_constant(self.ctx, shift.operands[0], shape_of(deviation.x)[-deviation.rank :])
        if mean is None or mean[1] != deviation.rank or beta is None or _other(scaled, factor) is not deviation.x:
            return False
        group = list(dict.fromkeys([mean[0], *deviation.ops, scaled, scaled_mean, shift, op]))
        if not inner_values_stay_inside(group):
            return False
        scale = None if gamma is None else blob(self.ctx, gamma)
        replace_group(rewriter, op, _layer_norm(deviation, scale=scale, bias=blob(self.ctx, beta)), group)
        return True

    def _factor(self, value: SSAValue) -> tuple[_Deviation, Float64Array | None] | None:
        """Return the deviation and gamma of `gamma / deviation` (gamma None for one over the deviation)."""
        plain = _root(self.ctx, value, inverse=True)
        if plain is not None:
            return plain, None
        product = made_by(value, MulOp)
        if product is None:
            return None
        for inner, constant in (product.operands, product.operands[::-1]):
            deviation = _root(self.ctx, inner, inverse=True)
            if deviation is None:
                continue
            gamma = trailing_constant(self.ctx, constant, shape_of(deviation.x)[-deviation.rank :])
            return None if gamma is None else (_with_op(deviation, product), gamma)
        return None


def _layer_norm(deviation: _Deviation, scale: BlobAttr | None = None, bias: BlobAttr | None = None) -> LayerNormOp:
    return LayerNormOp.of(
        deviation.x, normalized_rank=deviation.rank, epsilon=deviation.epsilon, scale=scale, bias=bias
    )


def _other(op: Operation, value: SSAValue) -> SSAValue:
    return op.operands[1] if op.operands[0] is value else op.operands[0]
