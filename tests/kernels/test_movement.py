"""Data movement and resize against numpy and torch."""

import numpy as np
import pytest
import torch

from qbc.errors import QBCompilerError
from tests.kernels.support import codes, execute, rescale

DTYPES = ["i8", "i16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies(dtype):
    x = codes(np.random.default_rng(1), (2, 3, 4, 5), dtype)
    ins = [(x, dtype)]
    np.testing.assert_array_equal(execute("reshape", ins, ((6, 20), dtype), {}), x.reshape(6, 20))
    permuted = x.transpose(2, 0, 3, 1)
    got = execute("transpose", ins, (permuted.shape, dtype), {"permutation": (2, 0, 3, 1)})
    np.testing.assert_array_equal(got, permuted)
    part = x[1:, :, 0:4:2, 1:5:3]
    got = execute("slice", ins, (part.shape, dtype), {"starts": (1, 0, 0, 1), "steps": (1, 1, 2, 3)})
    np.testing.assert_array_equal(got, part)
    tiled = np.tile(x, (1, 2, 1, 3))
    np.testing.assert_array_equal(execute("tile", ins, (tiled.shape, dtype), {"repeats": (1, 2, 1, 3)}), tiled)
    narrow = np.ascontiguousarray(x[:, :, :1])
    wide = np.broadcast_to(narrow, (7, 2, 3, 4, 5))
    np.testing.assert_array_equal(execute("expand", [(narrow, dtype)], (wide.shape, dtype), {}), wide)
    parts = [(x, dtype), (narrow, dtype), (x, dtype)]
    joined = np.concatenate([p for p, _ in parts], axis=2)
    np.testing.assert_array_equal(execute("concat", parts, (joined.shape, dtype), {"axis": 2}), joined)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pad(dtype):
    x = codes(np.random.default_rng(2), (1, 4, 5, 3), dtype)
    before, after = (0, 1, 2, 0), (0, 2, 0, 0)
    widths = list(zip(before, after, strict=True))
    attributes = {"before": before, "after": after}
    expected = np.pad(x, widths, constant_values=-77)
    got = execute("pad", [(x, dtype)], (expected.shape, dtype), attributes | {"value": -77})
    np.testing.assert_array_equal(got, expected)
    for mode in ("reflect", "edge"):
        expected = np.pad(x, widths, mode=mode)
        got = execute("pad", [(x, dtype)], (expected.shape, dtype), attributes | {"mode": mode})
        np.testing.assert_array_equal(got, expected)
    each = np.array([-5, 0, 99], np.int8 if dtype == "i8" else np.int16)
    expected = np.stack([np.pad(x[..., c], widths[:3], constant_values=each[c]) for c in range(3)], axis=-1)
    got = execute("pad", [(x, dtype)], (expected.shape, dtype), attributes, {"codes": each})
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(axis):
    x = codes(np.random.default_rng(3), (4, 5, 6))
    indices = np.array([[0, -1], [3, -4]])
    expected = np.take(x, indices, axis=axis)
    got = execute("gather", [(x, "i8"), (indices, "i32")], (expected.shape, "i8"), {"axis": axis})
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("wrong", [4, -5, 1 << 30, -(1 << 31)])
def test_gather_refuses_indices_out_of_range(wrong):
    x = np.zeros((4, 5), np.int64)
    with pytest.raises(QBCompilerError) as caught:
        execute("gather", [(x, "i8"), (np.array([0, wrong]), "i32")], ((2, 5), "i8"), {"axis": 0})
    assert caught.value.code == "RUNTIME_ERROR"


@pytest.mark.parametrize("dtype", DTYPES)
def test_resize_nearest(dtype):
    x = codes(np.random.default_rng(4), (2, 4, 5, 3), dtype)
    rows, columns = np.array([0, 0, 3, 1, 2], np.int32), np.array([4, 4, 0], np.int32)
    expected = x[:, rows][:, :, columns]
    got = execute("resize_nearest", [(x, dtype)], (expected.shape, dtype), {}, {"index_h": rows, "index_w": columns})
    np.testing.assert_array_equal(got, expected)


def linear_axis(extent, size):
    """Half-pixel coordinates in exact integers, weights in 1/2048."""
    first, second, weight = [], [], []
    for i in range(size):
        position = max(((2 * i + 1) * extent - size) * 2048, 0)
        steps = (position + size) // (2 * size)
        low = min(steps // 2048, extent - 1)
        first.append(low)
        second.append(min(low + 1, extent - 1))
        weight.append(steps - low * 2048 if low < extent - 1 else 0)
    return tuple(np.array(v, np.int32) for v in (first, second, weight))


@pytest.mark.parametrize(("dtype", "zx", "m"), [("i8", -128, 1 << 30), ("i8", 11, (1 << 31) - 1), ("i16", 0, 1 << 14)])
def test_resize_linear(dtype, zx, m):
    x = codes(np.random.default_rng(5), (2, 4, 5, 3), dtype)
    h0, h1, hw = linear_axis(4, 9)
    w0, w1, ww = linear_axis(5, 10)
    d = x.astype(np.int64) - zx
    u = hw.astype(np.int64)[:, None, None]
    v = ww.astype(np.int64)[:, None]
    acc = (d[:, h0][:, :, w0] * (2048 - v) + d[:, h0][:, :, w1] * v) * (2048 - u)
    acc = acc + (d[:, h1][:, :, w0] * (2048 - v) + d[:, h1][:, :, w1] * v) * u
    s = 22 + m.bit_length() - 1
    lo, hi = (-128, 127) if dtype == "i8" else (-32768, 32639)
    expected = rescale(acc, m, s, zx, lo, hi)
    data = {"h0": h0, "h1": h1, "hw": hw, "w0": w0, "w1": w1, "ww": ww}
    attributes = {"zx": zx, "m": m, "s": s, "z": zx, "lo": lo, "hi": hi}
    got = execute("resize_linear", [(x, dtype)], (expected.shape, dtype), attributes, data)
    np.testing.assert_array_equal(got, expected)
    if m == 1 << 30:
        image = torch.from_numpy(x.astype(np.float64)).permute(0, 3, 1, 2)
        real = torch.nn.functional.interpolate(image, size=(9, 10), mode="bilinear").permute(0, 2, 3, 1).numpy()
        assert np.abs(got - real).max() < 0.75
