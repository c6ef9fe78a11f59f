"""Lookup tables of functions of one variable, rounded half up from values that are exact enough to decide.

A float64 evaluation decides every entry whose value is not near a half; the others are evaluated with 96 bits (mpmath),
rational functions with fractions. So the tables do not depend on the processor or on library versions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from qbc.algorithms.fixed_point import exact, half_up
from qbc.errors import QBCompilerError

Array = npt.NDArray[Any]

PRECISION_BITS = 96
LUT16_NODES = 513
LUT16_STEP = 128
MANTISSA_NODES = 257
I16_LOW = -32768
_NODE_LIMIT = (1 << 31) - 1
_DOUBT = 2.0**-32  # error allowed to the float64 evaluation, relative and absolute; it is far better than that


@dataclass(frozen=True)
class Function:
    """A function by name with its parameters, hashable so that equal tables are built once.

    The parameters `gain` and `offset` belong to every function: the value is `gain * f(x) + offset`.
    """

    name: str
    parameters: tuple[tuple[str, float | str], ...] = field(default=())

    @staticmethod
    def of(name: str, parameters: Mapping[str, float | str]) -> Function:
        """Return the function with parameters in a fixed order."""
        return Function(name, tuple(sorted(parameters.items())))

    def number(self, name: str, default: float) -> float:
        """Return a numeric parameter."""
        return float(dict(self.parameters).get(name, default))

    def text(self, name: str, default: str) -> str:
        """Return a text parameter."""
        return str(dict(self.parameters).get(name, default))


# --- float64 evaluation ------------------------------------------------------------------------------------------


def evaluate(function: Function, x: Array) -> Array:
    """Return f(x) in float64; NaN where the function is not defined."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        value = _FLOAT[function.name](function, x)
        return np.asarray(function.number("gain", 1.0) * value + function.number("offset", 0.0))


def _sigmoid(x: Array) -> Array:
    return np.where(x >= 0, 1.0 / (1.0 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1.0 + np.exp(-np.abs(x))))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def _erfc(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erfc, otypes=[np.float64])(x))


def _gelu(function: Function, x: Array) -> Array:
    if function.text("approximate", "none") == "tanh":
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
        return x * _sigmoid(2.0 * inner)
    return 0.5 * x * _erfc(-x / math.sqrt(2.0))


def _mish(x: Array) -> Array:
    # tanh(ln(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2) without cancellation for e -> 0.
    e = np.exp(np.minimum(x, 40.0))
    return x * (e * (e + 2.0)) / (e * (e + 2.0) + 2.0)


_FLOAT: dict[str, Callable[[Function, Array], Array]] = {
    "leaky_relu": lambda f, x: np.where(x >= 0, x, f.number("alpha", 0.01) * x),
    "sigmoid": lambda f, x: _sigmoid(x),
    "hard_sigmoid": lambda f, x: np.clip(f.number("alpha", 0.2) * x + f.number("beta", 0.5), 0.0, 1.0),
    "hard_swish": lambda f, x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    "silu": lambda f, x: x * _sigmoid(x),
    "gelu": _gelu,
    "tanh": lambda f, x: np.tanh(x),
    "exp": lambda f, x: np.exp(x),
    "log": lambda f, x: np.where(x > 0, np.log(x), np.nan),
    "sqrt": lambda f, x: np.where(x >= 0, np.sqrt(x), np.nan),
    "rsqrt": lambda f, x: np.where(x > 0, 1.0 / np.sqrt(x), np.nan),
    "reciprocal": lambda f, x: np.where(x != 0, 1.0 / x, np.nan),
    "abs": lambda f, x: np.abs(x),
    "neg": lambda f, x: -x,
    "erf": lambda f, x: _erf(x),
    "softplus": lambda f, x: _softplus(x),
    "elu": lambda f, x: np.where(x >= 0, x, f.number("alpha", 1.0) * np.expm1(np.minimum(x, 0.0))),
    "mish": lambda f, x: _mish(x),
    "sin": lambda f, x: np.sin(x),
    "cos": lambda f, x: np.cos(x),
    "floor": lambda f, x: np.floor(x),
    "ceil": lambda f, x: np.ceil(x),
    "square": lambda f, x: x * x,
    "pow": lambda f, x: _power(x, f.number("exponent", 1.0)),
}


FUNCTION_NAMES = frozenset(_FLOAT)


def _power(x: Array, exponent: float) -> Array:
    if exponent == int(exponent):
        return np.where((x == 0) & (exponent < 0), np.nan, np.power(x, exponent))
    return np.where((x > 0) | ((x == 0) & (exponent > 0)), np.power(np.maximum(x, 0.0), exponent), np.nan)


# --- exact evaluation --------------------------------------------------------------------------------------------


def evaluate_exactly(function: Function, x: Fraction) -> Fraction:
    """Return f(x): exact for rational functions, with 96 bits for the others (whose domain must hold x)."""
    gain, offset = exact(function.number("gain", 1.0)), exact(function.number("offset", 0.0))
    return gain * _evaluate_plain(function, x) + offset


def _evaluate_plain(function: Function, x: Fraction) -> Fraction:
    rational = _RATIONAL.get(function.name)
    if rational is not None:
        return rational(function, x)
    with mpmath.workprec(PRECISION_BITS):
        value = _TRANSCENDENTAL[function.name](function, mpmath.mpf(x.numerator) / x.denominator)
        return fraction_of(value)


def fraction_of(value: Any) -> Fraction:
    """Return an mpmath number as the rational it is."""
    sign, mantissa, exponent, _ = value._mpf_
    magnitude = Fraction(int(mantissa)) * (Fraction(2) ** int(exponent))
    return -magnitude if sign else magnitude


def _clipped(value: Fraction) -> Fraction:
    return min(max(value, Fraction(0)), Fraction(1))


_RATIONAL: dict[str, Callable[[Function, Fraction], Fraction]] = {
    "leaky_relu": lambda f, x: x if x >= 0 else exact(f.number("alpha", 0.01)) * x,
    "hard_sigmoid": lambda f, x: _clipped(exact(f.number("alpha", 0.2)) * x + exact(f.number("beta", 0.5))),
    "hard_swish": lambda f, x: x * _clipped(x / 6 + Fraction(1, 2)),
    "reciprocal": lambda f, x: 1 / x,
    "abs": lambda f, x: abs(x),
    "neg": lambda f, x: -x,
    "floor": lambda f, x: Fraction(math.floor(x)),
    "ceil": lambda f, x: Fraction(math.ceil(x)),
    "square": lambda f, x: x * x,
}


def _exact_gelu(function: Function, x: Any) -> Any:
    if function.text("approximate", "none") == "tanh":
        inner = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)
        return x / 2 * (1 + mpmath.tanh(inner))
    return x / 2 * mpmath.erfc(-x / mpmath.sqrt(2))


_TRANSCENDENTAL: dict[str, Callable[[Function, Any], Any]] = {
    "sigmoid": lambda f, x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda f, x: x / (1 + mpmath.exp(-x)),
    "gelu": _exact_gelu,
    "tanh": lambda f, x: mpmath.tanh(x),
    "exp": lambda f, x: mpmath.exp(x),
    "log": lambda f, x: mpmath.log(x),
    "sqrt": lambda f, x: mpmath.sqrt(x),
    "rsqrt": lambda f, x: 1 / mpmath.sqrt(x),
    "erf": lambda f, x: mpmath.erf(x),
    "softplus": lambda f, x: mpmath.log1p(mpmath.exp(x)),
    "elu": lambda f, x: x if x >= 0 else mpmath.mpf(f.number("alpha", 1.0)) * mpmath.expm1(x),
    "mish": lambda f, x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))),
    "sin": lambda f, x: mpmath.sin(x),
    "cos": lambda f, x: mpmath.cos(x),
    "pow": lambda f, x: x ** mpmath.mpf(f.number("exponent", 1.0)),
}


# --- tables ------------------------------------------------------------------------------------------------------


def rounded_values(function: Function, positions: Array, in_scale: float, out_scale: float) -> Array:
    """Return hu(f(in_scale * position) / out_scale) for integer positions, saturated to 31 bits, int64.

    Where the function is not defined the entry is that of the nearest position where it is.
    """
    with np.errstate(all="ignore"):
        value = evaluate(function, float(in_scale) * positions.astype(np.float64)) / float(out_scale)
    defined = ~np.isnan(value)
    if not defined.any():
        raise QBCompilerError(
            f"{function.name} is defined nowhere on the range of its input", code="QUANTIZATION_ERROR"
        )
    steps = np.clip(np.where(defined, value, 0.0), -float(_NODE_LIMIT), float(_NODE_LIMIT))
    rounded = np.floor(steps + 0.5).astype(np.int64)
    magnitude = np.abs(steps) + abs(function.number("offset", 0.0)) / float(out_scale)  # terms may cancel
    near = np.abs(steps + 0.5 - np.rint(steps + 0.5)) <= magnitude * _DOUBT + _DOUBT
    for index in np.flatnonzero(near & defined & (np.abs(steps) < _NODE_LIMIT)):
        x = exact(in_scale) * int(positions[index])
        rounded[index] = half_up(evaluate_exactly(function, x) / exact(out_scale))
    return rounded[_nearest_defined(defined)]


def _nearest_defined(defined: Array) -> Array:
    """Return for each index that of the nearest defined entry; of two equally near ones the larger (1/0 is large)."""
    where = np.flatnonzero(defined)
    after = np.clip(np.searchsorted(where, np.arange(len(defined))), 0, len(where) - 1)
    before = np.maximum(after - 1, 0)
    index = np.arange(len(defined))
    use_before = np.abs(index - where[before]) < np.abs(where[after] - index)
    return np.where(use_before, where[before], where[after])


@lru_cache(maxsize=512)
def byte_table(
    function: Function, in_scale: float, in_zero: int, out_scale: float, out_zero: int, low: int, high: int
) -> Array:
    """Return the 256 output codes of an i8 input (index code + 128), clamped to low..high; int64."""
    codes = np.arange(-128, 128, dtype=np.int64)
    table: Array = np.clip(rounded_values(function, codes - in_zero, in_scale, out_scale) + out_zero, low, high)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=128)
def node_table(function: Function, in_scale: float, out_scale: float, out_zero: int) -> Array:
    """Return the 513 nodes of a 16-bit input at codes 128*j - 32768, on the output scale, not clamped; int64."""
    nodes = LUT16_STEP * np.arange(LUT16_NODES, dtype=np.int64) + I16_LOW
    table: Array = np.clip(rounded_values(function, nodes, in_scale, out_scale) + out_zero, -_NODE_LIMIT, _NODE_LIMIT)
    table.setflags(write=False)
    return table


# --- mantissa tables ---------------------------------------------------------------------------------------------

POWERS: dict[str, tuple[Fraction, int, int]] = {
    "reciprocal": (Fraction(-1), 30, 1),
    "rsqrt": (Fraction(-1, 2), 30, 2),
    "sqrt": (Fraction(1, 2), 29, 2),
}  # function -> (exponent p, fraction bits F, rows)


@lru_cache(maxsize=8)
def mantissa_table(function: str) -> Array:
    """Return the nodes over mu = 1 + j/256: `hu(2^F * (mu * 2^h)^p)` (row h), or `hu(2^24 * ln mu)` for the log."""
    with mpmath.workprec(PRECISION_BITS):
        if function == "log":
            rows = [[_nearest(mpmath.ldexp(mpmath.log(_mu(j)), 24)) for j in range(MANTISSA_NODES)]]
        else:
            power, bits, count = POWERS[function]
            p = mpmath.mpf(power.numerator) / power.denominator
            rows = [
                [_nearest(mpmath.ldexp((_mu(j) * 2**h) ** p, bits)) for j in range(MANTISSA_NODES)]
                for h in range(count)
            ]
    table = np.array(rows, dtype=np.int64)
    table = table if len(rows) > 1 else table[0]
    table.setflags(write=False)
    return table


def _mu(j: int) -> Any:
    return mpmath.mpf(256 + j) / 256


def _nearest(value: Any) -> int:
    return int(mpmath.floor(value + mpmath.mpf(0.5)))


def power_ratio(function: str, in_scale: float, out_scale: float) -> Fraction:
    """Return Sx^p / (Sy * 2^F) of a mantissa table."""
    power, bits, _ = POWERS[function]
    with mpmath.workprec(PRECISION_BITS):
        scaled = mpmath.mpf(in_scale) ** (mpmath.mpf(power.numerator) / power.denominator)
        return fraction_of(scaled) / (exact(out_scale) * (1 << bits))


def log_constants(in_scale: float) -> tuple[int, int]:
    """Return (c1, c2) = (hu(2^24 * ln 2), hu(2^24 * ln Sx))."""
    with mpmath.workprec(PRECISION_BITS):
        return _nearest(mpmath.ldexp(mpmath.log(2), 24)), _nearest(mpmath.ldexp(mpmath.log(mpmath.mpf(in_scale)), 24))


@lru_cache(maxsize=1)
def log2_table() -> Array:
    """Return the 257 nodes hu(2^24 * log2(1 + j/256)) of the log-softmax."""
    with mpmath.workprec(PRECISION_BITS):
        nodes = [_nearest(mpmath.ldexp(mpmath.log(_mu(j)) / mpmath.log(2), 24)) for j in range(MANTISSA_NODES)]
    table = np.array(nodes, dtype=np.int64)
    table.setflags(write=False)
    return table


def log_softmax_ratio(out_scale: float) -> Fraction:
    """Return ln 2 / (2^24 * Sy)."""
    with mpmath.workprec(PRECISION_BITS):
        return fraction_of(mpmath.log(2)) / (exact(out_scale) * (1 << 24))


def softmax_step(in_scale: float, beta: float) -> int:
    """Return K = hu(S * beta * log2(e) * 2^24)."""
    with mpmath.workprec(PRECISION_BITS):
        step = mpmath.mpf(in_scale) * mpmath.mpf(beta) / mpmath.log(2)
        return _nearest(mpmath.ldexp(step, 24))
