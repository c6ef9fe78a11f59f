"""Table functions against Python integers, and their tables' meaning against mpmath."""

import mpmath
import numpy as np
import pytest

from qbc.kernels.requantize import multiplier_of
from tests.kernels.support import codes, execute, rescale


@pytest.mark.parametrize("out", ["i8", "i16"])
def test_lut(out):
    rng = np.random.default_rng(1)
    lo, hi = (-128, 127) if out == "i8" else (-32768, 32639)
    table = rng.integers(lo, hi + 1, 256).astype(np.int8 if out == "i8" else np.int16)
    x = np.arange(-128, 128).reshape(2, 128)
    got = execute("lut", [(x, "i8")], (x.shape, out), {}, {"table": table})
    np.testing.assert_array_equal(got.reshape(-1), table)


@pytest.mark.parametrize(("out", "lo", "hi"), [("i8", -128, 127), ("i16", -32768, 32639), ("i16", -5, 7000)])
def test_lut16_all_codes(out, lo, hi):
    rng = np.random.default_rng(2)
    table = rng.integers(-40000, 40000, 513).astype(np.int32)
    table[:2] = [-(1 << 31), (1 << 31) - 1]
    x = np.arange(-32768, 32640)
    expected = []
    for q in x.tolist():
        i, r = (q + 32768) >> 7, (q + 32768) & 127
        a, b = int(table[i]), int(table[i + 1])
        expected.append(min(max(a + (((b - a) * r + 64) >> 7), lo), hi))
    got = execute("lut16", [(x, "i16")], (x.shape, out), {"lo": lo, "hi": hi}, {"table": table})
    np.testing.assert_array_equal(got, expected)


POWERS = {"reciprocal": (mpmath.mpf(-1), 30), "rsqrt": (mpmath.mpf(-1) / 2, 30), "sqrt": (mpmath.mpf(1) / 2, 29)}


def nodes(function):
    with mpmath.workprec(96):
        if function == "log":
            return np.array([half_up(mpmath.log(1 + mpmath.mpf(j) / 256) * 2**24) for j in range(257)], np.int64)
        power, f = POWERS[function]
        rows = [
            [half_up((1 + mpmath.mpf(j) / 256) ** power * mpmath.mpf(2) ** (h * power + f)) for j in range(257)]
            for h in range(1 if function == "reciprocal" else 2)
        ]
    return np.array(rows[0] if len(rows) == 1 else rows, np.int64)


def half_up(value):
    return int(mpmath.floor(value + mpmath.mpf(1) / 2))


@pytest.mark.parametrize("function", ["reciprocal", "rsqrt", "sqrt", "log"])
def test_mantissa_functions_are_accurate(function):
    """Whole formula against real arithmetic: at most 0.6 output steps on all codes."""
    x = np.concatenate([np.arange(-5, 3000), np.arange(3000, 32640, 7), [-32768, 32639]])
    sx = 2.0**-9
    reference = {
        "reciprocal": lambda v: 1 / v,
        "rsqrt": lambda v: v**-0.5,
        "sqrt": lambda v: v**0.5,
        "log": np.log,
    }[function]
    sy = {"reciprocal": 2.0**-6, "rsqrt": 2.0**-10, "sqrt": 2.0**-11, "log": 2.0**-12}[function]
    from fractions import Fraction

    attributes = {"function": function, "z": 0, "lo": -32768, "hi": 32639}
    if function == "log":
        m, s = multiplier_of(Fraction(1) / (Fraction(sy) * (1 << 24)))
        attributes |= {"c1": half_up(mpmath.log(2) * 2**24), "c2": half_up(mpmath.log(sx) * 2**24)}
    else:
        power, f = POWERS[function]
        ratio = mpmath.mpf(sx) ** power / (mpmath.mpf(sy) * mpmath.mpf(2) ** f)
        m, s = multiplier_of(Fraction(int(ratio * mpmath.mpf(2) ** 120), 1 << 120))
    attributes |= {"m": m, "s": s}
    got = execute("mantissa_lut", [(x, "i16")], (x.shape, "i16"), attributes, {"table": nodes(function)})
    with np.errstate(all="ignore"):
        exact = np.clip(reference(x * sx) / sy, -32768, 32639)
    positive = x > 0
    assert np.abs(got - exact)[positive].max() < 0.6
    at_zero = {"reciprocal": 32639, "rsqrt": 32639, "sqrt": 0, "log": -32768}[function]
    below = {"reciprocal": None, "rsqrt": 32639, "sqrt": 0, "log": -32768}[function]
    assert (got[x == 0] == at_zero).all()
    if below is None:
        assert np.abs(got - exact)[x < 0].max() < 0.6
    else:
        assert (got[x < 0] == below).all()


@pytest.mark.parametrize("function", ["reciprocal", "rsqrt", "sqrt"])
@pytest.mark.parametrize("s", [-10, 12, 31, 62, 75])
def test_power_formula(function, s):
    rng = np.random.default_rng(3)
    table = nodes(function)
    x = codes(rng, (400,), "i16")
    m, z = (1 << 30) + 12345, -7
    rows = table.reshape(-1, 257)
    p2 = {"reciprocal": -2, "rsqrt": -1, "sqrt": 1}[function]
    expected = []
    for q in x.tolist():
        if q == 0 or (q < 0 and function != "reciprocal"):
            expected.append({"sqrt": z}.get(function, 127))
            continue
        e = abs(q).bit_length() - 1
        h = 0 if function == "reciprocal" else e & 1
        scaled = (abs(q) << 15) >> (e + 1)
        i, r = (scaled >> 6) & 255, scaled & 63
        v = int(rows[h][i]) + (((int(rows[h][i + 1]) - int(rows[h][i])) * r + 32) >> 6)
        v = -v if q < 0 else v
        t = s - p2 * (e - h) // 2
        if t > 62:
            expected.append(z)
        elif t < 1:
            expected.append(127 if v > 0 else -128)
        else:
            expected.append(int(rescale(v, m, t, z, -128, 127)))
    got = execute(
        "mantissa_lut", [(x, "i16")], (x.shape, "i8"), {"function": function, "m": m, "s": s, "z": z}, {"table": table}
    )
    np.testing.assert_array_equal(got, expected)
