"""Ranges of graph outputs against brute force over codes and zero points."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qbc.algorithms.output_ranges import (
    ChannelExtremes,
    ChannelRanges,
    encode_channels,
    sigmoid_range,
    widened_ranges,
)
from qbc.algorithms.ranges import LIMITS, encode
from qbc.algorithms.statistics import Sketch, Statistics


def random_ranges(rng: np.random.Generator, channels: int) -> ChannelRanges:
    size = np.exp(rng.uniform(-2, 2, (2, channels)))
    low, high = -size[0] * rng.integers(0, 2, channels), size[1] * rng.integers(0, 2, channels)
    return ChannelRanges(low, high)


def test_extremes_of_channels() -> None:
    rng = np.random.default_rng(0)
    data = [rng.standard_normal((2, 3, 4, 5)).astype(np.float32) for _ in range(3)]
    extremes = ChannelExtremes()
    for part in data:
        extremes.add(part)
    joined = np.stack(data).reshape(-1, 5)
    assert np.array_equal(extremes.to_array(), [joined.min(axis=0), joined.max(axis=0), [72.0] * 5])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("storage,asymmetric", [("i8", True), ("i8", False), ("i16", False)])
def test_every_channel_is_covered_by_no_larger_step_than_one_scale(seed: int, storage: str, asymmetric: bool) -> None:
    rng = np.random.default_rng(seed)
    ranges = random_ranges(rng, int(rng.integers(1, 9)))
    scales, zero_point = encode_channels(ranges, storage, asymmetric=asymmetric)
    qmin, qmax = LIMITS[storage]
    assert scales.dtype == np.float32 and (scales > 0).all()
    assert qmin <= zero_point <= qmax and (asymmetric or zero_point == 0)
    if ranges.low.min() == ranges.high.max() == 0.0:
        return
    assert (scales * (qmax - zero_point) >= ranges.high * (1 - 1e-6)).all()
    lowest = -qmax if zero_point == 0 and not asymmetric else qmin - zero_point
    assert (scales * lowest <= ranges.low * (1 - 1e-6)).all()
    whole = encode(float(ranges.low.min()), float(ranges.high.max()), storage, asymmetric).scale
    assert (scales <= 1.011 * whole).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_zero_point_is_the_best_of_all(seed: int) -> None:
    ranges = random_ranges(np.random.default_rng(seed), 5)
    own = [max((h - low) / 255, 1e-9) for low, h in zip(ranges.low, ranges.high, strict=True)]
    whole = (ranges.high.max() - ranges.low.min()) / 255
    if whole == 0.0:
        return
    best, best_loss = 0, math.inf
    for z in range(-128, 128):
        steps = []
        for low, high in zip(ranges.low, ranges.high, strict=True):
            above = 0.0 if high == 0 else math.inf if z == 127 else high / (127 - z)
            below = 0.0 if low == 0 else math.inf if z == -128 else -low / (z + 128)
            steps.append(max(above, below))
        bases = [max(o, whole / 256) for o in own]
        loss = sum((max(s, b) / b) ** 2 for s, b in zip(steps, bases, strict=True))
        if max(steps) <= 1.01 * whole and loss < best_loss:
            best, best_loss = z, loss
    assert encode_channels(ranges, "i8", asymmetric=True)[1] == best


def test_ranges_are_wider_where_little_was_seen() -> None:
    low, high = np.array([-1.0, -1.0, -1.0, 0.0, 0.5]), np.array([1.0, 1.0, 1.0, 0.0, 10.0])
    ranges = widened_ranges(low, high, np.array([1e4, 1e3, 100.0, 1e6, 64.0]), 0.25)
    assert (ranges.low[0], ranges.high[0]) == (-1.25, 1.25)
    assert (ranges.low[1], ranges.high[1]) == (-1.25, pytest.approx(0.5 * (1.25 + 12.5)))
    assert (ranges.low[2], ranges.high[2]) == (-1.25, 12.5)
    assert (ranges.low[3], ranges.high[3]) == (-1.25, 12.5)  # zero throughout: nothing is known
    assert (ranges.low[4], ranges.high[4]) == (-1.25, 12.5)
    assert not ranges.are_equal
    assert widened_ranges(low, high, np.full(5, 99.0), 0.25).are_equal


def statistics_of(data: np.ndarray) -> Statistics:
    sketch = Sketch()
    sketch.update(data)
    return sketch.freeze()


@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("spread", [0.3, 3.0, 30.0])
def test_logit_ranges_are_best_behind_the_sigmoid(spread: float, asymmetric: bool) -> None:
    data = (np.random.default_rng(1).standard_normal(20_000) * spread).astype(np.float32)
    low, high = sigmoid_range([statistics_of(data)], "i8", asymmetric=asymmetric)

    def error(low: float, high: float) -> float:
        decoded = encode(low, high, "i8", asymmetric).round_trip(data.astype(np.float64))
        return float(np.square(1 / (1 + np.exp(-data.astype(np.float64))) - 1 / (1 + np.exp(-decoded))).mean())

    assert data.min() <= low < high <= data.max() and max(-low, high) <= 12.0
    if spread < 1.0:
        assert (low, high) == (data.min(), data.max())
        return
    bounds = [(max(-t, float(data.min())), min(t, float(data.max()))) for t in np.linspace(2, 12, 60)]
    assert error(low, high) <= 1.05 * min(error(*pair) for pair in bounds)
    assert error(low, high) < error(float(data.min()), float(data.max()))
