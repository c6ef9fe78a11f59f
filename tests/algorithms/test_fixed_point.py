"""Integer constants against Python fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qbc.algorithms.fixed_point import (
    channel_multipliers,
    code_of,
    codes_of,
    half_up_quotients,
    multiplier_of,
    normalized_multiplier,
    weight_codes,
    weight_scales,
)

float32 = st.floats(min_value=-(2.0**40), max_value=2.0**40, width=32, allow_subnormal=False)
scale32 = st.floats(min_value=2.0**-30, max_value=2.0**20, width=32, allow_subnormal=False)


@given(float32, scale32)
def test_half_up_quotients_are_exact(value: float, scale: float) -> None:
    wanted = floor(Fraction(value) / Fraction(scale) + Fraction(1, 2))
    if abs(wanted) < 1 << 62:
        assert half_up_quotients(np.array([value]), np.array([scale]))[0] == wanted


@given(st.integers(-(10**6), 10**6), scale32)
def test_half_up_quotients_decide_ties(k: int, scale: float) -> None:
    value = float(Fraction(2 * k + 1, 2) * Fraction(scale))  # exact: scale has 24 bits, 2k + 1 has 21
    assert half_up_quotients(np.array([value]), np.array([scale]))[0] == k + 1


@given(
    st.fractions(min_value=Fraction(1, 1 << 70), max_value=1 << 40).filter(lambda r: r > 0), st.sampled_from([15, 31])
)
def test_normalized_multiplier(ratio: Fraction, width: int) -> None:
    m, s = normalized_multiplier(ratio, width)
    assert 1 << (width - 1) <= m < 1 << width
    scaled = ratio * Fraction(2) ** s
    assert abs(m - scaled) <= Fraction(1, 2) or m == 1 << (width - 1)


@given(scale32, st.lists(scale32, min_size=1, max_size=4), scale32, st.sampled_from([15, 31]))
def test_channel_multipliers(first: float, scales: list[float], out: float, width: int) -> None:
    ratios = [Fraction(first) * Fraction(scale) / Fraction(out) for scale in scales]
    if max(ratios) >= 1 << (width - 1):
        return
    m, s = channel_multipliers(first, np.array(scales), out, np.full(len(scales), width))
    assert list(zip(m.tolist(), s.tolist(), strict=True)) == [multiplier_of(ratio, width) for ratio in ratios]


def test_codes_of_data_round_halves_to_even_and_saturate() -> None:
    data = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9], dtype=np.float32)
    assert codes_of(data, 1.0, 3, -128, 127).tolist() == [3, 5, 5, 3, 1, 127, -128]
    assert code_of(2.5, 1.0, 0, -128, 127) == 3
    assert code_of(-2.5, 1.0, 0, -128, 127) == -2


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_weight_codes_stay_within_half_a_step(channels: int, inputs: int, seed: int) -> None:
    weight = np.random.default_rng(seed).standard_normal((channels, inputs)).astype(np.float32)
    scales = weight_scales(weight)
    codes = weight_codes(weight, scales)
    assert np.abs(codes).max(axis=1).tolist() == [127] * channels
    error = np.abs(codes * scales[:, None].astype(np.float64) - weight)
    assert (error <= scales[:, None] * 0.5001).all()


def test_a_dead_channel_takes_the_median_scale() -> None:
    weight = np.array([[127.0, 0.0], [0.0, 0.0], [254.0, 1.0]], dtype=np.float32)
    assert weight_scales(weight).tolist() == [1.0, 1.5, 2.0]
    assert not weight_codes(weight, weight_scales(weight))[1].any()
    assert weight_scales(np.zeros((2, 3), dtype=np.float32)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("value", [1e-30, 1e30])
def test_tiny_and_huge_weights_have_finite_scales(value: float) -> None:
    scales = weight_scales(np.array([[value]], dtype=np.float32))
    assert np.isfinite(scales).all()
    assert (scales > 0).all()
