"""Windows and axes against brute force over Python integers; max pooling also against torch."""

from math import isqrt

import numpy as np
import pytest
import torch

from tests.kernels.support import RANGES, codes, execute, rescale

WINDOWS = [
    ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (8, 9)),
    ((2, 3), (1, 2), (0, 1, 1, 0), (1, 1), (6, 7)),
    ((3, 2), (1, 1), (0, 0, 0, 0), (2, 3), (7, 8)),
    ((6, 5), (1, 1), (0, 0, 0, 0), (1, 1), (6, 5)),
]


def windows(x, kernel, strides, padding, dilations):
    _, h, w, _ = x.shape
    top, left, bottom, right = padding
    oh = (h + top + bottom - (kernel[0] - 1) * dilations[0] - 1) // strides[0] + 1
    ow = (w + left + right - (kernel[1] - 1) * dilations[1] - 1) // strides[1] + 1
    for y in range(oh):
        for c in range(ow):
            ys = [y * strides[0] - top + k * dilations[0] for k in range(kernel[0])]
            xs = [c * strides[1] - left + k * dilations[1] for k in range(kernel[1])]
            yield oh, ow, [i for i in ys if 0 <= i < h], [j for j in xs if 0 <= j < w]


@pytest.mark.parametrize("dtype", ["i8", "i16"])
@pytest.mark.parametrize(("kernel", "strides", "padding", "dilations", "size"), WINDOWS)
def test_max_pool2d(dtype, kernel, strides, padding, dilations, size):
    x = codes(np.random.default_rng(3), (2, *size, 5), dtype)
    results = []
    for oh, ow, ys, xs in windows(x, kernel, strides, padding, dilations):  # noqa: B007
        results.append(x[:, ys][:, :, xs].max(axis=(1, 2)))
    expected = np.stack(results, axis=1).reshape(2, oh, ow, 5)
    attributes = {"kernel": kernel, "strides": strides, "padding": padding, "dilations": dilations}
    got = execute("max_pool2d", [(x, dtype)], (expected.shape, dtype), attributes)
    np.testing.assert_array_equal(got, expected)


def test_max_pool2d_ceil_mode_against_torch():
    x = codes(np.random.default_rng(4), (1, 8, 9, 3))
    image = torch.from_numpy(x.astype(np.float32)).permute(0, 3, 1, 2)
    expected = torch.nn.functional.max_pool2d(image, 3, 2, 1, ceil_mode=True).permute(0, 2, 3, 1).numpy()
    attributes = {"kernel": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1), "ceil_mode": 1}
    got = execute("max_pool2d", [(x, "i8")], (expected.shape, "i8"), attributes)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("source", "zx"), [("i8", -128), ("i8", 17), ("i16", 0)])
@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize(("kernel", "strides", "padding", "dilations", "size"), WINDOWS[:2] + WINDOWS[3:])
def test_avg_pool2d(source, zx, include, kernel, strides, padding, dilations, size):
    x = codes(np.random.default_rng(5), (2, *size, 5), source)
    lo, hi = RANGES[source]
    found = list(windows(x, kernel, strides, padding, dilations))
    full = kernel[0] * kernel[1]
    counts = np.array(sorted({full if include else len(ys) * len(xs) for _, _, ys, xs in found}, reverse=True))
    multiplier = ((1 << 30) // counts) * 1
    shift = np.full(len(counts), 30)
    results = []
    for _, _, ys, xs in found:
        total = (x[:, ys][:, :, xs] - zx).sum(axis=(1, 2))
        which = int(np.flatnonzero(counts == (full if include else len(ys) * len(xs)))[0])
        results.append(rescale(total, multiplier[which], shift[which], -2, lo, hi))
    oh, ow = found[0][:2]
    expected = np.stack(results, axis=1).reshape(2, oh, ow, 5)
    attributes = {"kernel": kernel, "strides": strides, "padding": padding, "count_include_pad": include}
    attributes |= {"zx": zx, "z": -2, "lo": lo, "hi": hi}
    data = {"counts": counts, "multiplier": multiplier, "shift": shift}
    got = execute("avg_pool2d", [(x, source)], (expected.shape, source), attributes, data)
    np.testing.assert_array_equal(got, expected)


AXES = [((2, 3, 4, 5), (1, 2)), ((2, 3, 4, 5), (-1,)), ((2, 3, 4, 5), (1, 3)), ((2, 3), (0,)), ((4, 3, 2), (0, 1, 2))]


@pytest.mark.parametrize(("shape", "axes"), AXES)
@pytest.mark.parametrize(("source", "zx", "m"), [("i8", -128, (1 << 30) + 5), ("i8", 30, 1 << 30), ("i16", 0, 1 << 14)])
@pytest.mark.parametrize("keep", [True, False])
def test_reductions(shape, axes, source, zx, m, keep):
    x = codes(np.random.default_rng(6), shape, source)
    lo, hi = RANGES[source]
    common = {"axes": axes, "zx": zx, "m": m, "z": 7, "lo": lo, "hi": hi}
    s = 33 if source == "i8" else 15
    expected = rescale((x - zx).sum(axis=axes, keepdims=keep), m, s, 7, lo, hi)
    got = execute("reduce_sum", [(x, source)], (expected.shape, source), common | {"s": s})
    np.testing.assert_array_equal(got, expected)
    for kind, function in (("reduce_max", np.max), ("reduce_min", np.min)):
        got = execute(kind, [(x, source)], (expected.shape, source), {"axes": axes})
        np.testing.assert_array_equal(got, function(x, axis=axes, keepdims=keep))
    squares = ((x - zx).astype(object) ** 2).sum(axis=axes, keepdims=keep)
    squares = np.asarray(squares, dtype=object)

    def root(n):
        if n == 0:
            return 7
        k = (62 - int(n).bit_length()) // 2 * 2
        shift = 31 + k // 2
        return 7 if shift > 62 else int(rescale(isqrt(int(n) << k), (1 << 30) + 3, shift, 7, lo, hi))

    expected = np.vectorize(root, otypes=[np.int64])(squares)
    got = execute("reduce_l2", [(x, source)], (expected.shape, source), common | {"m": (1 << 30) + 3, "s": 31})
    np.testing.assert_array_equal(got, expected)


def test_reduce_l2_of_zero_is_z():
    x = np.full((2, 6), 5)
    attributes = {"axes": (1,), "zx": 5, "m": 1 << 30, "s": 40, "z": -9}
    assert execute("reduce_l2", [(x, "i8")], ((2,), "i8"), attributes).tolist() == [-9, -9]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_arg_max_takes_the_lowest_index(axis):
    x = np.random.default_rng(7).integers(-2, 2, (5, 6, 7))
    expected = np.argmax(x, axis=axis)
    np.testing.assert_array_equal(execute("arg_max", [(x, "i8")], (expected.shape, "i32"), {"axis": axis}), expected)
