"""Where a function of one variable is flat: parts of its input range that codes need not tell apart.

A table lookup whose input is clipped at `low` gives f(low) for everything below. Where f moves less than a fraction of
an output step there, clipping changes (almost) nothing and the input codes become finer: hard_swish is 0 below -3,
hard_sigmoid constant outside [-beta/alpha, (1-beta)/alpha], sigmoid within half a step of 0 and 1 outside +-6.2.
These float functions only choose ranges and precision; they decide no bit of a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from qbc.algorithms import tables
from qbc.algorithms.statistics import Statistics

F64 = npt.NDArray[np.float64]
Function = Callable[[F64], F64]

GRID = 4097
TAIL = 0.001  # share of results at each end that do not count in `rounding_sqnr`
TOLERANCE_STEPS = 0.25  # how far, in output steps, clipping may move a result


def function_of(name: str, parameters: Mapping[str, float | str]) -> Function | None:
    """Return the float64 form of a table function (or of "clip" with `min` and `max`), or None for an unknown name."""
    if name == "clip":
        low, high = float(parameters.get("min", -math.inf)), float(parameters.get("max", math.inf))
        return lambda x: np.clip(x, low, high)
    if name not in tables.FUNCTION_NAMES:
        return None
    function = tables.Function.of(name, parameters)
    return lambda x: tables.evaluate(function, x)


def active_range(function: Function, low: float, high: float, output_step: float) -> tuple[float, float]:
    """Return the part of `low..high` outside which `function` moves at most a quarter of `output_step`.

    Clipping an input to the returned interval changes no result by more than that.
    """
    if not low < high:
        return low, high
    grid = np.linspace(low, high, GRID)
    values = function(grid)
    tolerance = TOLERANCE_STEPS * output_step
    return float(grid[_flat_prefix(values, tolerance)]), float(grid[GRID - 1 - _flat_prefix(values[::-1], tolerance)])


def rounding_sqnr(function: Function, statistics: Statistics, step: float, low: float, high: float) -> float:
    """Return, in dB, the variance of `function(x)` over the squared error that rounding x to `step` causes there.

    Both count the central 99.8 % of the results: a few large ones would make any step look fine. x is clipped to
    `low..high` first, as codes clip it; what clipping costs does not count. Infinite where the function is not defined
    on all values: nothing can be said then.
    """

    def mean_square(centres: F64, values: F64) -> F64:
        moved = function(np.minimum(centres + 0.5 * step, high)) - function(np.maximum(centres - 0.5 * step, low))
        return np.asarray(moved**2 / 12.0)

    return _sqnr(function, statistics, low, high, mean_square)


def interpolation_sqnr(function: Function, statistics: Statistics, spacing: float, low: float, high: float) -> float:
    """Return, in dB, the variance of `function(x)` over the squared error of drawing straight lines between nodes.

    Nodes lie at the multiples of `spacing`, as those of a 16-bit table do (128 codes apart). Counted as in
    `rounding_sqnr`.
    """

    def mean_square(centres: F64, values: F64) -> F64:
        left = np.floor(centres / spacing) * spacing
        fraction = (centres - left) / spacing
        drawn = function(left) * (1.0 - fraction) + function(left + spacing) * fraction
        return np.asarray((drawn - values) ** 2)

    return _sqnr(function, statistics, low, high, mean_square)


def _sqnr(
    function: Function,
    statistics: Statistics,
    low: float,
    high: float,
    mean_square: Callable[[F64, F64], F64],
) -> float:
    histogram = statistics.histogram
    used = np.flatnonzero(histogram.counts)
    centres = np.clip(histogram.centres[used], low, high)
    values = function(centres)
    if not np.isfinite(values).all():
        return math.inf
    weights = histogram.counts[used] * _is_central(values, histogram.counts[used])
    weights = weights / weights.sum()
    variance = float((weights * (values - (weights * values).sum()) ** 2).sum())
    noise = float((weights * mean_square(centres, values)).sum())
    if noise == 0.0 or math.isnan(noise):
        return math.inf
    return 10.0 * math.log10(variance / noise) if variance > 0.0 else -math.inf


def _is_central(values: F64, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which values lie between the quantiles 0.001 and 0.999 of the distribution with these counts."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(counts[order]) / counts.sum()
    low = values[order][np.searchsorted(below, TAIL)]
    high = values[order][min(int(np.searchsorted(below, 1.0 - TAIL)), values.size - 1)]
    return np.asarray((values >= low) & (values <= high))


def _flat_prefix(values: F64, tolerance: float) -> int:
    """Return the last index up to which every earlier value is within `tolerance` of the value at the index."""
    highest = np.maximum.accumulate(values)
    lowest = np.minimum.accumulate(values)
    flat = (highest - values <= tolerance) & (values - lowest <= tolerance)
    return int(np.flatnonzero(flat)[-1])
