"""Source coordinates of a resize, as exact rationals.

Coordinate of output `o` with scale `s`: half_pixel `(o + 1/2)/s - 1/2` (pytorch_half_pixel the same, 0 where the output
size is 1), asymmetric `o/s`, align_corners `o*(in - 1)/(out - 1)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

HALF = Fraction(1, 2)
WEIGHT_ONE = 2048
_LARGEST_DENOMINATOR = 1 << 16


def coordinates(size: int, outputs: int, scale: Fraction, mode: str) -> list[Fraction]:
    """Return the source coordinate of every output position.

    A scale that is the float64 nearest to a small ratio stands for that ratio (4/3 is written 1.333...).
    """
    scale = _intended(scale)
    if mode == "align_corners":
        step = Fraction(size - 1, outputs - 1) if outputs > 1 else Fraction(0)
        return [o * step for o in range(outputs)]
    if mode == "asymmetric":
        return [o / scale for o in range(outputs)]
    if mode == "pytorch_half_pixel" and outputs == 1:
        return [Fraction(0)]
    return [(o + HALF) / scale - HALF for o in range(outputs)]


def _intended(scale: Fraction) -> Fraction:
    simple = scale.limit_denominator(_LARGEST_DENOMINATOR)
    return simple if abs(simple - scale) <= scale * Fraction(1, 1 << 23) else scale


_ROUNDING: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda x: math.ceil(x - HALF),
    "round_prefer_ceil": lambda x: math.floor(x + HALF),
}


def nearest_indices(size: int, outputs: int, scale: Fraction, mode: str, rounding: str) -> list[int]:
    """Return the source index of every output position."""
    rounded = (_ROUNDING[rounding](x) for x in coordinates(size, outputs, scale, mode))
    return [min(max(index, 0), size - 1) for index in rounded]


def linear_taps(size: int, outputs: int, scale: Fraction, mode: str) -> tuple[list[int], list[int], list[int]]:
    """Return (first index, second index, weight of the second in 1/2048) of every output position."""
    first, second, weight = [], [], []
    for x in coordinates(size, outputs, scale, mode):
        inside = min(max(x, Fraction(0)), Fraction(size - 1))
        low = math.floor(inside)
        first.append(low)
        second.append(min(low + 1, size - 1))
        weight.append(math.floor((inside - low) * WEIGHT_ONE + HALF))
    return first, second, weight
