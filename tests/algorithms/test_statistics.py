"""Sketches against numpy on the whole data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qbc.algorithms.statistics import HALF_BINS, MINIMUM_EXPONENT, Sketch, Tail, bin_exponent, merge_statistics


def sketch_of(*parts: np.ndarray, capacity: int = 1000) -> Sketch:
    sketch = Sketch(high=Tail(capacity), low=Tail(capacity))
    for part in parts:
        sketch.update(part)
    return sketch


@pytest.fixture
def data() -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.standard_normal(50_000) ** 3).astype(np.float32)


def same(a: Sketch, b: Sketch) -> None:
    x, y = a.freeze(), b.freeze()
    assert (x.count, x.minimum, x.maximum, x.exponent) == (y.count, y.minimum, y.maximum, y.exponent)
    assert np.array_equal(x.counts, y.counts)
    assert np.array_equal(x.largest, y.largest) and np.array_equal(x.smallest, y.smallest)
    assert math.isclose(x.mean, y.mean, rel_tol=1e-12, abs_tol=1e-12)


def test_matches_numpy(data: np.ndarray) -> None:
    stats = sketch_of(data).freeze(tail_ratio=0.01)
    assert stats.minimum == data.min() and stats.maximum == data.max() and stats.count == data.size
    assert math.isclose(stats.mean, data.astype(np.float64).mean(), rel_tol=1e-12)
    assert math.isclose(stats.variance, data.astype(np.float64).var(), rel_tol=1e-9)
    assert np.array_equal(stats.largest, np.sort(data)[::-1][:500])
    assert np.array_equal(stats.smallest, np.sort(data)[:500])
    bins = np.floor(data.astype(np.float64) / 2.0**stats.exponent).astype(int) + HALF_BINS
    assert np.array_equal(stats.counts, np.bincount(bins, minlength=2 * HALF_BINS))


def test_order_and_shards_do_not_matter(data: np.ndarray) -> None:
    whole = sketch_of(data)
    rng = np.random.default_rng(0)
    same(whole, sketch_of(rng.permutation(data)))
    same(whole, sketch_of(*np.array_split(np.sort(data), 37)))
    left, right = sketch_of(data[:123]), sketch_of(data[123:])
    left.merge(right)
    same(whole, left)


def test_widening_keeps_counts() -> None:
    small = np.linspace(-1, 1, 1001, dtype=np.float32)
    large = np.array([1000.0, -3.5], np.float32)
    same(sketch_of(small, large), sketch_of(large, small))
    assert sketch_of(small, large).freeze().counts.sum() == 1003


@pytest.mark.parametrize("low,high", [(-1.0, 1.0), (-1.0, 0.5), (0.0, 2048.0), (-2048.0, 0.0), (-3e-9, 1e30)])
def test_bin_exponent_is_minimal(low: float, high: float) -> None:
    exponent = bin_exponent(low, high)

    def covers(e: int) -> bool:
        return math.floor(low / 2.0**e) >= -HALF_BINS and math.floor(high / 2.0**e) < HALF_BINS

    assert covers(exponent) and not covers(exponent - 1)


def test_zeros_and_ties() -> None:
    zeros = sketch_of(np.zeros(5000, np.float32)).freeze(1.0)
    assert zeros.exponent == MINIMUM_EXPONENT and zeros.minimum == zeros.maximum == 0.0
    ties = sketch_of(np.repeat(np.float32([0, 1]), 3000), capacity=100).freeze(1.0)
    assert np.array_equal(ties.largest, np.ones(100, np.float32))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError):
        sketch_of(np.array([0.0, bad, 1.0], np.float32))


def test_merged_statistics_equal_one_pass(data: np.ndarray) -> None:
    merged = merge_statistics([sketch_of(part).freeze(1.0) for part in np.array_split(data, 5)])
    whole = sketch_of(data).freeze(1.0)
    assert np.array_equal(merged.counts, whole.counts) and merged.minimum == whole.minimum
    shared = min(merged.largest.size, whole.largest.size)
    assert shared > 100 and np.array_equal(merged.largest[:shared], whole.largest[:shared])
