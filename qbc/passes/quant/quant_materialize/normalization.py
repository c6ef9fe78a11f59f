"""Softmax and layer normalization."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Operation

from qbc.dialects import quant
from qbc.dialects.quant import round_to_f32
from qbc.dialects.quant.base import int_attr, integer, number
from qbc.passes.quant.quant_materialize.workspace import Encoding, Result, Rule, Workspace, shape_of

_NORM_LIMIT = 16384
_LARGEST_SHIFT = 46
_SMALLEST_SHIFT = -15
_MAX_SOFTMAX_STEP = 1 << 46


def softmax(workspace: Workspace, op: Operation) -> Result:
    """`k` turns code distances into log2 units, `q` and `g` are the output scale."""
    from qbc.algorithms.fixed_point import softmax_multiplier

    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    beta = number(op, "beta", 1.0)
    if beta <= 0:
        raise workspace.error(op, f"beta is {beta}, it must be positive")
    q, g = softmax_multiplier(head_scale(y))
    constants = {"k": _step(workspace, op, x.scale, beta), "q": int_attr(q), "g": int_attr(g)}
    return Result({**constants, **workspace.result_range(op)})


def log_softmax(workspace: Workspace, op: Operation) -> Result:
    """`k` as in the softmax, the table of log2, and one rescale of the difference."""
    from qbc.algorithms.tables import log2_table, log_softmax_ratio

    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    constants = {"k": _step(workspace, op, x.scale, 1.0), "table": workspace.write(log2_table())}
    rescale = workspace.rescale(op, log_softmax_ratio(y.scale), (1 << 31) - 1)
    return Result({**constants, **rescale, **workspace.result_range(op)})


def _step(workspace: Workspace, op: Operation, scale: float, beta: float) -> IntegerAttr[IntegerType]:
    """Return `k`; the distances of codes times `k` must stay below 2^62."""
    from qbc.algorithms.tables import softmax_step

    step = softmax_step(scale, beta)
    if step >= _MAX_SOFTMAX_STEP:
        raise workspace.error(op, f"the scale {scale:g} of its input is too large")
    return int_attr(step)


def head_scale(encoding: Encoding) -> Fraction:
    """Return the output scale; the float32 numbers of a probability head stand for exactly 1/255 and 1/32639."""
    for whole in (255, 32639):
        if encoding.scale == round_to_f32(1.0 / whole):
            return Fraction(1, whole)
    return encoding.exact


def layer_norm(workspace: Workspace, op: Operation) -> Result:
    """`eps` in units of n^2 * Sx^2, `gamma` and `beta` on one shift that is as fine as 30 and 61 bits allow."""
    import numpy as np

    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    rank = integer(op, "normalized_rank", 1)
    n = math.prod(shape_of(op.operands[0])[-rank:])
    if n > _NORM_LIMIT:
        raise workspace.error(op, f"normalizes {n} elements, at most {_NORM_LIMIT} are possible")
    epsilon = epsilon_code(number(op, "epsilon", 0.0), n, x.scale)
    if (n * x.bound) ** 2 + epsilon >= 1 << 62:
        raise workspace.error(op, "the variance does not fit 62 bits")
    gamma = _affine(workspace.read(op, "scale"), 1.0, n)
    beta = _affine(workspace.read(op, "bias"), 0.0, n)
    shift = affine_shift(gamma, beta, y.exact)
    if shift < _SMALLEST_SHIFT:
        raise workspace.error(op, "scale or bias are too large for the output encoding")
    constants = {
        "n": int_attr(n),
        "zx": int_attr(x.zero_point),
        "eps": int_attr(epsilon),
        "t": int_attr(shift + 16),
        **workspace.result_range(op),
        "rms": int_attr(0),
        "gamma": workspace.write(np.array(_scaled(gamma, y.exact, shift), dtype=np.int64)),
        "beta": workspace.write(np.array(_scaled(beta, y.exact, shift + 16), dtype=np.int64)),
    }
    return Result(constants)


def epsilon_code(epsilon: float, n: int, scale: float) -> int:
    """Return hu(epsilon * n^2 / S^2), at least 1."""
    from qbc.algorithms.fixed_point import exact, half_up

    return max(1, half_up(exact(epsilon) * n * n / exact(scale) ** 2))


def affine_shift(gamma: list[Fraction], beta: list[Fraction], scale: Fraction) -> int:
    """Return the largest s <= 46 with max|gamma/Sy| * 2^s < 2^30 and max|beta/Sy| * 2^(s+16) < 2^61."""
    shift = _LARGEST_SHIFT
    for values, bits, extra in ((gamma, 30, 0), (beta, 61, 16)):
        largest = max(abs(value) for value in values) / scale
        while shift >= _SMALLEST_SHIFT and largest * Fraction(2) ** (shift + extra) >= 1 << bits:
            shift -= 1
    return shift


def _affine(data: Any, default: float, n: int) -> list[Fraction]:
    if data is None:
        return [Fraction(default)] * n
    return [Fraction(float(value)) for value in data.reshape(-1)]


def _scaled(values: list[Fraction], scale: Fraction, shift: int) -> list[int]:
    from qbc.algorithms.fixed_point import half_up

    factor = Fraction(2) ** shift / scale
    return [half_up(value * factor) for value in values]


RULES: dict[type[Operation], Rule] = {
    quant.SoftmaxOp: softmax,
    quant.LogSoftmaxOp: log_softmax,
    quant.LayerNormOp: layer_norm,
}
