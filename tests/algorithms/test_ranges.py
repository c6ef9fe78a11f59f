"""Ranges and encodings against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from qbc.algorithms.ranges import (
    LIMITS,
    RangeOptions,
    choose_range,
    encode,
    encode_constant,
    merge_ranges,
    range_error,
)
from qbc.algorithms.statistics import Sketch, Statistics


def statistics_of(data: np.ndarray, tail_ratio: float = 0.01) -> Statistics:
    sketch = Sketch()
    sketch.update(data)
    return sketch.freeze(tail_ratio)


def laplace(count: int = 40_000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).laplace(size=count).astype(np.float32)


@pytest.mark.parametrize("low,high", [(-1.0, 3.0), (0.5, 2.0), (-4.0, -1.0), (-1e-30, 1e-31), (0.0, 6.0), (-7.3, 0.1)])
@pytest.mark.parametrize("storage,asymmetric", [("i8", True), ("i8", False), ("i16", False)])
def test_encodings(low: float, high: float, storage: str, asymmetric: bool) -> None:
    encoding = encode(low, high, storage, asymmetric)
    qmin, qmax = LIMITS[storage]
    assert encoding.scale > 0 and encoding.scale == float(np.float32(encoding.scale))
    assert qmin <= encoding.zero_point <= qmax and (asymmetric or encoding.zero_point == 0)
    assert encoding.round_trip(np.zeros(1))[0] == 0.0
    if max(abs(low), abs(high)) < 1e-20:
        return
    grid = np.linspace(min(low, 0), max(high, 0), 1001)
    assert np.abs(grid - encoding.round_trip(grid)).max() <= encoding.scale * (1.0 if asymmetric else 0.501)


def test_guards() -> None:
    assert (encode(0.0, 0.0, "i8", True).scale, encode(0.0, 0.0, "i8", True).zero_point) == (1.0, 0)
    constant = encode_constant(-3.7, "i8")
    assert constant.scale == float(np.float32(3.7 / 127)) and constant.zero_point == 0
    assert encode(0.0, 1e-45, "i8", False).scale == 2.0**-100
    with pytest.raises(ValueError):
        encode(0.0, float("nan"), "i8", True)


def test_mode_0_never_clips() -> None:
    data = laplace()
    chosen = choose_range(statistics_of(data), RangeOptions(mode=0), "i8", True)
    assert chosen.low == data.min() and chosen.high == data.max()


@pytest.mark.parametrize("percentile", [0.9999, 0.999, 0.995])
def test_mode_1_rank_is_exact(percentile: float) -> None:
    data = laplace()
    ordered = np.sort(data)
    rank = int(np.floor((1 - percentile) * data.size))
    chosen = choose_range(statistics_of(data), RangeOptions(percentile=percentile), "i8", True)
    assert not chosen.estimated and chosen.high == ordered[::-1][rank] and chosen.low == ordered[rank]
    symmetric = choose_range(statistics_of(data), RangeOptions(percentile=percentile), "i8", False)
    assert symmetric.high == np.sort(np.abs(data))[::-1][rank]


def test_mode_1_falls_back_to_the_histogram() -> None:
    data = laplace()
    statistics = statistics_of(data, tail_ratio=0.001)
    chosen = choose_range(statistics, RangeOptions(percentile=0.99), "i8", True)
    assert chosen.estimated
    assert abs(chosen.high - np.quantile(data, 0.99)) <= 2 * statistics.histogram.width


@pytest.mark.parametrize(
    "data", [laplace(), np.maximum(laplace(seed=1), 0), np.random.default_rng(2).standard_normal(40_000)]
)
def test_mode_2_finds_the_brute_force_minimum(data: np.ndarray) -> None:
    data = data.astype(np.float32)
    statistics = statistics_of(data)
    chosen = choose_range(statistics, RangeOptions(mode=2, min_clip_ratio=0.0), "i8", False)

    def error(threshold: float) -> float:
        encoding = encode(-threshold, threshold, "i8", False)
        return float(np.mean((data - encoding.round_trip(data.astype(np.float64))) ** 2))

    brute = min(error(t) for t in np.linspace(0.2, 1.0, 200) * np.abs(data).max())
    assert error(max(-chosen.low, chosen.high)) <= 1.05 * brute
    asymmetric = encode(*_pair(choose_range(statistics, RangeOptions(mode=2), "i8", True)), "i8", True)
    maximum = encode(float(data.min()), float(data.max()), "i8", True)
    assert range_error(statistics, asymmetric) <= range_error(statistics, maximum)


def test_mode_2_clips_less_with_more_bits() -> None:
    statistics = statistics_of(laplace())
    eight = choose_range(statistics, RangeOptions(mode=2), "i8", False)
    sixteen = choose_range(statistics, RangeOptions(mode=2), "i16", False)
    assert sixteen.high >= eight.high


def test_minimum_clip_ratio_holds() -> None:
    data = np.concatenate([laplace(), np.full(40, 400.0, np.float32)])
    chosen = choose_range(statistics_of(data), RangeOptions(mode=2, min_clip_ratio=0.5), "i8", True)
    assert chosen.high >= 0.5 * data.max()


def test_range_error_matches_the_data() -> None:
    data = laplace()
    statistics = statistics_of(data)
    encoding = encode(float(data.min()), float(data.max()), "i8", True)
    exact = float(np.mean((data - encoding.round_trip(data.astype(np.float64))) ** 2))
    assert range_error(statistics, encoding) == pytest.approx(exact, rel=0.05)


def test_group_range_does_not_sacrifice_the_small_member() -> None:
    small, large = laplace(), 6 * laplace(seed=5)
    members = [(s, choose_range(s, RangeOptions(mode=0), "i8", False)) for s in map(statistics_of, (small, large))]
    merged = merge_ranges(members, "i8", False)
    union = encode(*_pair(members[1][1]), "i8", False)
    chosen = encode(*_pair(merged), "i8", False)

    def relative(encoding: object) -> float:
        return sum(range_error(s, encoding) / s.variance for s, _ in members)  # type: ignore[arg-type]

    assert relative(chosen) <= relative(union)
    assert merged.high <= members[1][1].high


def _pair(chosen: object) -> tuple[float, float]:
    return chosen.low, chosen.high  # type: ignore[attr-defined]


def test_spared_elements_are_never_clipped() -> None:
    sketch = Sketch()
    parts = np.array_split(laplace(), 10)
    for part in parts:
        sketch.update(part)
    ordered = np.sort(np.concatenate(parts))[::-1]
    options = RangeOptions(percentile=0.99, spared=8)  # 400 elements lie beyond, 80 of them are spared
    chosen = choose_range(sketch.freeze(), options, "i8", True)
    assert chosen.high == ordered[320] and chosen.low == ordered[::-1][320]
    few = choose_range(sketch.freeze(), RangeOptions(percentile=0.9999, spared=8), "i8", True)
    assert few.high == ordered[0] and few.low == ordered[-1]
