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

from qbc.algorithms.statistics import Statistics

F64 = npt.NDArray[np.float64]
Function = Callable[[F64], F64]

GRID = 4097
TOLERANCE_STEPS = 0.25  # how far, in output steps, clipping may move a result


def _sigmoid(x: F64) -> F64:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _erf(x: F64) -> F64:
    return np.vectorize(math.erf, otypes=[np.float64])(x)  # type: ignore[no-any-return]


def _gelu(x: F64, approximate: str) -> F64:
    if approximate == "tanh":
        return np.asarray(0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))))


def _softplus(x: F64) -> F64:
    return np.asarray(np.logaddexp(0.0, x))


def function_of(name: str, parameters: Mapping[str, float | str]) -> Function | None:
    """Return a float form of a function that may have flat zones, or None for one that has none to use.

    `parameters` are those of the operation: alpha, beta, approximate, and min, max of `clip`.
    """
    alpha, beta = float(parameters.get("alpha", 1.0)), float(parameters.get("beta", 0.0))
    low, high = float(parameters.get("min", -math.inf)), float(parameters.get("max", math.inf))
    approximate = str(parameters.get("approximate", "none"))
    table: dict[str, Function] = {
        "sigmoid": _sigmoid,
        "hard_sigmoid": lambda x: np.clip(alpha * x + beta, 0.0, 1.0),
        "hard_swish": lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0),
        "silu": lambda x: x * _sigmoid(x),
        "gelu": lambda x: _gelu(x, approximate),
        "tanh": lambda x: np.tanh(x),
        "erf": _erf,
        "elu": lambda x: np.where(x >= 0.0, x, alpha * np.expm1(np.minimum(x, 0.0))),
        "mish": lambda x: x * np.tanh(_softplus(x)),
        "softplus": _softplus,
        "exp": lambda x: np.exp(np.minimum(x, 700.0)),
        "clip": lambda x: np.clip(x, low, high),
    }
    return table.get(name)


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

    x is clipped to `low..high` first, as codes clip it; what clipping costs does not count here.
    """
    histogram = statistics.histogram
    used = np.flatnonzero(histogram.counts)
    weights = histogram.counts[used] / histogram.counts.sum()
    centres = np.clip(histogram.centres[used], low, high)
    values = function(centres)
    variance = float((weights * (values - (weights * values).sum()) ** 2).sum())
    moved = function(np.minimum(centres + 0.5 * step, high)) - function(np.maximum(centres - 0.5 * step, low))
    noise = float((weights * moved**2).sum()) / 12.0
    if noise == 0.0:
        return math.inf
    return 10.0 * math.log10(variance / noise) if variance > 0.0 else -math.inf


def _flat_prefix(values: F64, tolerance: float) -> int:
    """Return the last index up to which every earlier value is within `tolerance` of the value at the index."""
    highest = np.maximum.accumulate(values)
    lowest = np.minimum.accumulate(values)
    flat = (highest - values <= tolerance) & (values - lowest <= tolerance)
    return int(np.flatnonzero(flat)[-1])
