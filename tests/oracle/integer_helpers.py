"""What calls of integer kernels hardly show, on its own: roots and quotients that float64 only estimates, the boundary.

The last unit of a root hardly ever shows in an output code; the host boundary is float.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from qbc.kernels import CODE_RANGES, KernelCall, prepare
from qbc.kernels.elementwise import floor_quotient
from qbc.kernels.normalization import _root_of_shifted
from qbc.kernels.reduction import integer_root
from tests.oracle.compare import spec


def check_roots(rng: np.random.Generator, count: int) -> None:
    """Roots of squares, of their neighbours, and of random values."""
    roots = [*range(1, 20), 1 << 31, *(int(r) for r in rng.integers(1 << 20, 1 << 31, count))]
    for root in roots:
        for value in {root * root, root * root - 1, root * root + 1, root * (root + 1)}:
            bits = value.bit_length()
            k2 = max((62 - bits) & ~1, 0)
            if value.bit_length() <= 46:  # sums of squares are below 2^46
                assert int(integer_root(np.int64(value << k2))) == isqrt(value << k2), value
    for root in rng.integers(1 << 26, 1 << 31, count):  # just below a square, exact in float64
        value = (int(root) ** 2 - 1) >> 10 << 10
        if value.bit_length() - 10 <= 53:
            assert int(integer_root(np.int64(value))) == isqrt(value), value
    just_below = 9 * 2**58 + 3 * 2**30  # a square minus one that float64 holds
    assert int(integer_root(np.int64(just_below))) == isqrt(just_below)


def check_shifted_roots(rng: np.random.Generator, count: int) -> None:
    """Roots of values that fill 63 or 64 bits: squares, their neighbours, and the ends of the range."""
    odd = [int(r) | 1 for r in rng.integers(1 << 31, 1 << 32, count)]
    values = [v for r in odd for v in ((r * r - 1) >> 2, ((r - 1) ** 2) >> 2, (((r - 1) ** 2) >> 2) - 1)]
    values += [
        int(v) >> int(s) for v, s in zip(rng.integers(1, 1 << 62, count), rng.integers(0, 61, count), strict=True)
    ]
    values += [1, 2, 3, (1 << 61) - 1, 1 << 61, (1 << 62) - 1, (1 << 62) - 128, (1 << 62) - 129]
    for value in values:
        if not 0 < value < 1 << 62:
            continue
        k = (64 - value.bit_length()) & ~1
        assert int(_root_of_shifted(np.int64(value), np.int64(k))) == isqrt(value << k), value


def check_quotients(rng: np.random.Generator, count: int) -> None:
    """Quotients below 2^40, at multiples of the divisor and beside them, of either sign."""
    for _ in range(count):
        divisor = int(rng.integers(1, 1 << 62)) >> int(rng.integers(0, 61)) or 1
        limit = min(1 << 40, ((1 << 63) - 1) // divisor - 1)
        if limit < 1:
            continue
        quotient = int(rng.integers(-limit, limit))
        rest = int(rng.choice([0, 0, 1, divisor - 1, int(rng.integers(0, divisor))]))
        numerator = quotient * divisor + min(rest, divisor - 1)
        assert int(floor_quotient(np.int64(numerator), np.int64(divisor))) == quotient, (numerator, divisor)


def check_boundary(rng: np.random.Generator, count: int) -> None:
    """Quantize and dequantize in numpy's float32, with halves, infinities and values far outside."""
    for dtype, stored, offset in (("i8", np.uint8, 128), ("i16", np.int16, 0)):
        low, high = CODE_RANGES[dtype]
        scale, z = np.float32(rng.uniform(0.01, 2)), int(rng.integers(low // 2, high // 2)) if offset else 0
        x = np.concatenate([
            rng.normal(0, 200, count),
            (rng.integers(2 * low, 2 * high, count) + 0.5) * scale,
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30],
        ]).astype(np.float32)  # fmt: skip
        constants = {"scale": np.array([scale], np.float32)}
        codes = np.empty(x.shape, stored)
        prepare(KernelCall("quantize", (spec(x.shape, "f32"),), spec(x.shape, dtype), {"z": z}, constants))(x, codes)
        steps = np.nan_to_num(np.rint(x / scale), nan=0.0, posinf=1e9, neginf=-1e9)
        expected = np.clip(steps, low - z, high - z).astype(np.int64) + z
        assert np.array_equal(codes.astype(np.int64) - offset, expected)
        floats = np.empty(x.shape, np.float32)
        call = KernelCall("dequantize", (spec(x.shape, dtype),), spec(x.shape, "f32"), {"zx": z}, constants)
        prepare(call)(codes, floats)
        assert np.array_equal(floats, (expected - z).astype(np.float32) * scale)


def check_helpers(rng: np.random.Generator, count: int = 300) -> None:
    """Run all comparisons."""
    check_roots(rng, count)
    check_shifted_roots(rng, count)
    check_quotients(rng, 4 * count)
    check_boundary(rng, count)
