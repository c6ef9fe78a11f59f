"""Scalar algebra over values: products, affine functions and polynomials, whatever ops spell them.

So `0.5 * x * (1 + erf(x / sqrt(2)))` is found in any order and association, with divisions or multiplications. Only
ops without a fused activation and scalar constants take part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from qbc.dialects.mblt import AddOp, DivOp, MulOp, NegOp, PowOp, SquareOp, SubOp
from qbc.passes.base import CompileContext, single_user
from qbc.passes.mblt.matching import made_by, scalar

MAX_DEGREE = 3
MAX_DEPTH = 12
Coefficients = dict[int, float]


@dataclass(frozen=True)
class Product:
    """`coefficient * factors[0] * factors[1] * ...`, and the ops that spell it."""

    coefficient: float
    factors: tuple[SSAValue, ...]
    ops: tuple[Operation, ...]


@dataclass(frozen=True)
class Affine:
    """`scale * base + shift`, and the ops that spell it."""

    scale: float
    shift: float
    base: SSAValue
    ops: tuple[Operation, ...]


def close(left: float, right: float, tolerance: float = 1e-5) -> bool:
    """Whether two constants agree to a relative tolerance (they come rounded to float32, or to a few digits)."""
    return math.isclose(left, right, rel_tol=tolerance, abs_tol=1e-12)


def product_of(ctx: CompileContext, root: Operation) -> Product | None:
    """Read a mul or div as a product; operands that only it uses are read into it."""
    if made_by(root.results[0], MulOp, DivOp) is None:
        return None
    coefficient = 1.0
    factors: list[SSAValue] = []
    ops: list[Operation] = [root]
    pending = [root]
    while pending:
        op = pending.pop()
        left, right = op.operands
        divisor = scalar(ctx, right) if isinstance(op, DivOp) else None
        if isinstance(op, DivOp):
            if not divisor:
                return None
            coefficient /= divisor
        for operand in (left,) if isinstance(op, DivOp) else (left, right):
            number = scalar(ctx, operand)
            inner = made_by(operand, MulOp) or _division_by_scalar(ctx, operand)
            if number is not None:
                coefficient *= number
            elif inner is not None and single_user(operand) is op:
                pending.append(inner)
                ops.append(inner)
            else:
                factors.append(operand)
    return Product(coefficient, tuple(factors), tuple(reversed(ops)))


def _division_by_scalar(ctx: CompileContext, value: SSAValue) -> Operation | None:
    op = made_by(value, DivOp)
    return op if op is not None and scalar(ctx, op.operands[1]) else None


def affine_of(ctx: CompileContext, value: SSAValue) -> Affine:
    """Read a value as an affine function of the first value on the way that is none (possibly itself)."""
    scale, shift = 1.0, 0.0
    ops: list[Operation] = []
    for _ in range(MAX_DEPTH):
        step = _affine_step(ctx, value)
        if step is None:
            break
        factor, offset, value, op = step
        shift += scale * offset
        scale *= factor
        ops.append(op)
    return Affine(scale, shift, value, tuple(reversed(ops)))


def _affine_step(ctx: CompileContext, value: SSAValue) -> tuple[float, float, SSAValue, Operation] | None:
    """Return (factor, offset, operand, op) when `value = factor * operand + offset`."""
    op = made_by(value, AddOp, SubOp, MulOp, DivOp, NegOp)
    if op is None:
        return None
    if isinstance(op, NegOp):
        return -1.0, 0.0, op.operands[0], op
    left, right = op.operands
    first, second = scalar(ctx, left), scalar(ctx, right)
    if (first is None) == (second is None):
        return None
    operand, number = (left, second) if first is None else (right, first)
    if number is None:
        return None
    match op:
        case AddOp():
            return 1.0, number, operand, op
        case MulOp():
            return number, 0.0, operand, op
        case SubOp():
            return (1.0, -number, operand, op) if second is not None else (-1.0, number, operand, op)
        case _:
            return (1.0 / number, 0.0, operand, op) if second else None


def polynomial_of(
    ctx: CompileContext, value: SSAValue, variable: SSAValue
) -> tuple[Coefficients, tuple[Operation, ...]] | None:
    """Return the coefficients (power -> number) of `value` as a polynomial in `variable` up to x^3, and its ops."""
    ops: dict[Operation, None] = {}
    found = _polynomial(ctx, value, variable, ops, MAX_DEPTH)
    return None if found is None else (found, tuple(reversed(ops)))


def _polynomial(
    ctx: CompileContext, value: SSAValue, variable: SSAValue, ops: dict[Operation, None], depth: int
) -> Coefficients | None:
    if value is variable:
        return {1: 1.0}
    number = scalar(ctx, value)
    if number is not None:
        return {0: number}
    op = made_by(value, AddOp, SubOp, MulOp, DivOp, NegOp, SquareOp, PowOp)
    if op is None or depth == 0:
        return None
    ops[op] = None
    parts: list[Coefficients] = []
    for operand in op.operands:
        part = _polynomial(ctx, operand, variable, ops, depth - 1)
        if part is None:
            return None
        parts.append(part)
    return _COMBINE[type(op)](parts)


def _sum(left: Coefficients, right: Coefficients, sign: float = 1.0) -> Coefficients:
    powers = left.keys() | right.keys()
    return {power: left.get(power, 0.0) + sign * right.get(power, 0.0) for power in powers}


def _times(left: Coefficients, right: Coefficients) -> Coefficients | None:
    result: Coefficients = {}
    for first, a in left.items():
        for second, b in right.items():
            result[first + second] = result.get(first + second, 0.0) + a * b
    return result if max(result) <= MAX_DEGREE else None


def _divide(left: Coefficients, right: Coefficients) -> Coefficients | None:
    divisor = _number(right)
    return {power: number / divisor for power, number in left.items()} if divisor else None


def _power(base: Coefficients, exponent: Coefficients) -> Coefficients | None:
    number = _number(exponent)
    if number not in (1.0, 2.0, 3.0):
        return None
    result: Coefficients | None = base
    for _ in range(int(number) - 1):
        result = None if result is None else _times(result, base)
    return result


def _number(polynomial: Coefficients) -> float | None:
    return polynomial[0] if polynomial.keys() == {0} else None


_COMBINE: dict[type[Operation], Callable[[list[Coefficients]], Coefficients | None]] = {
    AddOp: lambda parts: _sum(parts[0], parts[1]),
    SubOp: lambda parts: _sum(parts[0], parts[1], -1.0),
    MulOp: lambda parts: _times(parts[0], parts[1]),
    DivOp: lambda parts: _divide(parts[0], parts[1]),
    NegOp: lambda parts: _sum({}, parts[0], -1.0),
    SquareOp: lambda parts: _times(parts[0], parts[0]),
    PowOp: lambda parts: _power(parts[0], parts[1]),
}


def is_polynomial(found: Coefficients, expected: Coefficients) -> bool:
    """Whether coefficients agree with the expected ones (missing ones are zero)."""
    powers = found.keys() | expected.keys()
    return all(close(found.get(power, 0.0), expected.get(power, 0.0)) for power in powers)
