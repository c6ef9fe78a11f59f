"""Ranges of graph outputs: a scale for each channel, and the range of logits that a sigmoid will read.

Nothing after an output makes up for a clipped value, so ranges are wider than what calibration has seen, and a channel
of which few values were seen is taken to need the range of the whole tensor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from qbc.algorithms.ranges import LIMITS, MINIMUM_SCALE, Encoding, encode
from qbc.algorithms.statistics import Statistics, merge_statistics

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

FEW_VALUES, MANY_VALUES = 1.0e2, 1.0e4  # of a channel: too few to tell its range, and enough
FINEST_STEP = 1.0 / 256.0  # no channel has a step below this part of the whole tensor's
STEP_TOLERANCE = 1.01  # rounding of zero points may make a step this much larger than the whole tensor's
LOGIT_CANDIDATES = 256
LOGIT_BOUNDS = (2.0, 12.0)


@dataclass
class ChannelExtremes:
    """Smallest and largest value of each channel of the last axis over all samples, and how many values it had."""

    low: F64 = field(default_factory=lambda: np.empty(0))
    high: F64 = field(default_factory=lambda: np.empty(0))
    count: int = 0

    def add(self, x: npt.NDArray[np.generic]) -> None:
        """Add values [..., C]."""
        flat = np.asarray(x, np.float32).reshape(-1, x.shape[-1] if x.ndim else 1)
        if not flat.size:
            return
        low, high = flat.min(axis=0).astype(np.float64), flat.max(axis=0).astype(np.float64)
        self.low = np.minimum(self.low, low) if self.count else low
        self.high = np.maximum(self.high, high) if self.count else high
        self.count += flat.shape[0]

    def to_array(self) -> F64:
        """Return [3, C]: smallest, largest, count."""
        return np.stack([self.low, self.high, np.full(self.low.size, float(self.count))])


@dataclass(frozen=True)
class ChannelRanges:
    """The interval that the codes of each channel must cover; `low <= 0 <= high`."""

    low: F64
    high: F64

    @property
    def are_equal(self) -> bool:
        """Whether all channels have the same range."""
        return bool(np.ptp(self.low) == 0.0 and np.ptp(self.high) == 0.0)


def widened_ranges(low: F64, high: F64, count: F64, margin: float) -> ChannelRanges:
    """Return the ranges that unseen data of each channel may need, from the extremes of `count` values.

    With 10^4 values or more they are the extremes and the share `margin` beyond, with 100 or less the range of the
    whole tensor with its margin (the logit of a class that the samples do not show is no guide), and between both in
    proportion to log n. A channel that was zero throughout gets the range of the whole tensor.
    """
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    bottom, top = (1.0 + margin) * float(low.min()), (1.0 + margin) * float(high.max())
    share = np.log(np.maximum(count, 1.0) / FEW_VALUES) / math.log(MANY_VALUES / FEW_VALUES)
    known = np.where((low == 0.0) & (high == 0.0), 0.0, np.clip(share, 0.0, 1.0))
    return ChannelRanges(
        bottom + known * ((1.0 + margin) * low - bottom),
        top + known * ((1.0 + margin) * high - top),
    )


def encode_channels(ranges: ChannelRanges, storage: str, *, asymmetric: bool) -> tuple[F32, int]:
    """Return the float32 scale of each channel and the zero point that all share.

    Symmetric: `T / qmax` with the larger magnitude T of each channel. Asymmetric (i8): of all zero points that make no
    step larger than that of one scale for the whole tensor, the one with the least mean squared step, each relative to
    the step that the channel would have with a zero point of its own.
    """
    qmin, qmax = LIMITS[storage]
    if storage != "i8" or not asymmetric:
        steps = np.maximum(-ranges.low, ranges.high) / qmax
        return _rounded(steps, float(steps.max())), 0
    whole = (float(ranges.high.max()) - float(ranges.low.min())) / (qmax - qmin)
    if whole == 0.0:
        return np.ones(ranges.low.size, np.float32), 0
    zero_points = np.arange(qmin, qmax + 1)
    steps = np.maximum(
        _ratio(ranges.high[None, :], (qmax - zero_points)[:, None]),
        _ratio(-ranges.low[None, :], (zero_points - qmin)[:, None]),
    )
    own = np.maximum((ranges.high - ranges.low) / (qmax - qmin), FINEST_STEP * whole)
    loss = np.square(np.maximum(steps, own) / own).mean(axis=1)
    loss[(steps > STEP_TOLERANCE * whole).any(axis=1)] = math.inf
    best = int(np.argmin(loss)) if np.isfinite(loss).any() else int(np.argmin(steps.max(axis=1)))
    return _rounded(steps[best], whole), int(zero_points[best])


def _ratio(numerator: F64, codes: I64) -> F64:
    """Return numerator / codes, 0 where nothing is to be covered and infinite where there are no codes for it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator > 0.0, numerator / codes, 0.0)


def _rounded(steps: F64, whole: float) -> F32:
    floor = max(FINEST_STEP * whole, MINIMUM_SCALE)
    return np.asarray(np.maximum(steps, floor).astype(np.float32))


def sigmoid_range(parts: list[Statistics], storage: str, *, asymmetric: bool) -> tuple[float, float]:
    """Return the range of logits y that minimizes E[(sigmoid(y) - sigmoid(yhat))^2].

    Logits are clipped at plus/minus T, T one of 256 numbers in [2, min(max |y|, 12)]: at 6.2 the sigmoid is within half
    a step of 0 or 1, and a finer step counts more. Logits that stay within 2 keep their extremes.
    """
    statistics = merge_statistics(parts)
    extreme = max(-statistics.minimum, statistics.maximum)
    smallest, largest = LOGIT_BOUNDS
    if extreme <= smallest:
        return statistics.minimum, statistics.maximum
    used = np.flatnonzero(statistics.histogram.counts)
    values = np.clip(statistics.histogram.centres[used], statistics.minimum, statistics.maximum)
    weights = statistics.histogram.counts[used]
    wanted = _sigmoid(values)
    best, best_error = (statistics.minimum, statistics.maximum), math.inf
    for bound in np.linspace(smallest, min(extreme, largest), LOGIT_CANDIDATES):
        low, high = max(statistics.minimum, -float(bound)), min(statistics.maximum, float(bound))
        encoding: Encoding = encode(low, high, storage, asymmetric)
        error = float((weights * np.square(wanted - _sigmoid(encoding.round_trip(values)))).sum())
        if error < best_error:
            best, best_error = (low, high), error
    return best


def _sigmoid(x: F64) -> F64:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
