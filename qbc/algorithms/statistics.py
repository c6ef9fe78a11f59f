"""Mergeable statistics of one value: extremes, mean, exact tails and a histogram.

A sketch depends on the multiset of elements only, not on their order or on how they were split into shards: minimum,
maximum, tails and histogram are bit-equal, sums agree to rounding (1e-12).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

HALF_BINS = 2048  # bins on each side of zero
MINIMUM_EXPONENT = -100  # the narrowest bin is 2**-100
MAX_TAIL = 16384  # elements kept exactly at each end

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass
class Histogram:
    """Counts of `floor(x / 2**exponent)` in [-2048, 2048): bins are aligned at zero and their width is a power of two.

    When a value does not fit, the width doubles and neighbouring bins are added, so counts stay exact and the final
    histogram is the one that the final width gives directly.
    """

    exponent: int = MINIMUM_EXPONENT
    counts: I64 = field(default_factory=lambda: np.zeros(2 * HALF_BINS, np.int64))

    @property
    def width(self) -> float:
        """Width of a bin."""
        return math.ldexp(1.0, self.exponent)

    @property
    def edges(self) -> F64:
        """Lower edge of every bin."""
        return np.arange(-HALF_BINS, HALF_BINS, dtype=np.float64) * self.width

    @property
    def centres(self) -> F64:
        """Centre of every bin."""
        return self.edges + 0.5 * self.width

    def widen(self, exponent: int) -> None:
        """Double the bin width until it is at least `2**exponent`."""
        while self.exponent < exponent:
            if not self.counts.any():
                self.exponent = exponent
                return
            halved = np.zeros_like(self.counts)
            quarter = HALF_BINS // 2
            halved[quarter : 3 * quarter] = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = halved
            self.exponent += 1


@dataclass
class Tail:
    """The largest `capacity` elements seen, as a multiset; ties at the threshold do not change it."""

    capacity: int = MAX_TAIL
    _buffer: F32 = field(default_factory=lambda: np.empty(0, np.float32))
    _size: int = 0
    _threshold: float = -math.inf

    def add(self, values: F32, sign: float) -> None:
        """Offer `sign * values`; everything at or below the smallest kept element costs one comparison."""
        if self._buffer.size == 0:
            self._buffer = np.empty(self.capacity + max(self.capacity // 2, 1), np.float32)
        position = 0
        while position < values.size:
            position, self._size = _offer(values, position, sign, self._threshold, self._buffer, self._size)
            if self._size == self._buffer.size:
                self._compact()

    def largest(self, count: int) -> F32:
        """Return up to `count` of the largest elements, in descending order."""
        ordered = np.sort(self._buffer[: self._size])[::-1]
        return ordered[: min(count, self.capacity)].copy()

    def _compact(self) -> None:
        kept = np.partition(self._buffer[: self._size], self._size - self.capacity)[self._size - self.capacity :]
        self._buffer[: self.capacity] = kept
        self._size = self.capacity
        self._threshold = float(kept.min())


@dataclass
class Sketch:
    """Statistics of one value over all samples; every `update` is one sample."""

    count: int = 0
    samples: int = 0
    minimum: float = math.inf
    maximum: float = -math.inf
    total: float = 0.0
    square: float = 0.0
    histogram: Histogram = field(default_factory=Histogram)
    high: Tail = field(default_factory=Tail)
    low: Tail = field(default_factory=Tail)

    def update(self, values: npt.NDArray[np.generic]) -> None:
        """Add all elements of an array; raises ValueError when one is NaN or infinite."""
        # In memory order, so that a transposed view is not copied; the order does not matter.
        flat = np.asarray(values, dtype=np.float32).ravel(order="K")
        if flat.size == 0:
            return
        low, high, total, square = _moments(flat)
        if not math.isfinite(total) and not (math.isfinite(low) and math.isfinite(high) and np.isfinite(flat).all()):
            raise ValueError("NaN or infinite")
        self.count += flat.size
        self.samples += 1
        self.minimum = min(self.minimum, low)
        self.maximum = max(self.maximum, high)
        self.total += total
        self.square += square
        self.histogram.widen(bin_exponent(self.minimum, self.maximum))
        _fill(flat, np.float64(math.ldexp(1.0, -self.histogram.exponent)), self.histogram.counts)
        self.high.add(flat, 1.0)
        self.low.add(flat, -1.0)

    def merge(self, other: Sketch) -> None:
        """Add the elements that `other` has seen."""
        self.count += other.count
        self.samples += other.samples
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        self.total += other.total
        self.square += other.square
        other_histogram = Histogram(other.histogram.exponent, other.histogram.counts.copy())
        if other.count == 0:
            return
        exponent = bin_exponent(self.minimum, self.maximum)
        self.histogram.widen(exponent)
        other_histogram.widen(exponent)
        self.histogram.counts = self.histogram.counts + other_histogram.counts
        self.high.add(other.high.largest(other.high.capacity), 1.0)
        self.low.add(other.low.largest(other.low.capacity), 1.0)

    def freeze(self, tail_ratio: float = 0.01) -> Statistics:
        """Return the finished statistics with `ceil(tail_ratio * count)` elements (at most the capacity) a tail."""
        kept = math.ceil(tail_ratio * self.count)
        return Statistics(
            count=self.count,
            samples=self.samples,
            minimum=self.minimum if self.count else 0.0,
            maximum=self.maximum if self.count else 0.0,
            total=self.total,
            square=self.square,
            exponent=self.histogram.exponent,
            counts=self.histogram.counts,
            largest=self.high.largest(kept),
            smallest=-self.low.largest(kept),
        )


@dataclass(frozen=True)
class Statistics:
    """Finished statistics: what range selection reads. `largest` descends, `smallest` ascends."""

    count: int
    samples: int
    minimum: float
    maximum: float
    total: float
    square: float
    exponent: int
    counts: I64
    largest: F32
    smallest: F32

    @property
    def mean(self) -> float:
        """Mean of all elements."""
        return self.total / self.count if self.count else 0.0

    @property
    def variance(self) -> float:
        """Population variance, never negative."""
        return max(self.square / self.count - self.mean**2, 0.0) if self.count else 0.0

    @property
    def histogram(self) -> Histogram:
        """The histogram as an object."""
        return Histogram(self.exponent, self.counts)

    def to_arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the fields as arrays: all numbers in the order of the fields, then counts and tails."""
        numbers = (self.count, self.samples, self.minimum, self.maximum, self.total, self.square, self.exponent)
        return np.array(numbers, np.float64), self.counts, self.largest, self.smallest

    @classmethod
    def from_arrays(cls, arrays: Sequence[npt.NDArray[Any]]) -> Statistics:
        """Rebuild statistics from what `to_arrays` gave."""
        numbers, counts, largest, smallest = arrays
        count, samples, low, high, total, square, exponent = (float(v) for v in numbers)
        return cls(int(count), int(samples), low, high, total, square, int(exponent), counts, largest, smallest)


def merge_statistics(parts: list[Statistics]) -> Statistics:
    """Return the statistics of all elements of `parts` together.

    The tails hold what every part can vouch for: as many elements as the shortest relative tail allows.
    """
    exponent = max(part.exponent for part in parts)
    counts = np.zeros(2 * HALF_BINS, np.int64)
    for part in parts:
        histogram = Histogram(part.exponent, part.counts.copy())
        histogram.widen(exponent)
        counts += histogram.counts
    return Statistics(
        count=sum(part.count for part in parts),
        samples=max(part.samples for part in parts),
        minimum=min(part.minimum for part in parts),
        maximum=max(part.maximum for part in parts),
        total=sum(part.total for part in parts),
        square=sum(part.square for part in parts),
        exponent=exponent,
        counts=counts,
        largest=_merge_tails([(part.largest, part.count) for part in parts]),
        smallest=-_merge_tails([(-part.smallest, part.count) for part in parts]),
    )


def _merge_tails(tails: list[tuple[F32, int]]) -> F32:
    # Below the smallest kept element of a truncated tail nothing is known, so the merged tail ends there.
    floor = max((float(tail[-1]) for tail, count in tails if tail.size and tail.size < count), default=-math.inf)
    joined = np.sort(np.concatenate([tail for tail, _ in tails]))[::-1]
    return joined[joined >= floor].copy()


def bin_exponent(low: float, high: float) -> int:
    """Return the smallest exponent whose 2 * 2048 bins cover `low..high`; it depends on the extremes only."""
    extreme = max(abs(low), abs(high))
    if extreme == 0.0:
        return MINIMUM_EXPONENT
    exponent = math.frexp(extreme)[1] - HALF_BINS.bit_length() + 1
    # -extreme == -2048 bins still fits below; on the upper side the last bin ends before 2048 bins.
    while low >= math.ldexp(-HALF_BINS, exponent - 1) and high < math.ldexp(HALF_BINS, exponent - 1):
        exponent -= 1
    return max(exponent, MINIMUM_EXPONENT)


@numba.njit(cache=True, nogil=True)
def _moments(values: F32) -> tuple[float, float, float, float]:
    low = values[0]
    high = values[0]
    total = 0.0
    square = 0.0
    for value in values:
        low = min(low, value)
        high = max(high, value)
        wide = np.float64(value)
        total += wide
        square += wide * wide
    return low, high, total, square


@numba.njit(cache=True, nogil=True)
def _fill(values: F32, inverse: float, counts: I64) -> None:
    for value in values:
        counts[int(math.floor(value * inverse)) + 2048] += 1


@numba.njit(cache=True, nogil=True)
def _offer(values: F32, start: int, sign: float, threshold: float, buffer: F32, size: int) -> tuple[int, int]:
    capacity = buffer.size
    for position in range(start, values.size):
        value = sign * values[position]
        if value > threshold:
            buffer[size] = value
            size += 1
            if size == capacity:
                return position + 1, size
    return values.size, size
