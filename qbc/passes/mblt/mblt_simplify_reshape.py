"""`mblt-simplify-reshape`: reshapes that drop axes of size 1 move down, merge and vanish."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.common.access import flag, integers
from qbc.dialects.mblt import (
    ArithmeticOp,
    ConstantOp,
    FunctionOp,
    MbltOp,
    ReduceL2Op,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceSumOp,
    ReshapeOp,
    TransposeOp,
    element_of,
    shape_of,
)
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.canonicalization.mblt import MergeReshapes, RemoveNoOp
from qbc.passes.mblt.matching import constant_data, made_by, new_constant, replace_group, sweep

REDUCTIONS = (ReduceMeanOp, ReduceSumOp, ReduceMaxOp, ReduceMinOp, ReduceL2Op)


@dataclass(frozen=True)
class SimplifyReshapePass(FunctionPass):
    """Sink squeezes (reshapes that drop axes of size 1) below elementwise ops, so that they meet their inverse.

    ```mlir
    %1 = mblt.reduce_mean %0 {axes = [1], keep_dims = false} : tensor<1x8x4xf32> -> tensor<1x4xf32>
    %2 = mblt.square %1 : tensor<1x4xf32> -> tensor<1x4xf32>
    %3 = mblt.reshape %2 : tensor<1x4xf32> -> tensor<1x1x4xf32>
    ```
    becomes
    ```mlir
    %1 = mblt.reduce_mean %0 {axes = [1], keep_dims = true} : tensor<1x8x4xf32> -> tensor<1x1x4xf32>
    %3 = mblt.square %1 : tensor<1x1x4xf32> -> tensor<1x1x4xf32>
    ```
    A transpose that moves only axes of size 1 is a reshape; reshapes in a row are one.
    """

    name = "mblt-simplify-reshape"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        sinking = [_KeepAxes(), _SinkSqueeze(ctx), _SinkSqueezeBelowReduction(ctx)]
        rewrite(op, [*sinking, _TransposeOfUnits(), MergeReshapes(), RemoveNoOp(ctx)])
        rewrite(op, [_DropAxes()])
        sweep(op, ctx)


def dropped_axes(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...] | None:
    """Return the axes of size 1 whose removal from `before` gives `after`; None when that is not what happened.

    Where several choices give the same shape, the last axis (channels) stays, then those further to the left.
    """
    if any(size < 0 for size in before):
        return None
    if before and after and before[-1] == after[-1]:
        inner = _dropped_from_left(before[:-1], after[:-1])
        if inner is not None:
            return inner or None
    return _dropped_from_left(before, after) or None


def _dropped_from_left(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...] | None:
    dropped: list[int] = []
    place = 0
    for axis, size in enumerate(before):
        if place < len(after) and after[place] == size:
            place += 1
        elif size == 1:
            dropped.append(axis)
        else:
            return None
    return tuple(dropped) if place == len(after) else None


def _squeeze_of(value: SSAValue) -> tuple[ReshapeOp, tuple[int, ...]] | None:
    op = made_by(value, ReshapeOp)
    if not isinstance(op, ReshapeOp):
        return None
    axes = dropped_axes(shape_of(op.operands[0]), shape_of(value))
    return None if axes is None else (op, axes)


def _before_squeeze(value: SSAValue, axes: Sequence[int]) -> SSAValue | None:
    """Return x when `value` is x without `axes` (all of size 1)."""
    op = made_by(value, ReshapeOp)
    if op is None:
        return None
    before = shape_of(op.operands[0])
    if max(axes) >= len(before) or any(before[axis] != 1 for axis in axes):
        return None
    kept = tuple(size for axis, size in enumerate(before) if axis not in axes)
    return op.operands[0] if kept == shape_of(value) else None


def _with_axes(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """Insert sizes of 1 so that they lie at `axes` of the result."""
    result = list(shape)
    for axis in axes:
        result.insert(axis, 1)
    return result


@dataclass
class _KeepAxes(RewritePattern):
    """A reduction keeps its axes, a squeeze drops them."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, REDUCTIONS) or flag(op, "keep_dims"):
            return
        shape = shape_of(op.results[0])
        if not shape or min(shape) < 0:
            return
        kept = type(op).of(op.operands[0], axes=integers(op, "axes"), keep_dims=True)
        replace_group(rewriter, op, [kept, ReshapeOp.of(kept, result_type=op.results[0].type)], [])


@dataclass
class _DropAxes(RewritePattern):
    """The inverse of `_KeepAxes`, for squeezes that stayed where they were."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        kept = made_by(op.operands[0], *REDUCTIONS)
        if not isinstance(kept, REDUCTIONS) or not flag(kept, "keep_dims") or single_user(op.operands[0]) is not op:
            return
        axes = integers(kept, "axes")
        remaining = tuple(size for axis, size in enumerate(shape_of(op.operands[0])) if axis not in axes)
        if remaining != shape_of(op.results[0]):
            return
        reduced = type(kept).of(kept.operands[0], axes=axes, keep_dims=False)
        replace_group(rewriter, op, reduced, [kept])


@dataclass
class _SinkSqueeze(RewritePattern):
    """`f(squeeze(x), ...)` is `squeeze(f(x, ...))`; constants get the axes back."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, FunctionOp | ArithmeticOp):
            return
        # The largest operand says which axes: among several sizes of 1 the smaller ones leave it open.
        squeezes = [found for found in map(_squeeze_of, op.operands) if found is not None]
        if not squeezes:
            return
        squeeze, axes = max(squeezes, key=lambda found: math.prod(shape_of(found[0].results[0])))
        operands: list[SSAValue] = []
        constants: list[Operation] = []
        for value in op.operands:
            source = _before_squeeze(value, axes)
            if source is not None:
                operands.append(source)
                continue
            constant = self._expanded(value, axes)
            if constant is None:
                return
            constants.append(constant)
            operands.append(constant.results[0])
        result = TensorType(element_of(op.results[0]), _with_axes(shape_of(op.results[0]), axes))
        build: Callable[..., MbltOp] = type(op).of
        moved = build(*operands, result_type=result, location=op.location, **op.properties)
        back = ReshapeOp.of(moved, result_type=op.results[0].type)
        back.location = squeeze.location
        rewriter.replace(op, [*constants, moved, back])
        self.ctx.count("sunk")

    def _expanded(self, value: SSAValue, axes: Sequence[int]) -> ConstantOp | None:
        data = constant_data(self.ctx, value)
        if data is None:
            return None
        expanded = new_constant(self.ctx, data.reshape(_with_axes(data.shape, axes)), data.dtype.name)
        expanded.location = cast("Operation", value.owner).location
        return expanded


@dataclass
class _SinkSqueezeBelowReduction(RewritePattern):
    """`reduce(squeeze(x))` that keeps its axes is `squeeze(reduce(x))`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, REDUCTIONS) or not flag(op, "keep_dims"):
            return
        found = _squeeze_of(op.operands[0])
        if found is None:
            return
        squeeze, dropped = found
        source = squeeze.operands[0]
        places = [axis for axis in range(len(shape_of(source))) if axis not in dropped]
        moved = type(op).of(source, axes=[places[axis] for axis in integers(op, "axes")], keep_dims=True)
        moved.location = op.location
        back = ReshapeOp.of(moved, result_type=op.results[0].type)
        back.location = squeeze.location
        rewriter.replace(op, [moved, back])
        self.ctx.count("sunk")


@dataclass
class _TransposeOfUnits(RewritePattern):
    """A transpose that leaves the order of all other axes is a reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        shape = shape_of(op.operands[0])
        moving = [axis for axis in integers(op, "permutation") if shape[axis] != 1]
        if moving != sorted(moving) or sum(size < 0 for size in shape) > 1:
            return
        replace_group(rewriter, op, ReshapeOp.of(op.operands[0], result_type=op.results[0].type), [])
