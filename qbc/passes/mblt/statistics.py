"""Reading mean, variance and deviation as graphs spell them: the parts of a layer normalization."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from qbc.dialects.common.access import flag, integers, number
from qbc.dialects.mblt import (
    AddOp,
    ClipOp,
    DivOp,
    MaximumOp,
    MulOp,
    PowOp,
    ReciprocalOp,
    ReduceMeanOp,
    ReduceSumOp,
    ReluOp,
    RsqrtOp,
    SqrtOp,
    SquareOp,
    SubOp,
    shape_of,
)
from qbc.passes.base import CompileContext
from qbc.passes.mblt.expressions import close
from qbc.passes.mblt.matching import made_by, scalar

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Statistic:
    """A mean, variance or deviation of `x` over `axes` (kept with size 1), and the ops that spell it."""

    x: SSAValue
    axes: Axes
    ops: tuple[Operation, ...]
    epsilon: float = 0.0
    from_moments: bool = False  # a variance spelled mean(x^2) - mean(x)^2

    def then(self, *ops: Operation) -> Statistic:
        """Return the statistic with further ops."""
        return replace(self, ops=(*self.ops, *ops))


def mean_of(ctx: CompileContext, value: SSAValue) -> Statistic | None:
    """Read a mean: `reduce_mean`, or a sum times one over the number of elements."""
    mean = made_by(value, ReduceMeanOp)
    if mean is not None:
        return _over_axes(mean)
    scaled = made_by(value, MulOp, DivOp)
    if scaled is None:
        return None
    for operand, constant in _orders(scaled):
        total, factor = made_by(operand, ReduceSumOp), scalar(ctx, constant)
        found = None if total is None else _over_axes(total)
        if found is None or not factor:
            continue
        count = math.prod(shape_of(found.x)[axis] for axis in found.axes)
        wanted = 1 / count if isinstance(scaled, MulOp) else float(count)
        return found.then(scaled) if close(factor, wanted) else None
    return None


def _over_axes(op: Operation) -> Statistic | None:
    if not flag(op, "keep_dims"):
        return None
    return Statistic(op.operands[0], integers(op, "axes"), (op,))


def _orders(op: Operation) -> Iterable[tuple[SSAValue, SSAValue]]:
    """Yield the operands of a commutative op in both orders, of any other op in the one it has."""
    left, right = op.operands
    yield left, right
    if isinstance(op, MulOp | AddOp | MaximumOp):
        yield right, left


def centered_of(ctx: CompileContext, value: SSAValue) -> Statistic | None:
    """Read `x - mean(x)`."""
    difference = made_by(value, SubOp)
    mean = None if difference is None else mean_of(ctx, difference.operands[1])
    if difference is None or mean is None or mean.x is not difference.operands[0]:
        return None
    return mean.then(difference)


def squared_of(ctx: CompileContext, value: SSAValue) -> tuple[SSAValue, Operation] | None:
    """Return d and the op when `value` is d squared."""
    op = made_by(value, SquareOp, MulOp, PowOp)
    if op is None:
        return None
    if isinstance(op, SquareOp) or (isinstance(op, MulOp) and op.operands[0] is op.operands[1]):
        return op.operands[0], op
    is_square = isinstance(op, PowOp) and scalar(ctx, op.operands[1]) == 2.0
    return (op.operands[0], op) if is_square else None


def variance_of(ctx: CompileContext, value: SSAValue) -> Statistic | None:
    """Read `mean((x - mean(x))^2)`, or `mean(x^2) - mean(x)^2`, which may be clamped at 0."""
    clamp = made_by(value, ReluOp, ClipOp, MaximumOp)
    if clamp is not None:
        inner = _clamped_at_zero(ctx, clamp)
        found = None if inner is None else variance_of(ctx, inner)
        return None if found is None else found.then(clamp)
    return _variance_of_centered(ctx, value) or _variance_of_squares(ctx, value)


def _clamped_at_zero(ctx: CompileContext, op: Operation) -> SSAValue | None:
    if isinstance(op, ReluOp):
        return op.operands[0]
    if isinstance(op, ClipOp):
        return op.operands[0] if (number(op, "min"), number(op, "max")) == (0.0, math.inf) else None
    return next((operand for operand, bound in _orders(op) if scalar(ctx, bound) == 0.0), None)


def _variance_of_centered(ctx: CompileContext, value: SSAValue) -> Statistic | None:
    outer = mean_of(ctx, value)
    square = None if outer is None else squared_of(ctx, outer.x)
    centered = None if square is None else centered_of(ctx, square[0])
    if outer is None or square is None or centered is None or centered.axes != outer.axes:
        return None
    return centered.then(square[1], *outer.ops)


def _variance_of_squares(ctx: CompileContext, value: SSAValue) -> Statistic | None:
    difference = made_by(value, SubOp)
    if difference is None:
        return None
    mean_of_squares, square_of_mean = mean_of(ctx, difference.operands[0]), squared_of(ctx, difference.operands[1])
    square = None if mean_of_squares is None else squared_of(ctx, mean_of_squares.x)
    mean = None if square_of_mean is None else mean_of(ctx, square_of_mean[0])
    if mean_of_squares is None or square_of_mean is None or square is None or mean is None:
        return None
    if mean.x is not square[0] or mean.axes != mean_of_squares.axes:
        return None
    spelled = mean.then(square_of_mean[1], square[1], *mean_of_squares.ops, difference)
    return replace(spelled, from_moments=True)


def deviation_of(ctx: CompileContext, value: SSAValue, *, inverse: bool) -> Statistic | None:
    """Read `sqrt(variance + epsilon)`, or one over it."""
    exponent = -0.5 if inverse else 0.5
    root = made_by(value, PowOp, RsqrtOp if inverse else SqrtOp)
    if root is not None and (not isinstance(root, PowOp) or scalar(ctx, root.operands[1]) == exponent):
        found = _variance_plus_epsilon(ctx, root.operands[0])
        return None if found is None else found.then(root)
    return _one_over_deviation(ctx, value) if inverse else None


def _one_over_deviation(ctx: CompileContext, value: SSAValue) -> Statistic | None:
    op = made_by(value, ReciprocalOp, DivOp)
    if op is None or (isinstance(op, DivOp) and scalar(ctx, op.operands[0]) != 1.0):
        return None
    found = deviation_of(ctx, op.operands[-1], inverse=False)
    return None if found is None else found.then(op)


def _variance_plus_epsilon(ctx: CompileContext, value: SSAValue) -> Statistic | None:
    total = made_by(value, AddOp)
    if total is None:
        return None
    for operand, constant in _orders(total):
        epsilon = scalar(ctx, constant)
        found = variance_of(ctx, operand) if epsilon is not None and epsilon >= 0 else None
        if found is not None and epsilon is not None:
            return replace(found.then(total), epsilon=epsilon)
    return None
