"""multiplier_of and its relatives against exact rationals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qbc.errors import QBCompilerError
from qbc.kernels.requantize import add_multipliers, div_multiplier, half_up, multiplier_of, softmax_multiplier
from tests.kernels.support import execute, rescale

float32_scales = st.integers(1, (1 << 24) - 1).flatmap(
    lambda mantissa: st.integers(-40, 10).map(lambda e: Fraction(mantissa) * Fraction(2) ** e)
)


@settings(max_examples=200, deadline=None)
@given(numerator=float32_scales, denominator=float32_scales, width=st.sampled_from([31, 15]))
def test_multiplier_is_nearest(numerator, denominator, width):
    ratio = numerator / denominator
    if ratio >= Fraction(2) ** (width - 1) * (1 - Fraction(1, 1 << (width + 1))):
        with pytest.raises(QBCompilerError):
            multiplier_of(ratio, width)
        return
    m, s = multiplier_of(ratio, width)
    if m == 0:
        assert s == 1 and ratio < Fraction(2) ** (width - 63)
        return
    assert 1 << (width - 1) <= m < 1 << width and 1 <= s <= 62
    assert abs(ratio - Fraction(m, 1 << s)) <= Fraction(1, 1 << (s + 1))


@pytest.mark.parametrize("width", [31, 15])
def test_multiplier_at_powers_of_two(width):
    for exponent in range(width - 62, width - 1):
        assert multiplier_of(Fraction(2) ** exponent, width) == (1 << (width - 1), width - 1 - exponent)
    assert multiplier_of(Fraction(2) ** (width - 64), width) == (0, 1)
    with pytest.raises(QBCompilerError) as caught:
        multiplier_of(Fraction(2) ** (width - 1), width)
    assert caught.value.code == "QUANTIZATION_ERROR"


def test_multiplier_that_rounds_up_to_the_next_power():
    ratio = 1 - Fraction(1, 1 << 40)
    assert multiplier_of(ratio) == (1 << 30, 30)


def test_not_positive():
    with pytest.raises(QBCompilerError):
        multiplier_of(Fraction(0))


def test_half_up_goes_toward_plus_infinity():
    assert [half_up(Fraction(n, 2)) for n in (-3, -1, 1, 3)] == [-1, 0, 1, 2]


@settings(max_examples=100, deadline=None)
@given(a=float32_scales, b=float32_scales)
def test_add_multipliers(a, b):
    larger = max(a, b)
    if larger >= 1 << 29:
        return
    ma, mb, s = add_multipliers(a, b)
    assert max(ma, mb) < 1 << 31
    assert abs(a * (1 << s) - ma) <= Fraction(1, 2) and abs(b * (1 << s) - mb) <= Fraction(1, 2)


def test_div_and_softmax_constants():
    p, t = div_multiplier(Fraction(3, 7))
    assert t == 32 and p == half_up(Fraction(3, 7) * (1 << 32))
    assert div_multiplier(Fraction(1, 1 << 60))[1] == 46
    assert softmax_multiplier(Fraction(1, 255)) == (255 << 16, 16)
    assert softmax_multiplier(Fraction(1, 32639)) == (32639 << 16 if 32639 << 16 < 1 << 31 else 0, 16)
    q, g = softmax_multiplier(Fraction(1, 1 << 20))
    assert (q, g) == (1 << 30, 10)


@settings(max_examples=60, deadline=None)
@given(
    m=st.one_of(st.integers(1 << 30, (1 << 31) - 1), st.integers(-(1 << 31) + 1, (1 << 31) - 1)),
    s=st.one_of(st.sampled_from([1, 2, 30, 31, 38, 61, 62]), st.integers(1, 62)),
    zx=st.sampled_from([-128, 0, 5, 127]),
    z=st.sampled_from([-128, -1, 0, 127]),
)
def test_requantize_all_codes(m, s, zx, z):
    x = np.arange(-128, 128)
    got = execute("requantize", [(x, "i8")], (x.shape, "i8"), {"zx": zx, "m": m, "s": s, "z": z, "lo": -128, "hi": 127})
    np.testing.assert_array_equal(got, rescale(x - zx, m, s, z, -128, 127))


@pytest.mark.parametrize(("source", "target"), [("i8", "i16"), ("i16", "i8"), ("i16", "i16")])
@pytest.mark.parametrize("s", [30, 31, 40])
def test_requantize_between_types(source, target, s):
    x = np.arange(-128, 128) if source == "i8" else np.arange(-32768, 32640)
    lo, hi = (-100, 90) if target == "i8" else (-32000, 32639)
    attributes = {"zx": 0, "m": (1 << 30) + 12345, "s": s, "z": 0, "lo": lo, "hi": hi}
    got = execute("requantize", [(x, source)], (x.shape, target), attributes)
    np.testing.assert_array_equal(got, rescale(x, attributes["m"], s, 0, lo, hi))


def test_ties_go_up():
    x = np.array([-3, -2, -1, 0, 1, 2, 3])
    got = execute("requantize", [(x, "i8")], (x.shape, "i8"), {"zx": 0, "m": 1 << 30, "s": 31, "z": 0})
    assert got.tolist() == [-1, -1, 0, 0, 1, 1, 2]
