"""linear and matmul against int64 matrix products."""

import numpy as np
import pytest

from qbc.kernels.accumulate import exact_slices, linear_accumulator
from qbc.kernels.families import without
from tests.kernels.support import codes, execute, rescale

FAST = ("onednn_conv", "onednn_linear")


@pytest.mark.parametrize("shape", [(1, 600), (2, 3, 40), (7,), (33, 1)])
@pytest.mark.parametrize("zx", [-128, 3])
@pytest.mark.parametrize("skipped", [(), FAST, (*FAST, "split_k_float32")])
def test_linear_i8(shape, zx, skipped):
    rng = np.random.default_rng(2)
    x = codes(rng, shape)
    w = rng.integers(-127, 128, (11, shape[-1])).astype(np.int8)
    bias = rng.integers(-1000, 1000, 11) - zx * w.astype(np.int64).sum(axis=1)
    multiplier, shift = rng.integers(1 << 30, 1 << 31, 11), np.full(11, 40)
    expected = rescale(x @ w.astype(np.int64).T + bias, multiplier, shift, 1, -128, 127)
    data = {"weight": w, "bias": bias, "multiplier": multiplier, "shift": shift}
    with without(*skipped):
        got = execute("linear", [(x, "i8")], (expected.shape, "i8"), {"zx": zx, "z": 1}, data)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("depth", [1, 511, 512, 513, 1024, 1025, 5000])
@pytest.mark.parametrize("kind", ["largest", "smallest", "mixed", "random", "one channel"])
def test_slices_hold_every_sum_exactly(depth, kind):
    rng = np.random.default_rng(depth)
    weight = {
        "largest": np.full((3, depth), 127),
        "smallest": np.full((3, depth), -128),
        "mixed": rng.choice([-128, 127], (3, depth)),
        "random": rng.integers(-128, 128, (3, depth)),
        "one channel": np.concatenate([np.zeros((2, depth), int), np.full((1, depth), 127)]),
    }[kind].astype(np.int8)
    slices = exact_slices(weight)
    columns = np.concatenate([np.arange(depth)[part] for part in slices])
    np.testing.assert_array_equal(columns, np.arange(depth))
    wide = weight.astype(np.int64)
    for part in slices:
        sums = np.maximum(np.maximum(wide[:, part], 0).sum(axis=1), np.maximum(-wide[:, part], 0).sum(axis=1))
        assert 255 * sums.max() <= 1 << 24
    x = np.stack([np.full(depth, 255), rng.choice([0, 255], depth), rng.integers(0, 256, depth)]).astype(np.uint8)
    for zero_point in (0, 128, 255):
        expected = (x.astype(np.int64) - zero_point) @ wide.T
        np.testing.assert_array_equal(linear_accumulator(weight, 3, zero_point).exact(x), expected)


def test_high_plane_of_many_small_weights():
    """The bound of a partial sum is that of the weights there are, not of the largest ones possible."""
    rng = np.random.default_rng(6)
    x = codes(rng, (2, 140_000), "i16")
    w = rng.integers(-100, 101, (3, 140_000)).astype(np.int8)
    high = execute("linear", [(x, "i16")], ((2, 3), "i32"), {"zx": 0, "plane": "hi"}, {"weight": w})
    np.testing.assert_array_equal(high, ((x + 128) >> 8) @ w.astype(np.int64).T)


@pytest.mark.parametrize("two_steps", [False, True])
def test_linear_i16(two_steps):
    rng = np.random.default_rng(4)
    x = codes(rng, (5, 70), "i16")
    w = rng.integers(-127, 128, (9, 70)).astype(np.int8)
    bias = rng.integers(-(1 << 30), 1 << 30, 9)
    multiplier, shift = rng.integers(1 << 14, 1 << 15, 9), np.full(9, 30)
    expected = rescale(x @ w.astype(np.int64).T + bias, multiplier, shift, 0, -32768, 32639)
    data = {"weight": w, "bias": bias, "multiplier": multiplier, "shift": shift}
    attributes = {"zx": 0, "z": 0, "lo": -32768, "hi": 32639}
    inputs = [(x, "i16")]
    if two_steps:
        high = execute("linear", inputs, (expected.shape, "i32"), attributes | {"plane": "hi"}, data)
        inputs.append((high, "i32"))
        attributes["plane"] = "lo"
    got = execute("linear", inputs, (expected.shape, "i16"), attributes, data)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("a_type", "b_type"), [("i8", "i8"), ("i16", "i8"), ("i8", "i16"), ("i16", "i16")])
@pytest.mark.parametrize("transpose", [0, 1])
@pytest.mark.parametrize("shapes", [((3, 4, 50), (3, 50, 6)), ((2, 1, 4, 700), (3, 700, 5)), ((4, 8), (8, 3))])
def test_matmul(a_type, b_type, transpose, shapes):
    rng = np.random.default_rng(6)
    a, b = codes(rng, shapes[0], a_type), codes(rng, shapes[1], b_type)
    za = 17 if a_type == "i8" else 0
    zb = -128 if b_type == "i8" else 0
    exact = np.matmul((a - za).astype(np.int64), (b - zb).astype(np.int64))
    m, s = ((1 << 30) + 99, 42) if a_type == b_type == "i8" else ((1 << 14) + 99, 34)
    expected = rescale(exact, m, s, 5, -128, 127)
    right = np.ascontiguousarray(b.swapaxes(-1, -2)) if transpose else b
    attributes = {"za": za, "zb": zb, "transpose_b": transpose, "m": m, "s": s, "z": 5}
    for skipped in ((), ("split_k_float32",)):
        with without(*skipped):
            got = execute("matmul", [(a, a_type), (right, b_type)], (expected.shape, "i8"), attributes)
        np.testing.assert_array_equal(got, expected)


def test_matmul_extremes():
    a = np.full((2, 3000), -128)
    b = np.full((3000, 2), 127)
    b[:, 1] = -128
    attributes = {"za": 127, "zb": -128, "m": 1 << 30, "s": 52, "z": 0, "lo": -32768, "hi": 32639}
    got = execute("matmul", [(a, "i8"), (b, "i8")], ((2, 2), "i16"), attributes)
    np.testing.assert_array_equal(got, rescale((a - 127) @ (b + 128), 1 << 30, 52, 0, -32768, 32639))
