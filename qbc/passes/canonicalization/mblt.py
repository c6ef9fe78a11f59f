"""Canonicalization of mblt ops: what changes nothing goes, two of a kind in a row become one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.common.access import integers
from qbc.dialects.common.shapes import OPEN_END
from qbc.dialects.mblt import (
    AddOp,
    CastOp,
    ClipOp,
    ConcatOp,
    DivOp,
    ExpandOp,
    MbltOp,
    MulOp,
    PadOp,
    PowOp,
    ReciprocalOp,
    ReluOp,
    ReshapeOp,
    RsqrtOp,
    SliceOp,
    SqrtOp,
    SquareOp,
    SubOp,
    TileOp,
    TransposeOp,
    shape_of,
)
from qbc.passes.base import CompileContext
from qbc.passes.mblt.matching import has_activation, is_float32, made_by, note_removed, replace_group, scalar
from qbc.passes.mblt.mblt_fuse_activation import compose, own_interval

__all__ = ["patterns"]


def patterns(ctx: CompileContext) -> list[RewritePattern]:
    """Return the patterns of the dialect."""
    return [RemoveNoOp(ctx), MergeTransposes(), MergeReshapes(), MergeSlices(), MergeClamps(), NamePowers(ctx)]


@dataclass
class RemoveNoOp(RewritePattern):
    """An op whose result is its operand: `x + 0`, `x * 1`, an identity transpose, a slice of everything, ..."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not op.operands or len(op.results) != 1 or op.operands[0].type != op.results[0].type:
            return
        if has_activation(op) or not self._changes_nothing(op):
            return
        note_removed(self.ctx, op, "it changes nothing")
        rewriter.replace(op, [], [op.operands[0]])

    def _changes_nothing(self, op: Operation) -> bool:
        match op:
            case ReshapeOp() | ExpandOp() | CastOp():
                return True
            case TransposeOp():
                permutation = integers(op, "permutation")
                return permutation == tuple(range(len(permutation)))
            case ConcatOp():
                return len(op.operands) == 1
            case SliceOp():
                shape = shape_of(op.operands[0])
                whole = all(size >= 0 or end >= OPEN_END for size, end in zip(shape, integers(op, "ends"), strict=True))
                return whole and set(integers(op, "steps")) <= {1} and not any(integers(op, "starts"))
            case PadOp():
                return not any(integers(op, "before")) and not any(integers(op, "after"))
            case TileOp():
                return set(integers(op, "repeats")) <= {1}
            case AddOp() | SubOp():
                return scalar(self.ctx, op.operands[1]) == 0.0
            case MulOp() | DivOp():
                return scalar(self.ctx, op.operands[1]) == 1.0
        return False


@dataclass
class MergeTransposes(RewritePattern):
    """`transpose(transpose(x, p), q)` is one transpose; the no-op pattern removes it when nothing is left."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        inner = made_by(op.operands[0], TransposeOp)
        if inner is None:
            return
        first, then = integers(inner, "permutation"), integers(op, "permutation")
        merged = TransposeOp.of(inner.operands[0], permutation=[first[axis] for axis in then])
        replace_group(rewriter, op, merged, [inner])


@dataclass
class MergeReshapes(RewritePattern):
    """`reshape(reshape(x))` is one reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        inner = made_by(op.operands[0], ReshapeOp)
        if inner is None:
            return
        merged = ReshapeOp.of(inner.operands[0], result_type=op.results[0].type)
        replace_group(rewriter, op, merged, [inner])


@dataclass
class MergeSlices(RewritePattern):
    """`slice(slice(x))` is one slice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter) -> None:
        inner = made_by(op.operands[0], SliceOp)
        if inner is None or any(size < 0 for size in shape_of(inner.operands[0])):
            return
        starts, ends, steps = (integers(op, name) for name in ("starts", "ends", "steps"))
        first, stride = integers(inner, "starts"), integers(inner, "steps")
        sizes = shape_of(op.results[0])
        merged_starts = [base + low * step for base, low, step in zip(first, starts, stride, strict=True)]
        merged_steps = [outer * step for outer, step in zip(steps, stride, strict=True)]
        merged_ends = [
            low + (size - 1) * step + 1 if size else low
            for low, size, step in zip(merged_starts, sizes, merged_steps, strict=True)
        ]
        merged = SliceOp.of(inner.operands[0], starts=merged_starts, ends=merged_ends, steps=merged_steps)
        replace_group(rewriter, op, merged, [inner])


@dataclass
class MergeClamps(RewritePattern):
    """Clamps in a row are one clamp; `clip(0, inf)` is `relu`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ReluOp | ClipOp) or not is_float32(op.results[0]):
            return
        interval = own_interval(op)
        inner = made_by(op.operands[0], ReluOp, ClipOp)
        if inner is not None and isinstance(inner, ReluOp | ClipOp):
            replace_group(rewriter, op, _clamp(inner.operands[0], compose(own_interval(inner), interval)), [inner])
        elif isinstance(op, ClipOp) and interval == (0.0, math.inf):
            replace_group(rewriter, op, ReluOp.of(op.operands[0]), [])


def _clamp(value: SSAValue, interval: tuple[float, float]) -> MbltOp:
    if interval == (0.0, math.inf):
        return ReluOp.of(value)
    return ClipOp.of(value, min=interval[0], max=interval[1])


@dataclass
class NamePowers(RewritePattern):
    """`pow(x, 2)` and `x * x` are `square(x)`; `pow(x, 0.5)` is `sqrt(x)`; `pow(x, -0.5)` is `rsqrt(x)`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if has_activation(op) or not op.results or not is_float32(op.results[0]):
            return
        if isinstance(op, MulOp) and op.operands[0] is op.operands[1]:
            replace_group(rewriter, op, SquareOp.of(op.operands[0]), [])
            return
        if not isinstance(op, PowOp) or shape_of(op.operands[0]) != shape_of(op.results[0]):
            return
        exponent = scalar(self.ctx, op.operands[1])
        if exponent in POWERS:
            replace_group(rewriter, op, POWERS[exponent].of(op.operands[0]), [])


POWERS: dict[float | None, type[MbltOp]] = {
    2.0: SquareOp,
    0.5: SqrtOp,
    -0.5: RsqrtOp,
    -1.0: ReciprocalOp,
}
