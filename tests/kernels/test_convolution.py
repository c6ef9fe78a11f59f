"""conv2d, depthwise and transpose_conv2d against tap-by-tap sums of Python / int64 integers."""

import numpy as np
import pytest

from qbc.kernels import accumulate
from qbc.kernels.accumulate import convolution_accumulator
from qbc.kernels.families import without
from qbc.kernels.windows import WindowGeometry
from tests.kernels.support import codes, execute, rescale

FAST = ("onednn_conv", "onednn_linear", "depthwise_loop")


def reference_sums(x, w, strides, padding, dilations, groups, zx):
    """sum x*w in int64 with padding holding zx."""
    n, h, width, _ = x.shape
    oc, kh, kw, cg = w.shape
    top, left, bottom, right = padding
    padded = np.full((n, h + top + bottom, width + left + right, x.shape[3]), zx, dtype=np.int64)
    padded[:, top : top + h, left : left + width] = x
    oh = (padded.shape[1] - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    ow = (padded.shape[2] - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    out = np.zeros((n, oh, ow, oc), dtype=np.int64)
    for y in range(oh):
        for xx in range(ow):
            window = padded[
                :,
                y * strides[0] : y * strides[0] + (kh - 1) * dilations[0] + 1 : dilations[0],
                xx * strides[1] : xx * strides[1] + (kw - 1) * dilations[1] + 1 : dilations[1],
            ]
            for c in range(oc):
                g = c // (oc // groups)
                out[:, y, xx, c] = (window[..., g * cg : (g + 1) * cg] * w[c].astype(np.int64)).sum(axis=(1, 2, 3))
    return out


def constants(rng, w, zx, spread):
    oc = w.shape[0]
    bias = rng.integers(-(1 << 12), 1 << 12, oc) - zx * w.reshape(oc, -1).astype(np.int64).sum(axis=1)
    multiplier = rng.integers(1 << 30, 1 << 31, oc)
    shift = rng.integers(spread, spread + 3, oc)
    return {"weight": w, "bias": bias, "multiplier": multiplier, "shift": shift}


CASES = {
    "plain": ((1, 6, 7, 16), 8, 3, (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "pointwise": ((2, 5, 4, 24), 17, 1, (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "strided uneven padding": ((1, 8, 9, 3), 5, 3, (2, 2), (0, 1, 2, 0), (1, 1), 1),
    "dilated": ((1, 9, 9, 4), 6, 3, (1, 2), (2, 2, 2, 2), (2, 2), 1),
    "grouped": ((1, 6, 6, 12), 8, 3, (1, 1), (1, 1, 1, 1), (1, 1), 4),
    "depthwise": ((1, 7, 8, 19), 19, 3, (1, 1), (1, 1, 1, 1), (1, 1), 19),
    "depthwise strided 5x5": ((2, 9, 9, 8), 8, 5, (2, 2), (2, 1, 2, 1), (1, 1), 8),
    "depthwise dilated": ((1, 9, 9, 8), 8, 3, (1, 1), (2, 2, 2, 2), (2, 2), 8),
    "depth multiplier": ((1, 5, 5, 4), 8, 3, (1, 1), (1, 1, 1, 1), (1, 1), 4),
    "whole image": ((1, 4, 4, 8), 10, 4, (1, 1), (0, 0, 0, 0), (1, 1), 1),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("zx", [-128, 7, 127])
@pytest.mark.parametrize("families", ["fast", "float32", "float64"])
def test_conv2d_i8(case, zx, families):
    shape, oc, kernel, strides, padding, dilations, groups = CASES[case]
    rng = np.random.default_rng(len(case) + zx + 128)
    x = codes(rng, shape)
    w = rng.integers(-127, 128, (oc, kernel, kernel, shape[3] // groups)).astype(np.int8)
    data = constants(rng, w, zx, 41)
    sums = reference_sums(x, w, strides, padding, dilations, groups, zx) + data["bias"]
    expected = rescale(sums, data["multiplier"], data["shift"], -3, -120, 100)
    attributes = {"strides": strides, "padding": padding, "dilations": dilations, "groups": groups}
    attributes |= {"zx": zx, "z": -3, "lo": -120, "hi": 100}
    skipped = {"fast": (), "float32": FAST, "float64": (*FAST, "split_k_float32")}[families]
    with without(*skipped):
        got = execute("conv2d", [(x, "i8")], (expected.shape, "i8"), attributes, data)
    np.testing.assert_array_equal(got, expected)
    assert len(np.unique(got)) >= 10


@pytest.mark.parametrize("plane", ["full", "two steps"])
@pytest.mark.parametrize("case", ["plain", "strided uneven padding", "grouped", "depthwise"])
@pytest.mark.parametrize(("zx", "out"), [(0, "i16"), (0, "i8"), (-1000, "i16")])
def test_conv2d_i16_planes(plane, case, zx, out):
    shape, oc, kernel, strides, padding, dilations, groups = CASES[case]
    rng = np.random.default_rng(5)
    x = codes(rng, shape, "i16")
    x.reshape(-1)[:4] = [-32768, 32639, 127, 128]
    w = rng.integers(-127, 128, (oc, kernel, kernel, shape[3] // groups)).astype(np.int8)
    w[0] = 127
    data = constants(rng, w, zx, 41 if out == "i16" else 49)
    sums = reference_sums(x, w, strides, padding, dilations, groups, zx) + data["bias"]
    lo, hi = (-32768, 32639) if out == "i16" else (-128, 127)
    expected = rescale(sums, data["multiplier"], data["shift"], 0, lo, hi)
    attributes = {"strides": strides, "padding": padding, "dilations": dilations, "groups": groups}
    attributes |= {"zx": zx, "z": 0, "lo": lo, "hi": hi}
    if plane == "full":
        got = execute("conv2d", [(x, "i16")], (expected.shape, out), attributes, data)
    else:
        high = execute("conv2d", [(x, "i16")], (expected.shape, "i32"), attributes | {"plane": "hi"}, data)
        planes = (x + 128) >> 8
        np.testing.assert_array_equal(
            high, reference_sums(planes, w, strides, padding, dilations, groups, (zx + 128) >> 8)
        )
        got = execute("conv2d", [(x, "i16"), (high, "i32")], (expected.shape, out), attributes | {"plane": "lo"}, data)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("zx", [-128, 0, 127])
def test_sums_beyond_float32(zx):
    """Long sums of equal signs: float32 alone could not hold them."""
    rng = np.random.default_rng(3)
    x = np.where(rng.random((1, 3, 3, 400)) < 0.5, -128, 127)
    w = np.full((6, 3, 3, 400), 127, np.int8)
    w[1] = -127
    w[2] = np.where(rng.random(w[2].shape) < 0.5, 127, -127)
    w[3] = 1
    w[4, ..., 200:] = -125
    data = constants(rng, w, zx, 50)
    sums = reference_sums(x, w, (1, 1), (1, 1, 1, 1), (1, 1), 1, zx) + data["bias"]
    attributes = {"strides": (1, 1), "padding": (1, 1, 1, 1), "zx": zx, "z": 0}
    expected = rescale(sums, data["multiplier"], data["shift"], 0, -32768, 32639)
    for skipped in ((), FAST):
        with without(*skipped):
            got = execute("conv2d", [(x, "i8")], (expected.shape, "i16"), attributes, data)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("source", ["i8", "i16"])
@pytest.mark.parametrize("target", ["i8", "i16"])
def test_fused_table(source, target):
    rng = np.random.default_rng(8)
    x = codes(rng, (1, 5, 5, 8), source)
    w = rng.integers(-127, 128, (9, 3, 3, 8)).astype(np.int8)
    data = constants(rng, w, 0, 41 if source == "i8" else 49)
    lo, hi = (-128, 127) if target == "i8" else (-32768, 32639)
    data["table"] = rng.integers(lo, hi + 1, 256).astype(np.int8 if target == "i8" else np.int16)
    sums = reference_sums(x, w, (1, 1), (1, 1, 1, 1), (1, 1), 1, 0) + data["bias"]
    middle = rescale(sums, data["multiplier"], data["shift"], 4, -128, 127)
    attributes = {"strides": (1, 1), "padding": (1, 1, 1, 1), "zx": 0, "z": 4, "lo": -128, "hi": 127}
    got = execute("conv2d", [(x, source)], (middle.shape, target), attributes, data)
    np.testing.assert_array_equal(got, data["table"][middle + 128])


@pytest.mark.parametrize("source", ["i8", "i16"])
@pytest.mark.parametrize("groups", [1, 8])
def test_fused_residual(source, groups):
    rng = np.random.default_rng(9)
    x = codes(rng, (1, 5, 5, 8), source)
    w = rng.integers(-127, 128, (8, 3, 3, 8 // groups)).astype(np.int8)
    data = constants(rng, w, 0, 40 if source == "i8" else 48)
    residual = codes(rng, (1, 5, 5, 8), "i8")
    sums = reference_sums(x, w, (1, 1), (1, 1, 1, 1), (1, 1), groups, 0) + data["bias"]
    middle = rescale(sums, data["multiplier"], data["shift"], 4, -100, 127)
    ma, mb, s = (1 << 30) + 77, 715827883, 31
    expected = rescale((middle - 4) * ma + (residual + 9) * mb, 1, s, -5, -128, 110)
    attributes = {"strides": (1, 1), "padding": (1, 1, 1, 1), "groups": groups, "zx": 0, "z": 4, "lo": -100, "hi": 127}
    attributes |= {"add_ma": ma, "add_mb": mb, "add_s": s, "add_za": 4, "add_zb": -9}
    attributes |= {"add_z": -5, "add_lo": -128, "add_hi": 110}
    got = execute("conv2d", [(x, source), (residual, "i8")], (expected.shape, "i8"), attributes, data)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("source", ["i8", "i16"])
@pytest.mark.parametrize(
    ("kernel", "strides", "padding", "dilations", "extra", "groups"),
    [
        (2, (2, 2), (0, 0, 0, 0), (1, 1), 0, 1),
        (3, (2, 2), (1, 1, 1, 1), (1, 1), 1, 1),
        (3, (1, 2), (0, 1, 2, 0), (2, 1), 0, 2),
        (3, (2, 1), (1, 1, 1, 1), (1, 1), 0, 4),
    ],
)
def test_transpose_conv2d(source, kernel, strides, padding, dilations, extra, groups):
    rng = np.random.default_rng(12)
    x = codes(rng, (2, 4, 5, 4), source)
    zx = 11 if source == "i8" else 0
    w = rng.integers(-127, 128, (8, kernel, kernel, 4 // groups)).astype(np.int8)
    data = constants(rng, w, zx, 40 if source == "i8" else 41)
    # zero insertion with zx, then a convolution of the mirrored kernel
    reach = [(kernel - 1) * d for d in dilations]
    grown = np.full((2, 3 * strides[0] + 1, 4 * strides[1] + 1, 4), zx, np.int64)
    grown[:, :: strides[0], :: strides[1]] = x
    around = (
        (reach[0] - padding[0], reach[0] - padding[2] + (extra if strides[0] > 1 else 0)),
        (reach[1] - padding[1], reach[1] - padding[3] + (extra if strides[1] > 1 else 0)),
    )
    assert min(min(pair) for pair in around) >= 0
    grown = np.pad(grown, ((0, 0), *around, (0, 0)), constant_values=zx)
    sums = reference_sums(grown, w[:, ::-1, ::-1], (1, 1), (0, 0, 0, 0), dilations, groups, zx) + data["bias"]
    lo, hi = (-128, 127) if source == "i8" else (-32768, 32639)
    expected = rescale(sums, data["multiplier"], data["shift"], 2, lo, hi)
    attributes = {"strides": strides, "padding": padding, "dilations": dilations, "groups": groups}
    attributes |= {"zx": zx, "z": 2, "lo": lo, "hi": hi}
    got = execute("transpose_conv2d", [(x, source)], (expected.shape, source), attributes, data)
    np.testing.assert_array_equal(got, expected)


ODD_SHAPES = [  # input, output channels, kernel, strides, padding, dilations, groups, stored zero point
    ((1, 6, 1, 64), 65, (1, 1), (1, 2), (3, 1, 3, 1), (2, 2), 1, 255),
    ((1, 9, 1, 256), 48, (1, 1), (1, 3), (0, 1, 0, 1), (1, 1), 1, 119),
    ((2, 19, 1, 1), 17, (1, 1), (2, 2), (1, 3, 1, 3), (2, 2), 1, 34),
    ((2, 14, 15, 3), 126, (4, 1), (3, 3), (0, 0, 0, 0), (1, 1), 3, 128),
    ((2, 5, 11, 2), 96, (3, 1), (3, 1), (2, 3, 2, 3), (1, 1), 2, 255),
    ((1, 14, 2, 1), 8, (1, 7), (1, 3), (3, 3, 3, 3), (2, 1), 1, 128),
    ((2, 4, 1, 7), 32, (4, 2), (2, 1), (1, 1, 1, 1), (1, 2), 1, 255),
    ((2, 4, 5, 8), 48, (3, 5), (1, 3), (0, 0, 0, 0), (1, 1), 8, 93),
    ((2, 7, 4, 2), 96, (1, 4), (1, 2), (0, 0, 1, 0), (1, 1), 2, 0),
]


def check_sums(shape, oc, kernel, strides, padding, dilations, groups, zero_point, rng):
    extents = zip(shape[1:3], padding[:2], padding[2:], kernel, dilations, strides, strict=True)
    size = tuple((e + a + b - (k - 1) * d - 1) // s + 1 for e, a, b, k, d, s in extents)
    geometry = WindowGeometry(shape, size, kernel, strides, padding, dilations)
    w = rng.integers(-127, 128, (oc, *kernel, shape[3] // groups)).astype(np.int8)
    x = np.where(rng.random(shape) < 0.3, 255, rng.integers(0, 256, shape)).astype(np.uint8)
    expected = reference_sums(x, w, strides, padding, dilations, groups, zero_point)
    expected -= zero_point * w.reshape(oc, -1).astype(np.int64).sum(axis=1)
    got = convolution_accumulator(w, geometry, groups, zero_point).exact(x)
    np.testing.assert_array_equal(got, expected.reshape(-1, oc))


@pytest.mark.parametrize("case", ODD_SHAPES)
def test_shapes_that_library_kernels_get_wrong(case):
    check_sums(*case, np.random.default_rng(1))


def test_random_shapes():
    rng = np.random.default_rng(2)
    seen = 0
    while seen < 60:
        kernel, strides, dilations = (tuple(int(v) for v in rng.integers(1, top, 2)) for top in (5, 4, 3))
        padding = tuple(int(v) for v in rng.integers(0, 3, 4))
        shape = (1, *(int(v) for v in rng.integers(1, 9, 2)), int(rng.choice([1, 2, 3, 8, 17])))
        reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        if any(shape[1 + i] + padding[i] + padding[2 + i] < reaches[i] for i in range(2)):
            continue
        seen += 1
        oc = int(rng.choice([1, 3, 16, 33]))
        check_sums(shape, oc, kernel, strides, padding, dilations, 1, int(rng.choice([0, 77, 128, 255])), rng)


def test_a_wrong_library_kernel_is_replaced(monkeypatch):
    """A kernel that is off by one in one channel is noticed while preparing."""
    honest = accumulate.onednn_convolution

    def wrong(*arguments):
        run = honest(*arguments)
        return lambda x: run(x) + np.eye(1, 8, 3, dtype=np.float32)

    monkeypatch.setattr(accumulate, "onednn_convolution", wrong)
    check_sums((1, 6, 6, 16), 8, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1, 128, np.random.default_rng(3))
