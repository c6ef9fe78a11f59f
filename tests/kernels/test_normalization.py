"""Softmax, log-softmax and layer norm: the integer formulas on Python integers, and real arithmetic within a step."""

from fractions import Fraction
from math import isqrt

import mpmath
import numpy as np
import pytest

from qbc.kernels.normalization import exponential_nodes
from qbc.kernels.requantize import half_up, multiplier_of, softmax_multiplier
from tests.kernels.support import RANGES, codes, execute, rescale


def test_exponential_nodes():
    with mpmath.workprec(120):
        expected = [int(mpmath.floor(mpmath.mpf(2) ** (30 - mpmath.mpf(k) / 256) + 0.5)) for k in range(257)]
    assert exponential_nodes().tolist() == expected


def exponentials(row, k):
    nodes = exponential_nodes().tolist()
    values = []
    for q in row:
        t = (max(row) - q) * k
        whole, node, low = t >> 24, (t >> 16) & 255, t & 65535
        v = nodes[node] + (((nodes[node + 1] - nodes[node]) * low) >> 16)
        values.append(v >> whole if whole <= 30 else 0)
    return values


@pytest.mark.parametrize(("source", "scale"), [("i8", 0.05), ("i8", 0.7), ("i16", 0.0005), ("i16", 0.00001)])
@pytest.mark.parametrize("out", ["i8", "i16"])
@pytest.mark.parametrize("n", [1, 10, 577])
def test_softmax(source, scale, out, n):
    rng = np.random.default_rng(n)
    x = codes(rng, (3, n), source)
    k = half_up(Fraction(scale) * Fraction(float(np.log2(np.e))) * (1 << 24))
    lo, hi = RANGES[out]
    sy, z = (Fraction(1, 255), -128) if out == "i8" else (Fraction(1, 32639), 0)
    q, g = softmax_multiplier(sy)
    expected = []
    for row in x.tolist():
        e = exponentials(row, k)
        total = sum(e)
        expected.append([min(max(z + (v * q + ((total << g) >> 1)) // (total << g), lo), hi) for v in e])
    attributes = {"k": k, "q": q, "g": g, "z": z, "lo": lo, "hi": hi}
    got = execute("softmax", [(x, source)], (x.shape, out), attributes)
    np.testing.assert_array_equal(got, expected)
    represented = k / 2**24 * np.log(2)  # the scale after rounding to k
    real = np.exp((x - x.max(axis=-1, keepdims=True)) * represented)
    real /= real.sum(axis=-1, keepdims=True)
    assert np.abs(got - z - real / float(sy)).max() < 0.6


@pytest.mark.parametrize("source", ["i8", "i16"])
def test_log_softmax(source):
    rng = np.random.default_rng(5)
    x = codes(rng, (4, 100), source)
    scale = 0.05 if source == "i8" else 0.0004
    k = half_up(Fraction(scale) * Fraction(float(np.log2(np.e))) * (1 << 24))
    with mpmath.workprec(96):
        table = [int(mpmath.floor(mpmath.log(1 + mpmath.mpf(j) / 256, 2) * 2**24 + 0.5)) for j in range(257)]
    sy = Fraction(1, 1000)
    m, s = multiplier_of(Fraction(float(np.log(2))) / (sy * (1 << 24)))
    attributes = {"k": k, "m": m, "s": s, "z": 0, "lo": -32768, "hi": 32639}
    got = execute("log_softmax", [(x, source)], (x.shape, "i16"), attributes, {"table": np.array(table, np.int64)})
    expected = []
    for row in x.tolist():
        total = sum(exponentials(row, k))
        b = total.bit_length()
        mantissa = total >> (b - 25)
        i, r = (mantissa >> 16) & 255, mantissa & 65535
        lg = (b - 1) * 2**24 + table[i] + (((table[i + 1] - table[i]) * r + 2**15) >> 16)
        acc = [30 * 2**24 - lg - min((max(row) - q) * k, 1 << 30) for q in row]
        expected.append(rescale(acc, m, s, 0, -32768, 32639))
    np.testing.assert_array_equal(got, expected)
    centred = (x - x.max(axis=-1, keepdims=True)) * (k / 2**24 * np.log(2))
    real = centred - np.log(np.exp(centred).sum(axis=-1, keepdims=True))
    assert np.abs(got - real * 1000).max() < 0.7


@pytest.mark.parametrize(("source", "zx"), [("i8", -128), ("i8", 9), ("i16", 0)])
@pytest.mark.parametrize("rms", [0, 1])
@pytest.mark.parametrize("n", [1, 64, 1000])
def test_layer_norm(source, zx, rms, n):
    rng = np.random.default_rng(n + rms)
    x = codes(rng, (2, 3, n), source)
    x[0, 0] = x[0, 0, 0]
    gamma, beta = rng.standard_normal(n), rng.standard_normal(n)
    sy, eps, sx = 2.0**-11, 1e-5, 2.0**-7 if source == "i8" else 2.0**-12
    s = int(np.floor(30 - np.log2(np.abs(gamma / sy).max()) - 1e-9))
    t = s + 16
    g = np.array([half_up(Fraction(v) / Fraction(sy) * Fraction(2) ** s) for v in gamma])
    h = np.array([half_up(Fraction(v) / Fraction(sy) * Fraction(2) ** t) for v in beta])
    eps_i = max(half_up(Fraction(eps) * n * n / Fraction(sx) ** 2), 1)
    expected = []
    for row in x.reshape(-1, n).tolist():
        d = [q - zx for q in row]
        s1 = 0 if rms else sum(d)
        v = n * sum(q * q for q in d) - s1 * s1 + eps_i
        k = (64 - v.bit_length()) // 2 * 2
        inverse = (1 << 61) // isqrt(v << k)
        t_in = 45 - k // 2
        normal = [((n * q - s1) * inverse + (1 << (t_in - 1))) >> t_in for q in d]
        expected.append(
            [
                min(max((a * int(b) + int(c) + (1 << (t - 1)) >> t) + 3, -32768), 32639)
                for a, b, c in zip(normal, g, h, strict=True)
            ]
        )
    attributes = {"n": n, "zx": zx, "eps": eps_i, "t": t, "z": 3, "lo": -32768, "hi": 32639, "rms": rms}
    got = execute("layer_norm", [(x, source)], (x.shape, "i16"), attributes, {"gamma": g, "beta": h})
    np.testing.assert_array_equal(got.reshape(-1, n), expected)
    real = (x - zx) * sx
    mean = 0 if rms else real.mean(axis=-1, keepdims=True)
    variance = ((real - mean) ** 2).mean(axis=-1, keepdims=True)
    real = (real - mean) / np.sqrt(variance + eps) * gamma + beta
    assert np.abs(np.clip(real / sy + 3, -32768, 32639) - got)[1:].max() < 1.0
