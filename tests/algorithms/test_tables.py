"""Tables against a plain 120-digit evaluation with mpmath, entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qbc.algorithms.tables import (
    Function,
    byte_table,
    log_constants,
    mantissa_table,
    node_table,
    power_ratio,
    softmax_step,
)

mp = mpmath.mp.clone()
mp.dps = 120


def clip01(x: Any) -> Any:
    """Return x limited to 0..1."""
    return min(max(x, mp.mpf(0)), mp.mpf(1))


def gelu_tanh(x: Any) -> Any:
    """Return the tanh form of GELU."""
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)))


REFERENCE: dict[str, tuple[dict[str, float | str], Callable[[Any], Any]]] = {
    "leaky_relu": ({"alpha": 0.125}, lambda x: x if x >= 0 else x / 8),
    "sigmoid": ({}, lambda x: 1 / (1 + mp.exp(-x))),
    "hard_sigmoid": ({"alpha": 0.25, "beta": 0.5}, lambda x: clip01(x / 4 + mp.mpf(1) / 2)),
    "hard_swish": ({}, lambda x: x * clip01((x + 3) / 6)),
    "silu": ({}, lambda x: x / (1 + mp.exp(-x))),
    "gelu": ({"approximate": "none"}, lambda x: x * (1 + mp.erf(x / mp.sqrt(2))) / 2),
    "gelu_tanh": ({"approximate": "tanh"}, gelu_tanh),
    "tanh": ({}, mp.tanh),
    "exp": ({}, mp.exp),
    "abs": ({}, abs),
    "neg": ({}, lambda x: -x),
    "erf": ({}, mp.erf),
    "softplus": ({}, lambda x: mp.log(1 + mp.exp(x))),
    "elu": ({"alpha": 0.5}, lambda x: x if x >= 0 else (mp.exp(x) - 1) / 2),
    "mish": ({}, lambda x: x * mp.tanh(mp.log(1 + mp.exp(x)))),
    "sin": ({}, mp.sin),
    "cos": ({}, mp.cos),
    "floor": ({}, mp.floor),
    "ceil": ({}, mp.ceil),
    "square": ({}, lambda x: x * x),
    "log": ({}, mp.log),
    "sqrt": ({}, mp.sqrt),
    "rsqrt": ({}, lambda x: 1 / mp.sqrt(x)),
    "reciprocal": ({}, lambda x: 1 / x),
    "pow": ({"exponent": 1.5}, lambda x: x ** mp.mpf("1.5")),
}
POSITIVE_ONLY = {"log", "rsqrt"}
NOT_NEGATIVE = {"sqrt", "pow"}


def defined(name: str, x: int) -> bool:
    """Return whether the function exists at a multiple of the step."""
    if name in POSITIVE_ONLY:
        return x > 0
    return x >= 0 if name in NOT_NEGATIVE else name != "reciprocal" or x != 0


def nearest(name: str, x: int) -> int:
    """Return the defined position nearest to x, the larger of two."""
    return next(y for d in range(1000) for y in (x + d, x - d) if defined(name, y))


def entry(name: str, position: int, in_scale: float, out_scale: float) -> int:
    """Return floor(f(x)/Sy + 1/2) at high precision."""
    _, reference = REFERENCE[name]
    x = mp.mpf(in_scale) * nearest(name, position)
    return int(mp.floor(reference(x) / mp.mpf(out_scale) + mp.mpf(1) / 2))


def function(name: str) -> Function:
    """Return the function under test."""
    return Function.of(name.removesuffix("_tanh"), REFERENCE[name][0])


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize(("in_scale", "zero", "out_scale"), [(0.0625, 5, 0.03125), (0.0371, -128, 0.0123)])
def test_byte_table(name: str, in_scale: float, zero: int, out_scale: float) -> None:
    in_scale, out_scale = float(np.float32(in_scale)), float(np.float32(out_scale))
    table = byte_table(function(name), in_scale, zero, out_scale, 7, -128, 127)
    wanted = [min(max(entry(name, q - zero, in_scale, out_scale) + 7, -128), 127) for q in range(-128, 128)]
    assert table.tolist() == wanted


@pytest.mark.parametrize("name", ["sigmoid", "hard_swish", "gelu", "tanh", "leaky_relu", "mish"])
def test_node_table(name: str) -> None:
    in_scale, out_scale = float(np.float32(8 / 32639)), float(np.float32(8 / 32639))
    table = node_table(function(name), in_scale, out_scale, 0)
    assert len(table) == 513
    for j in range(0, 513, 7):
        assert table[j] == entry(name, 128 * j - 32768, in_scale, out_scale)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["sigmoid", "tanh", "silu", "gelu", "exp"]), st.integers(1, 400), st.integers(1, 400))
def test_monotone_and_exact_on_random_scales(name: str, a: int, b: int) -> None:
    in_scale, out_scale = float(np.float32(a / 5000)), float(np.float32(b / 5000))
    table = byte_table(function(name), in_scale, 3, out_scale, -5, -128, 127)
    if name in ("sigmoid", "tanh", "exp"):
        assert (np.diff(table) >= 0).all()
    for q in (-128, -17, 3, 4, 90, 127):
        assert table[q + 128] == min(max(entry(name, q - 3, in_scale, out_scale) - 5, -128), 127)


def test_exact_halves_round_up() -> None:
    table = byte_table(Function.of("hard_sigmoid", {"alpha": 0.25, "beta": 0.5}), 0.5, 0, 0.25, 0, -128, 127)
    assert table[128 + 1] == 3  # (0.125 + 0.5) / 0.25 = 2.5
    assert table[128 - 1] == 2  # 1.5


def test_mantissa_tables_and_constants() -> None:
    for name, power, bits in (("reciprocal", -1, 30), ("rsqrt", -0.5, 30), ("sqrt", 0.5, 29)):
        table = np.atleast_2d(mantissa_table(name))
        for h, row in enumerate(table):
            wanted = [
                int(mp.floor(mp.mpf(2) ** bits * (mp.mpf(256 + j) / 256 * 2**h) ** mp.mpf(power) + mp.mpf(1) / 2))
                for j in range(257)
            ]
            assert row.tolist() == wanted
    assert mantissa_table("log")[256] == round(2**24 * float(mp.log(2)))
    assert log_constants(0.5) == (11629080, -11629080)
    assert power_ratio("reciprocal", 0.5, 0.25) == Fraction(8, 1 << 30)
    assert softmax_step(1.0, 1.0) == int(mp.floor(2**24 / mp.log(2) + mp.mpf(1) / 2))
