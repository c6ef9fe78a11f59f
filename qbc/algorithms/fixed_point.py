"""Codes of weights, biases and bounds from exact rationals of the stored float32 scales.

The multipliers of a rescale are those of `qbc.kernels.requantize`, exported here for the passes. A float64 quotient of
two float32 numbers decides almost every rounding; whatever lies near a half is decided by `fractions.Fraction`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.kernels.requantize import (
    LONG,
    MAX_SHIFT,
    SHORT,
    add_multipliers,
    div_multiplier,
    exponent_of,
    half_up,
    multiplier_of,
    softmax_multiplier,
)

Array = npt.NDArray[Any]

LONG_BOUND, SHORT_BOUND = 1 << 31, 1 << 47
WEIGHT_LIMIT = 127


def exact(value: float) -> Fraction:
    """Return a float32 (or float64) number as the rational it is."""
    return Fraction(float(value))


def power_of_two(exponent: int) -> Fraction:
    """Return 2^exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def normalized_multiplier(ratio: Fraction, width: int = LONG) -> tuple[int, int]:
    """Return (m, s), m in [2^(width-1), 2^width) and m / 2^s nearest to the ratio; s is not bounded."""
    e = exponent_of(ratio)
    m = half_up(ratio * power_of_two(width - e))
    if m == 1 << width:
        return m >> 1, width - e - 1
    return m, width - e


def channel_multipliers(in_scale: float, scales: Array, out_scale: float | Array, widths: Array) -> tuple[Array, Array]:
    """Return (m, s) of in_scale * scales[c] / out_scale for every channel, as `multiplier_of` does at widths[c] bits.

    `out_scale` is one number, or one for each channel. All scales are float32 numbers, so that the quotient is one of
    integers: no fractions are built.
    """
    (first,), (first_power,) = _integer_parts(np.array([in_scale]))
    out_scales = np.broadcast_to(out_scale, len(scales))
    multiplier, shift = np.empty(len(scales), np.int64), np.empty(len(scales), np.int64)
    channels = zip(*_integer_parts(scales), *_integer_parts(out_scales), widths.tolist(), strict=True)
    for channel, (second, power, divisor, divisor_power, width) in enumerate(channels):
        numerator = first * second
        up = width - (numerator.bit_length() - divisor.bit_length())
        m = _shifted_quotient(numerator, up, divisor)
        if m >= 1 << width:
            up -= 1
            m = _shifted_quotient(numerator, up, divisor)
        if m == 1 << width:
            m, up = m >> 1, up - 1
        s = up - (first_power + power - divisor_power)
        if not 1 <= s <= MAX_SHIFT:
            m, s = multiplier_of(exact(in_scale) * exact(scales[channel]) / exact(out_scales[channel]), width)
        multiplier[channel], shift[channel] = m, s
    return multiplier, shift


def _integer_parts(scales: Array) -> tuple[list[int], list[int]]:
    """Return (k, e) of float32 numbers k * 2^e with whole k."""
    mantissas, exponents = np.frexp(np.asarray(scales, dtype=np.float64))
    return np.ldexp(mantissas, 24).astype(np.int64).tolist(), (exponents - 24).tolist()


def _shifted_quotient(numerator: int, up: int, divisor: int) -> int:
    """Return half_up(numerator * 2^up / divisor)."""
    if up < 0:
        divisor <<= -up
    else:
        numerator <<= up
    return (2 * numerator + divisor) // (2 * divisor)


def half_up_quotients(numerators: Array, denominators: Array) -> Array:
    """Return floor(n/d + 1/2) as int64, exact for float64 numbers n and d > 0 with |n/d| < 2^62.

    The float64 quotient decides unless it lies within its own error of a half; those are decided exactly.
    """
    numerators, denominators = np.broadcast_arrays(
        np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    )
    quotient = numerators / denominators
    result = np.floor(quotient + 0.5)
    doubtful = np.abs(quotient + 0.5 - np.rint(quotient + 0.5)) <= np.abs(quotient) * 2.0**-50 + 2.0**-52
    rounded = result.astype(np.int64)
    for index in np.argwhere(doubtful):
        at = tuple(index)
        rounded[at] = half_up(exact(numerators[at]) / exact(denominators[at]))
    return rounded


def code_of(value: float, scale: float, zero_point: int, low: int, high: int) -> int:
    """Return the code of a real bound: half up of value/scale, plus the zero point, clamped to low..high."""
    return min(max(half_up(exact(value) / exact(scale)) + zero_point, low), high)


def codes_of(data: Array, scale: float, zero_point: int, low: int, high: int) -> Array:
    """Return the codes of constant data: rint(x / scale) + zero_point, halves to even, clamped; int64."""
    steps = np.rint(np.asarray(data, dtype=np.float64) / float(scale))
    return np.asarray(np.clip(steps + zero_point, low, high).astype(np.int64))


# --- weights -----------------------------------------------------------------------------------------------------


def weight_scales(weight: Array) -> Array:
    """Return the float32 scale of each output channel (axis 0): largest magnitude / 127.

    A dead channel (all zero) takes the median scale of the others, because its bias still needs a grid.
    """
    largest = np.abs(weight.reshape(weight.shape[0], -1).astype(np.float64)).max(axis=1)
    scales = largest / WEIGHT_LIMIT
    alive = scales > 0
    scales[~alive] = np.median(scales[alive]) if alive.any() else 1.0
    return np.asarray(np.maximum(scales, 2.0**-100).astype(np.float32))


def weight_codes(weight: Array, scales: Array) -> Array:
    """Return i8 weight codes: w / scale of its channel, halves to even, -127..127."""
    steps = np.rint(weight.astype(np.float64) / _per_channel(scales, weight.ndim))
    return np.asarray(np.clip(steps, -WEIGHT_LIMIT, WEIGHT_LIMIT).astype(np.int8))


def _per_channel(scales: Array, rank: int) -> Array:
    return scales.astype(np.float64).reshape(-1, *[1] * (rank - 1))


__all__ = [
    "LONG",
    "LONG_BOUND",
    "SHORT",
    "SHORT_BOUND",
    "add_multipliers",
    "channel_multipliers",
    "code_of",
    "codes_of",
    "div_multiplier",
    "exact",
    "half_up",
    "half_up_quotients",
    "multiplier_of",
    "normalized_multiplier",
    "softmax_multiplier",
    "weight_codes",
    "weight_scales",
]
