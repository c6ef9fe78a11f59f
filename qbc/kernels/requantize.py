"""Integer constants of a rescale, computed from exact rationals.

Every rescale of the machine is `R(acc) = clamp(z + ((acc*m + 2^(s-1)) >> s))`. The functions here turn exact ratios of
scales into the integers (m, s) and their relatives; `docs/integer_arithmetic.md` states the rules.
"""

from __future__ import annotations

from fractions import Fraction

from qbc.errors import QBCompilerError

LONG = 31
SHORT = 15
MAX_SHIFT = 62


def half_up(value: Fraction) -> int:
    """Return floor(value + 1/2)."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def exponent_of(ratio: Fraction) -> int:
    """Return e with ratio = f * 2^e and f in [1/2, 1); the ratio is positive."""
    e = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    scaled = ratio / Fraction(2) ** e
    if scaled >= 1:
        return e + 1
    if scaled < Fraction(1, 2):
        return e - 1
    return e


def multiplier_of(ratio: Fraction, width: int = LONG) -> tuple[int, int]:
    """Return (m, s) with m / 2^s nearest to the ratio, m in [2^(width-1), 2^width), 1 <= s <= 62.

    A ratio below 2^(width-63) gives (0, 1): no accumulator inside its bound reaches half a step. A ratio of 2^(width-1)
    or more cannot be expressed and raises QUANTIZATION_ERROR, as does a ratio that is not positive.
    """
    if ratio <= 0:
        raise QBCompilerError(f"scale ratio {float(ratio)} is not positive", code="QUANTIZATION_ERROR")
    e = exponent_of(ratio)
    m = half_up(ratio * Fraction(2) ** (width - e))
    if m == 1 << width:
        m >>= 1
        e += 1
    s = width - e
    if s > MAX_SHIFT:
        return 0, 1
    if s < 1:
        raise QBCompilerError(
            f"scale ratio {float(ratio):.6g} is too large for a {width}-bit multiplier",
            code="QUANTIZATION_ERROR",
            hint="Check the calibrated range of the output; it is far smaller than that of the inputs.",
        )
    return m, s


def add_multipliers(ratio_a: Fraction, ratio_b: Fraction) -> tuple[int, int, int]:
    """Return (ma, mb, s) of an addition; ratios are operand scale / output scale.

    The larger ratio sets (m, s) in long form, the other multiplier is half_up(ratio * 2^s). Subtraction negates mb.
    """
    _, s = multiplier_of(max(ratio_a, ratio_b))
    return half_up(ratio_a * (1 << s)), half_up(ratio_b * (1 << s)), s


def div_multiplier(ratio: Fraction) -> tuple[int, int]:
    """Return (p, t) of a division, ratio = Sa / (Sb * Sy): t = min(31 - e, 46), p = half_up(ratio * 2^t)."""
    t = min(31 - exponent_of(ratio), 46)
    if t < 1:
        raise QBCompilerError(f"division ratio {float(ratio):.6g} is too large", code="QUANTIZATION_ERROR")
    return half_up(ratio * (1 << t)), t


def softmax_multiplier(scale: Fraction) -> tuple[int, int]:
    """Return (q, g) for an output scale: g is the largest of 16..0 with half_up(2^g / scale) < 2^31."""
    for g in range(16, -1, -1):
        q = half_up((1 << g) / scale)
        if q < 1 << 31:
            return q, g
    raise QBCompilerError(f"softmax output scale {float(scale):.6g} is too small", code="QUANTIZATION_ERROR")
