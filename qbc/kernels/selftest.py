"""Start-up self-tests of the kernel families: the inputs under which an inexact kernel shows itself, against int64.

Bytes 255 and 0 with weights of +-127 overflow any saturating 16-bit pair sum; a sum length of 512 and more overflows
what shorter tests would miss.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from qbc.kernels import accumulate
from qbc.kernels.compile import Array
from qbc.kernels.depthwise import depthwise_accumulator
from qbc.kernels.windows import WindowGeometry

Accumulator = Callable[[Array, WindowGeometry, int, int], Callable[[Array], Array]]


def _geometry(shape: tuple[int, int, int, int], kernel: int, stride: int, padding: int) -> WindowGeometry:
    out = tuple((extent + 2 * padding - kernel) // stride + 1 for extent in shape[1:3])
    pads = (padding, padding, padding, padding)
    return WindowGeometry(shape, (out[0], out[1]), (kernel, kernel), (stride, stride), pads, (1, 1))


def _extreme_bytes(shape: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    """Return byte tensors: all 255, random 0 / 255, all 129."""
    mixed = np.where(rng.random(shape) < 0.5, 0, 255).astype(np.uint8)
    return [np.full(shape, 255, np.uint8), mixed, np.full(shape, 129, np.uint8)]


def _extreme_weights(shape: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    """Return int8 weights: all 127, all -127, random +-127."""
    mixed = np.where(rng.random(shape) < 0.5, -127, 127).astype(np.int8)
    return [np.full(shape, 127, np.int8), np.full(shape, -127, np.int8), mixed]


def direct_sums(x: Array, weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> Array:
    """Return the sums of a convolution in int64, tap by tap."""
    n, h, w, _ = geometry.input
    rows, columns = geometry.positions(0), geometry.positions(1)
    channels, per_group, width = weight.shape[0], weight.shape[0] // groups, weight.shape[3]
    total = np.zeros((n, *geometry.output_size, channels), dtype=np.int64)
    centred = x.astype(np.int64) - zero_point
    for ky in range(geometry.kernel[0]):
        for kx in range(geometry.kernel[1]):
            ys, xs = rows[:, ky], columns[:, kx]
            inside = ((ys >= 0) & (ys < h))[:, None] & ((xs >= 0) & (xs < w))
            values = centred[:, np.clip(ys, 0, h - 1)][:, :, np.clip(xs, 0, w - 1)] * inside[..., None]
            for g in range(groups):
                part = weight[g * per_group : (g + 1) * per_group, ky, kx].astype(np.int64)
                total[..., g * per_group : (g + 1) * per_group] += values[..., g * width : (g + 1) * width] @ part.T
    return total.reshape(-1, channels)


def _proves_convolution(make: Accumulator, cases: list[tuple[int, int, int, int, int, int]]) -> bool:
    """Check cases of (channels, output channels, groups, kernel, stride, padding) on a 5 x 6 image."""
    rng = np.random.default_rng(7)
    for channels, out_channels, groups, kernel, stride, padding in cases:
        shape = (1, 5, 6, channels)
        geometry = _geometry(shape, kernel, stride, padding)
        for weight in _extreme_weights((out_channels, kernel, kernel, channels // groups), rng):
            for zero_point in (0, 128, 255):
                run = make(weight, geometry, groups, zero_point)
                for x in _extreme_bytes(shape, rng):
                    if not np.array_equal(run(x), direct_sums(x, weight, geometry, groups, zero_point)):
                        return False
    return True


def _onednn(weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> Callable[[Array], Array]:
    return accumulate.sum_parts(
        weight, zero_point, lambda w: accumulate.onednn_convolution(w, geometry, zero_point)
    ).exact


def _test_onednn_conv() -> bool:
    return _proves_convolution(_onednn, [(1032, 5, 1, 1, 1, 0), (64, 32, 1, 3, 1, 1), (3, 16, 1, 3, 2, 1)])


def _test_depthwise_loop() -> bool:
    def make(weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> Callable[[Array], Array]:
        return depthwise_accumulator(weight, geometry, zero_point)

    return _proves_convolution(make, [(33, 33, 33, 3, 1, 1), (16, 16, 16, 5, 2, 2)])


def _test_split_k() -> bool:
    def make(weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> Callable[[Array], Array]:
        return accumulate.patch_convolution(weight, geometry, groups, zero_point, False)

    return _proves_convolution(make, [(600, 17, 1, 1, 1, 0), (128, 16, 1, 3, 1, 1)])


def _test_onednn_linear() -> bool:
    rng = np.random.default_rng(7)
    for rows, depth, channels in ((1, 2048, 10), (17, 515, 33)):
        for weight in _extreme_weights((channels, depth), rng):
            for zero_point in (0, 128, 255):
                run = accumulate.sum_slices(weight, zero_point, partial(accumulate.onednn_linear, rows=rows)).exact
                for x in _extreme_bytes((rows, depth), rng):
                    expected = (x.astype(np.int64) - zero_point) @ weight.astype(np.int64).T
                    if not np.array_equal(run(x), expected):
                        return False
    return True


_TESTS: dict[str, Callable[[], bool]] = {
    "onednn_conv": _test_onednn_conv,
    "onednn_linear": _test_onednn_linear,
    "depthwise_loop": _test_depthwise_loop,
    "split_k_float32": _test_split_k,
}


def run_self_test(family: str) -> bool:
    """Return whether the family computes exact sums on this machine; a family that cannot run at all does not."""
    try:
        return _TESTS[family]()
    except (AttributeError, NotImplementedError, RuntimeError):  # the library lacks or refuses the operation
        return False
