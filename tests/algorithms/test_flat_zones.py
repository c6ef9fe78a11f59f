"""Flat zones and rounding errors against the functions themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qbc.algorithms.fidelity import Fidelity
from qbc.algorithms.flat_zones import (
    TOLERANCE_STEPS,
    active_range,
    function_of,
    interpolation_sqnr,
    rounding_sqnr,
)
from qbc.algorithms.statistics import Sketch


@pytest.mark.parametrize(
    "name,parameters,low,high,expected",
    [
        ("hard_swish", {}, -30.0, 20.0, (-3.0, 20.0)),
        ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}, -9.0, 9.0, (-2.5, 2.5)),
        ("clip", {"min": 0.0, "max": 6.0}, -5.0, 30.0, (0.0, 6.0)),
        ("silu", {}, -2.0, 3.0, (-2.0, 3.0)),
        ("hard_swish", {"gain": -2.0, "offset": 5.0}, -30.0, 20.0, (-3.0, 20.0)),
    ],
)
def test_exact_zones(
    name: str, parameters: dict[str, float], low: float, high: float, expected: tuple[float, float]
) -> None:
    function = function_of(name, parameters)
    assert function is not None
    assert active_range(function, low, high, 1e-6) == pytest.approx(expected, abs=(high - low) / 2000)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "silu", "gelu", "mish", "softplus", "erf", "exp", "hard_swish"])
def test_clipping_moves_results_by_less_than_the_tolerance(name: str) -> None:
    function = function_of(name, {})
    assert function is not None
    step = 1 / 255
    low, high = active_range(function, -12.0, 9.0, step)
    x = np.linspace(-12.0, 9.0, 5001)
    assert np.abs(function(np.clip(x, low, high)) - function(x)).max() <= 1.01 * TOLERANCE_STEPS * step
    assert low > -12.0


def test_sigmoid_keeps_what_a_byte_can_tell() -> None:
    function = function_of("sigmoid", {})
    assert function is not None
    low, high = active_range(function, -50.0, 50.0, 1 / 255)
    assert -8.0 < low < -5.5 and 5.5 < high < 8.0


def test_unknown_functions_have_no_zone() -> None:
    assert function_of("conv2d", {}) is None


def test_rounding_error_matches_a_simulation() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200_000).astype(np.float32) * 2
    sketch = Sketch()
    sketch.update(x)
    function = function_of("hard_swish", {})
    assert function is not None
    step = 0.1
    y = function(x.astype(np.float64))
    noise = np.square(function(np.rint(x.astype(np.float64) / step) * step) - y).mean()
    simulated = 10 * math.log10(y.var() / noise)
    assert rounding_sqnr(function, sketch.freeze(), step, -20.0, 20.0) == pytest.approx(simulated, abs=0.5)


def test_a_few_large_values_do_not_hide_the_error() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(100_000).astype(np.float32)
    x[:20] = 400.0
    function = function_of("silu", {})
    assert function is not None
    sketch = Sketch()
    sketch.update(x)
    assert rounding_sqnr(function, sketch.freeze(), 400 / 255, -1.0, 400.0) < 10.0


def test_undefined_functions_say_nothing() -> None:
    sketch = Sketch()
    sketch.update(np.linspace(-1, 1, 100, dtype=np.float32))
    function = function_of("log", {})
    assert function is not None
    assert rounding_sqnr(function, sketch.freeze(), 0.1, -1.0, 1.0) == math.inf


def test_fidelity_is_centred() -> None:
    rng = np.random.default_rng(2)
    y, noise = rng.standard_normal(1000), 0.1 * rng.standard_normal(1000)
    near, far = Fidelity(), Fidelity()
    for part in np.array_split(np.arange(1000), 3):
        near.add(y[part], (y + noise)[part])
        far.add(y[part] + 1e3, (y + noise)[part] + 1e3)
    expected = 10 * math.log10(np.square(y - y.mean()).sum() / np.square(noise).sum())
    assert near.sqnr == pytest.approx(expected, abs=1e-9) and far.sqnr == pytest.approx(expected, abs=1e-4)
    assert near.worst == pytest.approx(np.abs(noise).max())
    exact, constant = Fidelity(), Fidelity()
    exact.add(y, y)
    constant.add(np.ones(3), np.zeros(3))
    assert exact.sqnr == math.inf and constant.sqnr == -math.inf


def test_interpolation_error_matches_a_simulation() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(100_000).astype(np.float32)
    sketch = Sketch()
    sketch.update(x)
    function = function_of("silu", {})
    assert function is not None
    nodes = 0.5 * np.arange(-40, 41)
    y = function(x.astype(np.float64))
    noise = np.square(np.interp(x, nodes, function(nodes)) - y).mean()
    expected = 10 * math.log10(y.var() / noise)
    assert interpolation_sqnr(function, sketch.freeze(), 0.5, -20.0, 20.0) == pytest.approx(expected, abs=0.5)
