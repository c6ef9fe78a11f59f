"""Ranges and encodings: from statistics of a value to scale and zero point.

`choose_range` picks the interval that the codes must cover, `encode` turns it into an encoding. Formulas:

- symmetric i8: scale = T / 127, zero point 0, with T = max(|low|, |high|)
- asymmetric i8: low <= 0 <= high, scale = (high - low) / 255, zero point = clip(rne(-128 - low / scale))
- i16: scale = T / 32639, zero point 0

Scales are computed in float64 and rounded once to float32; the rounded value is the truth everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qbc.algorithms.statistics import HALF_BINS, Statistics

F64 = npt.NDArray[np.float64]

MAX, MAX_PERCENTILE, HISTOGRAM = 0, 1, 2
MINIMUM_SCALE = 2.0**-100
LIMITS: dict[str, tuple[int, int]] = {"i8": (-128, 127), "i16": (-32768, 32639)}
CANDIDATES = 24
SEARCH_ROUNDS = 3
SEARCH_PERCENTILES = (0.95, 0.99999)


@dataclass(frozen=True)
class Encoding:
    """Storage type, float32 scale and zero point of one value: real = scale * (code - zero_point)."""

    storage: str
    scale: float
    zero_point: int

    @property
    def low(self) -> float:
        """Smallest representable value."""
        return self.scale * (LIMITS[self.storage][0] - self.zero_point)

    @property
    def high(self) -> float:
        """Largest representable value."""
        return self.scale * (LIMITS[self.storage][1] - self.zero_point)

    def round_trip(self, values: F64) -> F64:
        """Return the values as the codes represent them."""
        qmin, qmax = LIMITS[self.storage]
        codes = np.clip(np.rint(values / self.scale) + self.zero_point, qmin, qmax)
        decoded: F64 = (codes - self.zero_point) * self.scale
        return decoded


@dataclass(frozen=True)
class Range:
    """The interval that codes must cover, and whether the tail was too short for the rank asked for."""

    low: float
    high: float
    estimated: bool = False


@dataclass(frozen=True)
class RangeOptions:
    """How ranges are chosen: mode 0 max, 1 percentile, 2 histogram search by squared error."""

    mode: int = MAX_PERCENTILE
    percentile: float = 0.9999
    spared: int = 0
    min_clip_ratio: float = 0.5
    output_margin: float = 0.0  # share by which ranges of graph outputs are widened


def choose_range(statistics: Statistics, options: RangeOptions, storage: str, asymmetric: bool) -> Range:
    """Return the range of one value.

    Mode 0: the extremes. Mode 1: the elements of rank floor((1 - percentile) * count) from both ends, counted after the
    `spared` outermost ones a sample (the exact ones, or the histogram's where the tails are too short: `estimated`).
    Mode 2: the candidate pair with the least squared error over the histogram; clipping below `min_clip_ratio` of an
    extreme must gain more than 1 dB.
    """
    if options.mode == MAX or statistics.count == 0:
        return Range(statistics.minimum, statistics.maximum)
    if options.mode == MAX_PERCENTILE:
        return percentile_range(statistics, options.percentile, asymmetric, options.spared)
    if options.mode == HISTOGRAM:
        return search_range(statistics, storage, asymmetric, options.min_clip_ratio)
    raise ValueError(f"unknown range mode {options.mode}")


def percentile_range(statistics: Statistics, percentile: float, asymmetric: bool, spared: int = 0) -> Range:
    """Return the two-sided percentile (asymmetric) or plus/minus the percentile of magnitudes (symmetric).

    `spared` elements a sample, on average, are never clipped: in a small map the few largest elements decide the
    result, and only where many elements lie beyond the percentile is each of them unimportant.
    """
    rank = max(math.floor((1.0 - percentile) * statistics.count) - spared * statistics.samples, 0)
    if asymmetric:
        high, high_known = _tail_rank(statistics.largest, statistics.count, rank)
        low, low_known = _tail_rank(-statistics.smallest, statistics.count, rank)
        high = high if high_known else _histogram_quantile(statistics, 1.0 - rank / statistics.count)
        low = -low if low_known else _histogram_quantile(statistics, rank / statistics.count)
        return Range(low, high, not (high_known and low_known))
    magnitudes, known = _largest_magnitudes(statistics, rank)
    threshold = magnitudes if known else _magnitude_quantile(statistics, 1.0 - rank / statistics.count)
    return Range(max(statistics.minimum, -threshold), min(statistics.maximum, threshold), not known)


def search_range(statistics: Statistics, storage: str, asymmetric: bool, min_clip_ratio: float) -> Range:
    """Return the range with the least squared error over the histogram, by coordinate descent over candidates."""
    extremes = Range(statistics.minimum, statistics.maximum)
    lows, highs = _candidates(statistics, asymmetric)

    def error_of(candidate: Range) -> float:
        return range_error(statistics, encode(candidate.low, candidate.high, storage, asymmetric))

    pairs = [] if asymmetric else [Range(max(extremes.low, -high), min(extremes.high, high)) for high in highs]
    best, best_error = extremes, error_of(extremes)
    whole_error = best_error
    for _ in range(SEARCH_ROUNDS):
        before = best
        best, best_error = _best(best, best_error, [Range(low, best.high) for low in lows], error_of)
        best, best_error = _best(best, best_error, [Range(best.low, high) for high in highs], error_of)
        best, best_error = _best(best, best_error, pairs, error_of)
        if best == before:
            break
    clipped_much = best.high < min_clip_ratio * extremes.high or best.low > min_clip_ratio * extremes.low
    if clipped_much and best_error > whole_error * 10.0**-0.1:
        return Range(min(best.low, min_clip_ratio * extremes.low), max(best.high, min_clip_ratio * extremes.high))
    return best


def range_error(statistics: Statistics, encoding: Encoding) -> float:
    """Return the mean squared quantization error over the histogram.

    Every bin counts with its centre while bins are narrower than steps; in 16 bits, where they are wider, with the
    clip error plus step^2 / 12.
    """
    if statistics.count == 0:
        return 0.0
    histogram = statistics.histogram
    used = np.flatnonzero(histogram.counts)
    weights = histogram.counts[used].astype(np.float64)
    centres = _bin_values(statistics, used)
    if histogram.width > 0.5 * encoding.scale:
        clipped = centres - np.clip(centres, encoding.low, encoding.high)
        return float((weights * clipped**2).sum() / statistics.count) + encoding.scale**2 / 12.0
    error = centres - encoding.round_trip(centres)
    return float((weights * error**2).sum() / statistics.count)


def encode(low: float, high: float, storage: str, asymmetric: bool) -> Encoding:
    """Return the encoding of a range, widened to hold zero. An empty range gives scale 1; scales never underflow."""
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("a range is finite")
    low, high = min(low, 0.0), max(high, 0.0)
    qmin, qmax = LIMITS[storage]
    threshold = max(-low, high)
    if threshold == 0.0:
        return Encoding(storage, 1.0, 0)
    if storage == "i8" and asymmetric:
        scale = _round_scale((high - low) / 255.0)
        zero_point = min(max(int(np.rint(qmin - low / scale)), qmin), qmax)
        return Encoding(storage, scale, zero_point)
    return Encoding(storage, _round_scale(threshold / qmax), 0)


def encode_constant(value: float, storage: str) -> Encoding:
    """Return the encoding of a value that is the same everywhere: code +-qmax is exactly the value."""
    if value == 0.0:
        return Encoding(storage, 1.0, 0)
    return Encoding(storage, _round_scale(abs(value) / LIMITS[storage][1]), 0)


def merge_ranges(members: Sequence[tuple[Statistics, Range]], storage: str, asymmetric: bool, steps: int = 4) -> Range:
    """Return one range for a scale group: the candidate with the least relative error summed over its members.

    Candidates are the members' own ranges, their union and geometric steps between the tightest and the union. The
    objective is `sum_m n_m * MSE_m / Var_m`, so that a member with a small range is not sacrificed.
    """
    if len(members) == 1:
        return members[0][1]
    own = [r for _, r in members]
    union = unite_ranges(own)
    candidates = [union, *own]
    for member in own:
        candidates.extend(_between(member, union, steps))
    best = union
    best_error = math.inf
    for candidate in candidates:
        encoding = encode(candidate.low, candidate.high, storage, asymmetric)
        error = sum(s.count * range_error(s, encoding) / max(s.variance, 1e-30) for s, _ in members)
        if error < best_error:
            best, best_error = candidate, error
    return Range(best.low, best.high, union.estimated)


def unite_ranges(ranges: Sequence[Range]) -> Range:
    """Return the smallest range that holds all given ones."""
    estimated = any(part.estimated for part in ranges)
    return Range(min(part.low for part in ranges), max(part.high for part in ranges), estimated)


def _between(member: Range, union: Range, steps: int) -> list[Range]:
    fractions = [step / (steps + 1) for step in range(1, steps + 1)]
    return [Range(_geometric(member.low, union.low, t), _geometric(member.high, union.high, t)) for t in fractions]


def _geometric(start: float, end: float, fraction: float) -> float:
    if start * end <= 0.0:
        return start + (end - start) * fraction
    return math.copysign(abs(start) ** (1.0 - fraction) * abs(end) ** fraction, end)


def _best(
    best: Range, best_error: float, candidates: Sequence[Range], error_of: Callable[[Range], float]
) -> tuple[Range, float]:
    """Return the range with the least error, the first of equal ones."""
    for candidate in candidates:
        error = error_of(candidate)
        if error < best_error:
            best, best_error = candidate, error
    return best, best_error


def _candidates(statistics: Statistics, asymmetric: bool) -> tuple[list[float], list[float]]:
    """Return lower and upper candidates at percentiles evenly spaced in -log(1 - p), plus the extremes."""
    start, end = (-math.log(1.0 - p) for p in SEARCH_PERCENTILES)
    tails = [math.exp(-(start + (end - start) * i / (CANDIDATES - 1))) for i in range(CANDIDATES)]
    quantile = _histogram_quantile if asymmetric else _magnitude_quantile
    highs = [quantile(statistics, 1.0 - tail) for tail in tails]
    lows = [_histogram_quantile(statistics, tail) for tail in tails] if asymmetric else []
    fractions = [1.0 - 0.05 * i for i in range(12)]
    highs.extend(statistics.maximum * fraction for fraction in fractions)
    lows.extend(statistics.minimum * fraction for fraction in fractions)
    return sorted({min(low, 0.0) for low in lows}), sorted({max(high, 0.0) for high in highs}, reverse=True)


def _tail_rank(tail: npt.NDArray[np.float32], count: int, rank: int) -> tuple[float, bool]:
    if rank < tail.size:
        return float(tail[rank]), True
    return 0.0, False


def _largest_magnitudes(statistics: Statistics, rank: int) -> tuple[float, bool]:
    joined = np.sort(np.concatenate([statistics.largest, -statistics.smallest]))[::-1]
    if rank >= joined.size:
        return 0.0, False
    value = float(joined[rank])
    complete = statistics.largest.size == statistics.count
    floor = max(float(statistics.largest[-1]), float(-statistics.smallest[-1]))
    return value, complete or value >= floor


def _bin_values(statistics: Statistics, bins: npt.NDArray[np.int64]) -> F64:
    """Return the value that stands for each bin: its centre, kept inside the extremes; zero for the bin of zeros.

    The bin [0, width) of a rectified value holds mostly exact zeros; where nothing is negative it counts as zero.
    """
    histogram = statistics.histogram
    values = np.clip(histogram.centres[bins], statistics.minimum, statistics.maximum)
    if statistics.minimum >= 0.0:
        values[bins == HALF_BINS] = 0.0
    return values


def _histogram_quantile(statistics: Statistics, fraction: float) -> float:
    histogram = statistics.histogram
    total = np.cumsum(histogram.counts)
    position = int(np.searchsorted(total, fraction * statistics.count))
    edges = histogram.edges
    value = edges[min(position, edges.size - 1)] + (histogram.width if fraction > 0.5 else 0.0)
    return float(np.clip(value, statistics.minimum, statistics.maximum))


def _magnitude_quantile(statistics: Statistics, fraction: float) -> float:
    counts = statistics.histogram.counts
    folded = counts[HALF_BINS:] + counts[:HALF_BINS][::-1]
    position = int(np.searchsorted(np.cumsum(folded), fraction * statistics.count))
    extreme = max(-statistics.minimum, statistics.maximum)
    return min((position + 1) * statistics.histogram.width, extreme)


def _round_scale(scale: float) -> float:
    return float(np.float32(max(scale, MINIMUM_SCALE)))
