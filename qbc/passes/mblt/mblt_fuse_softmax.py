"""`mblt-fuse-softmax`: softmax and log-softmax written out become one op, with the scale of their input."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.common.access import flag, integer, integers, number
from qbc.dialects.mblt import (
    ClipOp,
    DivOp,
    ExpOp,
    LogOp,
    LogSoftmaxOp,
    MatmulOp,
    MaximumOp,
    MulOp,
    ReciprocalOp,
    ReduceMaxOp,
    ReduceSumOp,
    ReshapeOp,
    SoftmaxOp,
    SubOp,
    TransposeOp,
    shape_of,
)
from qbc.passes.base import CompileContext, FunctionPass, fuse_locations, rewrite, single_user
from qbc.passes.mblt.matching import (
    has_activation,
    inner_values_stay_inside,
    made_by,
    replace_group,
    scalar,
    sweep,
)

SMALLEST = 2.0**-126  # one over a smaller factor may be no float32


@dataclass(frozen=True)
class FuseSoftmaxPass(FunctionPass):
    """Replace `exp(x) / sum(exp(x))` along one axis, with or without `x - max(x)`, and `x - log(sum(exp(x)))`.

    ```mlir
    %1 = mblt.exp %x : tensor<4x8xf32> -> tensor<4x8xf32>
    %2 = mblt.reduce_sum %1 {axes = [1], keep_dims = true} : tensor<4x8xf32> -> tensor<4x1xf32>
    %3 = mblt.div %1, %2 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %3 = mblt.softmax %x {axis = 1, beta = 1.0 : f32} : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
    A positive constant that multiplies the input of a softmax, or an operand of the matmul before it, becomes its
    `beta`; reshapes and transposes may lie between.
    """

    name = "mblt-fuse-softmax"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseSoftmax(ctx), _FuseLogSoftmax(ctx), _FuseBeta(ctx)])
        sweep(op, ctx)


def _reduced_axis(op: Operation | None) -> int | None:
    """Return the axis of a reduction over one axis that keeps it, else None."""
    if op is None or not flag(op, "keep_dims") or len(integers(op, "axes")) != 1:
        return None
    return integers(op, "axes")[0] % len(shape_of(op.operands[0]))


def _without_maximum(value: SSAValue, axis: int) -> tuple[SSAValue, list[Operation]]:
    """Return x and the ops of `x - max(x)` along `axis`; any other value is its own x."""
    difference = made_by(value, SubOp)
    if difference is None:
        return value, []
    x, subtrahend = difference.operands
    bound = made_by(subtrahend, MaximumOp, ClipOp)  # a bound on the maximum changes nothing either
    maximum = next((op for op in map(_maximum, bound.operands if bound else [subtrahend]) if op is not None), None)
    if maximum is None or maximum.operands[0] is not x or _reduced_axis(maximum) != axis:
        return value, []
    if shape_of(subtrahend)[axis] != 1:
        return value, []
    return x, [maximum, *([bound] if bound else []), difference]


def _maximum(value: SSAValue) -> Operation | None:
    return made_by(value, ReduceMaxOp)


@dataclass
class _FuseSoftmax(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, DivOp | MulOp) or has_activation(op):
            return
        pairs = [op.operands] if isinstance(op, DivOp) else [op.operands, op.operands[::-1]]
        for numerator, denominator in pairs:
            inverse = made_by(denominator, ReciprocalOp) if isinstance(op, MulOp) else None
            if isinstance(op, MulOp) and inverse is None:
                continue
            total = made_by(inverse.operands[0] if inverse is not None else denominator, ReduceSumOp)
            exponential = made_by(numerator, ExpOp)
            axis = _reduced_axis(total)
            if total is None or exponential is None or axis is None or total.operands[0] is not numerator:
                continue
            x, shift = _without_maximum(exponential.operands[0], axis)
            group = [*shift, exponential, total, *([inverse] if inverse is not None else []), op]
            if x.type == op.results[0].type and inner_values_stay_inside(group):
                replace_group(rewriter, op, SoftmaxOp.of(x, axis=axis), group)
                self.ctx.count("fused")
            return


@dataclass
class _FuseLogSoftmax(RewritePattern):
    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubOp, rewriter: PatternRewriter) -> None:
        if has_activation(op):
            return
        value, subtrahend = op.operands
        logarithm = made_by(subtrahend, LogOp)
        total = None if logarithm is None else made_by(logarithm.operands[0], ReduceSumOp)
        exponential = None if total is None else made_by(total.operands[0], ExpOp)
        axis = _reduced_axis(total)
        if logarithm is None or total is None or exponential is None or axis is None:
            return
        if exponential.operands[0] is not value:
            return
        x, shift = _without_maximum(value, axis)
        group = [*shift, exponential, total, logarithm, op]
        if x.type == op.results[0].type and inner_values_stay_inside(group):
            replace_group(rewriter, op, LogSoftmaxOp.of(x, axis=axis), group)
            self.ctx.count("fused")


@dataclass
class _FuseBeta(RewritePattern):
    """A positive constant that multiplies the input, or an operand of the matmul that makes it, becomes `beta`."""

    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SoftmaxOp, rewriter: PatternRewriter) -> None:
        source = op.operands[0]
        product = made_by(source, MatmulOp)
        starts: list[tuple[SSAValue, Operation]] = [(source, op)]
        if product is not None and single_user(source) is op:
            starts += [(operand, product) for operand in product.operands]
        found = next((scale for scale in (self._scale(*start) for start in starts) if scale is not None), None)
        if found is None:
            return
        scale, x, factor = found
        beta = number(op, "beta", 1.0) * factor
        names = fuse_locations([scale, op])
        rewriter.replace(scale, [], [x])
        scaled = SoftmaxOp.of(op.operands[0], axis=integer(op, "axis"), beta=beta, location=names)
        rewriter.replace(op, scaled)
        self.ctx.count("scaled")

    def _scale(self, value: SSAValue, user: Operation) -> tuple[Operation, SSAValue, float] | None:
        """Return the op that scales what `user` reads, what it scales, and the factor; only moves may lie between."""
        move = made_by(value, ReshapeOp, TransposeOp)
        while move is not None and single_user(value) is user:
            value, user = move.operands[0], move
            move = made_by(value, ReshapeOp, TransposeOp)
        scale = made_by(value, MulOp, DivOp)
        if scale is None or single_user(value) is not user:
            return None
        left, right = scale.operands
        x, factor = left, scalar(self.ctx, right)
        if factor is None and isinstance(scale, MulOp):
            x, factor = right, scalar(self.ctx, left)
        if factor is None or factor < SMALLEST or x.type != value.type:
            return None
        return scale, x, factor if isinstance(scale, MulOp) else 1 / factor
