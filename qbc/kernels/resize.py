"""Resize of [N, H, W, C] by integer index maps and 11-bit weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.kernels.checks import CallChecks, distance_bound
from qbc.kernels.compile import Array, jit
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import KernelCall, TensorSpec

_WEIGHT_ONE = 2048


@jit
def _linear_loop(
    x: Array,
    h0: Array,
    h1: Array,
    hw: Array,
    w0: Array,
    w1: Array,
    ww: Array,
    out: Array,
    zx: int,
    m: int,
    s: int,
    z: int,
    lo: int,
    hi: int,
) -> None:
    n, oh, ow, channels = out.shape
    half = np.int64(1) << (s - 1)
    for b in range(n):
        for oy in range(oh):
            top, bottom = h0[oy], h1[oy]
            lower = np.int64(hw[oy])
            upper = 2048 - lower
            for ox in range(ow):
                left, right = w0[ox], w1[ox]
                after = np.int64(ww[ox])
                before = 2048 - after
                a, c, d, e = upper * before, upper * after, lower * before, lower * after
                for i in range(channels):
                    acc = (
                        (x[b, top, left, i] - zx) * a
                        + (x[b, top, right, i] - zx) * c
                        + (x[b, bottom, left, i] - zx) * d
                        + (x[b, bottom, right, i] - zx) * e
                    )
                    out[b, oy, ox, i] = min(max(((acc * m + half) >> s) + z, lo), hi)


@jit
def _nearest_loop(x: Array, index_h: Array, index_w: Array, out: Array) -> None:
    n, oh, ow, channels = out.shape
    for b in range(n):
        for oy in range(oh):
            y = index_h[oy]
            for ox in range(ow):
                xx = index_w[ox]
                for c in range(channels):
                    out[b, oy, ox, c] = x[b, y, xx, c]


def _read(checks: CallChecks) -> tuple[TensorSpec, int, int]:
    (x_spec,) = checks.inputs(1)
    out = checks.call.output
    checks.require(len(x_spec.shape) == len(out.shape) == 4, "input and output are not of rank 4")
    checks.output((x_spec.shape[0], out.shape[1], out.shape[2], x_spec.shape[3]))
    return x_spec, out.shape[1], out.shape[2]


def prepare_resize_nearest(call: KernelCall) -> Kernel:
    """`out[n, y, x, c] = in[n, index_h[y], index_w[x], c]`."""
    checks = CallChecks(call)
    x_spec, oh, ow = _read(checks)
    checks.require(x_spec.dtype == call.output.dtype, "input and output have different types")
    index_h = checks.int64("index_h", (oh,), 0, x_spec.shape[1] - 1)
    index_w = checks.int64("index_w", (ow,), 0, x_spec.shape[2] - 1)

    def run(x: Array, out: Array) -> None:
        _nearest_loop(x, index_h, index_w, out)

    return run


def prepare_resize_linear(call: KernelCall) -> Kernel:
    """Four taps with weight products in units of 2^-22, then one rescale: `R(sum w*(x - zx))` with (m, s)."""
    checks = CallChecks(call)
    x_spec, oh, ow = _read(checks)
    h0, h1 = (checks.int64(name, (oh,), 0, x_spec.shape[1] - 1) for name in ("h0", "h1"))
    w0, w1 = (checks.int64(name, (ow,), 0, x_spec.shape[2] - 1) for name in ("w0", "w1"))
    hw = checks.int64("hw", (oh,), 0, _WEIGHT_ONE)
    ww = checks.int64("ww", (ow,), 0, _WEIGHT_ONE)
    zx = checks.zero_point("zx", x_spec)
    m, s = checks.rescale(distance_bound(x_spec, zx) << 22)
    out_range = checks.output_range()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi

    def run(x: Array, out: Array) -> None:
        _linear_loop(x, h0, h1, hw, w0, w1, ww, out, zx, m, s, z, lo, hi)

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "resize_nearest": prepare_resize_nearest,
    "resize_linear": prepare_resize_linear,
}
