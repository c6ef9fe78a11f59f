"""What calls of integer kernels hardly show, on its own, against Python integers.

The last unit of an intermediate value (a root, a logarithm, an exponential) hardly ever shows in an output code; bytes
written behind an array never do; the host boundary is float.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from qbc.kernels import CODE_RANGES, KernelCall, prepare
from qbc.kernels.depthwise import _sum_rows
from qbc.kernels.integers import between_nodes, bit_length, floor_quotient, integer_root, root_of_shifted
from qbc.kernels.normalization import _exponential, _exponentials, _inverse_root, _logarithm
from qbc.kernels.storage import store_codes
from tests.oracle.arithmetic import log2_nodes, softmax_exponentials
from tests.oracle_checks.compare import spec


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
        assert int(root_of_shifted(np.int64(value), np.int64(k))) == isqrt(value << k), value


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


def check_bits(rng: np.random.Generator, count: int) -> None:
    """Bit lengths of powers of two, of their neighbours, and of random values."""
    values = [(1 << bits) + step for bits in range(63) for step in (-1, 0)]
    values += [
        int(v) >> int(s) for v, s in zip(rng.integers(0, 1 << 62, count), rng.integers(0, 62, count), strict=True)
    ]
    for value in values:
        assert int(bit_length(np.int64(value))) == value.bit_length(), value


def check_nodes(rng: np.random.Generator, count: int) -> None:
    """Values between nodes, and those where half a unit or the last bit below it decides."""
    for _ in range(count):
        bits = int(rng.choice([6, 7, 16]))
        nodes = rng.integers(-(1 << 31), 1 << 31, 4)
        node = int(rng.integers(0, 3))
        first, second = int(nodes[node]), int(nodes[node + 1])
        parts = {int(rng.integers(0, 1 << bits)), *_deciding_parts(second - first, bits)}
        for part in parts:
            expected = first + ((second - first) * part + (1 << bits) // 2) // (1 << bits)
            found = between_nodes(nodes, np.int64(node), np.int64(part), bits)
            assert int(found) == expected, (first, second, part, bits)


def _deciding_parts(difference: int, bits: int) -> list[int]:
    """Return the parts whose products lie at a rounding boundary or one below it, where the difference is odd."""
    if difference % 2 == 0:
        return []
    inverse = pow(difference, -1, 1 << bits)
    return [(target * inverse) % (1 << bits) for target in ((1 << (bits - 1)) - 1, 1 << (bits - 1))]


def check_logarithms(rng: np.random.Generator, count: int) -> None:
    """Base-2 logarithms of sums: powers of two, their neighbours, random values."""
    logs = np.array(log2_nodes(), np.int64)
    values = [(1 << bits) + step for bits in range(30, 47) for step in (0, 1)] + [(1 << 46) - 1]
    values += [
        int(v) >> int(s) for v, s in zip(rng.integers(1 << 45, 1 << 46, count), rng.integers(0, 16, count), strict=True)
    ]
    for value in values:
        bits = value.bit_length()
        j, r = ((value >> (bits - 25)) >> 16) & 255, (value >> (bits - 25)) & 65535
        expected = (bits - 1) * 2**24 + int(logs[j]) + ((int(logs[j + 1]) - int(logs[j])) * r + 2**15) // 2**16
        assert int(_logarithm(np.int64(value), logs)) == expected, value


def check_exponentials(rng: np.random.Generator, count: int) -> None:
    """Exponentials one by one, and rows of them with their sum and largest code."""
    nodes = np.array(softmax_exponentials(), np.int64)
    for _ in range(count):
        k = int(2.0 ** rng.uniform(0, 46)) if rng.random() < 0.9 else 1 << int(rng.integers(10, 25))
        distances = [int(rng.integers(0, 65408)), *(min((whole << 24) // k, 65407) for whole in (29, 30, 31, 32))]
        for d in distances:
            assert int(_exponential(np.int64(d), k, nodes)) == _exponential_of(d, k), (d, k)
        row = rng.integers(-32768, 32640, int(rng.integers(1, 9))).astype(np.int16)
        e = np.empty(len(row), np.int64)
        top, total = _exponentials(row, k, nodes, e)
        expected = [_exponential_of(int(row.max()) - int(q), k) for q in row]
        assert (int(top), int(total), e.tolist()) == (int(row.max()), sum(expected), expected)


def _exponential_of(d: int, k: int) -> int:
    nodes = softmax_exponentials()
    t = d * k
    j, rest = (t >> 16) & 255, t & 65535
    return 0 if t >> 24 > 30 else (nodes[j] + (((nodes[j + 1] - nodes[j]) * rest) >> 16)) >> (t >> 24)


def check_inverse_roots(rng: np.random.Generator, count: int) -> None:
    """Reciprocals of the roots of variances of every size."""
    values = [1, 2, 3, (1 << 62) - 1, *((1 << bits) + step for bits in range(2, 62) for step in (-1, 0, 1))]
    values += [
        int(v) >> int(s) for v, s in zip(rng.integers(1 << 61, 1 << 62, count), rng.integers(0, 62, count), strict=True)
    ]
    for value in values:
        k = (64 - value.bit_length()) // 2 * 2
        inverse, shift = _inverse_root(np.int64(value))
        assert (int(inverse), int(shift)) == (2**61 // isqrt(value << k), 45 - k // 2), value


def check_segments(rng: np.random.Generator, count: int) -> None:
    """Rows of depthwise sums in segments: the sums, and nothing behind the last row."""
    for _ in range(count):
        segment, length, rows, taps = (int(v) for v in rng.integers(1, 9, 4))
        x = rng.integers(0, 256, rows * length + segment + 8).astype(np.uint8)
        offsets = rng.integers(0, 8, 3 * taps)
        weight = rng.integers(-127, 128, (3 * taps, segment)).astype(np.int16)
        start = rng.integers(-1000, 1000, segment).astype(np.int32)
        guarded = np.full(rows * length + 2 * (segment + length), 7, np.int32)
        out = guarded[: rows * length].reshape(1, rows, length)
        _sum_rows(x, np.array([0, length]), offsets, weight, start, out)
        for row in range(rows):
            for i in range(length):
                lane = i % segment
                terms = [
                    int(x[row * length + i + offset]) * int(w)
                    for offset, w in zip(offsets, weight[:, lane], strict=True)
                ]
                assert out[0, row, i] == int(start[lane]) + sum(terms), (row, i)
        assert (guarded[rows * length :] == 7).all()


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
        check_channel_scales(rng, dtype, z)


def check_channel_scales(rng: np.random.Generator, dtype: str, z: int) -> None:
    """Dequantize with a scale for each channel of the last axis: one float32 product an element, in numpy."""
    shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(1, 5))))
    codes = rng.integers(*CODE_RANGES[dtype], shape)
    scales = np.exp(rng.uniform(-20, 20, shape[-1])).astype(np.float32)
    floats = np.empty(shape, np.float32)
    call = KernelCall("dequantize", (spec(shape, dtype),), spec(shape, "f32"), {"zx": z}, {"scale": scales})
    prepare(call)(store_codes(codes, dtype), floats)
    for index in np.ndindex(*shape):
        assert floats[index] == np.float32(int(codes[index]) - z) * scales[index[-1]]


def check_helpers(rng: np.random.Generator, count: int = 300) -> None:
    """Run all comparisons."""
    check_bits(rng, count)
    check_nodes(rng, count)
    check_logarithms(rng, count)
    check_exponentials(rng, count)
    check_inverse_roots(rng, count)
    check_segments(rng, count // 20)
    check_roots(rng, count)
    check_shifted_roots(rng, count)
    check_quotients(rng, 4 * count)
    check_boundary(rng, count)
