"""Pooling over windows of [N, H, W, C]: the maximum, and the average with one multiplier for each tap count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.kernels.checks import MULTIPLIER_LIMIT, SHIFT_LIMIT, CallChecks, distance_bound, prove_channels
from qbc.kernels.compile import Array, jit
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import KernelCall
from qbc.kernels.windows import WindowGeometry, read_windows


@jit
def _max_loop(x: Array, rows: Array, columns: Array, out: Array) -> None:
    n, oh, ow, channels = out.shape
    h, w = x.shape[1], x.shape[2]
    for b in range(n):
        for oy in range(oh):
            for ox in range(ow):
                first = True
                for ky in range(rows.shape[1]):
                    y = rows[oy, ky]
                    if y < 0 or y >= h:
                        continue
                    for kx in range(columns.shape[1]):
                        xx = columns[ox, kx]
                        if xx < 0 or xx >= w:
                            continue
                        if first:
                            for c in range(channels):
                                out[b, oy, ox, c] = x[b, y, xx, c]
                            first = False
                        else:
                            for c in range(channels):
                                out[b, oy, ox, c] = max(out[b, oy, ox, c], x[b, y, xx, c])


@jit
def _average_loop(
    x: Array,
    rows: Array,
    columns: Array,
    which: Array,
    multiplier: Array,
    shift: Array,
    geometry: Array,
    acc: Array,
    out: Array,
) -> None:
    """Average windows; acc is scratch of one sum a channel, int32 where that is enough."""
    zx, z, lo, hi = geometry[0], geometry[1], geometry[2], geometry[3]
    n, oh, ow, channels = out.shape
    h, w = x.shape[1], x.shape[2]
    for b in range(n):
        for oy in range(oh):
            for ox in range(ow):
                acc[:] = 0
                taps = 0
                for ky in range(rows.shape[1]):
                    y = rows[oy, ky]
                    if y < 0 or y >= h:
                        continue
                    for kx in range(columns.shape[1]):
                        xx = columns[ox, kx]
                        if xx < 0 or xx >= w:
                            continue
                        taps += 1
                        source = x[b, y, xx]
                        for c in range(channels):
                            acc[c] += source[c]
                m, s = multiplier[which[oy, ox]], shift[which[oy, ox]]
                half = np.int64(1) << (s - 1)
                target = out[b, oy, ox]
                for c in range(channels):
                    v = (((acc[c] - taps * zx) * m + half) >> s) + z
                    target[c] = min(max(v, lo), hi)


def _read(checks: CallChecks) -> WindowGeometry:
    (x_spec,) = checks.inputs(1)
    kernel = checks.integers("kernel", 2, 1, 1 << 12)
    geometry = read_windows(checks, x_spec, (kernel[0], kernel[1]), ceil=True)
    checks.require(checks.call.output.shape[3] == x_spec.shape[3], "input and output have different channels")
    return geometry


def _valid_taps(geometry: WindowGeometry, axis: int) -> Array:
    positions = geometry.positions(axis)
    inside = (positions >= 0) & (positions < geometry.input[axis + 1])
    return np.asarray(inside.sum(axis=1, dtype=np.int64))


def prepare_max_pool2d(call: KernelCall) -> Kernel:
    """Largest code of every window; padded positions take no part."""
    checks = CallChecks(call)
    geometry = _read(checks)
    checks.require(call.inputs[0].dtype == call.output.dtype, "input and output have different types")
    rows, columns = geometry.positions(0), geometry.positions(1)
    checks.require(
        bool(_valid_taps(geometry, 0).all() and _valid_taps(geometry, 1).all()), "a window lies wholly in the padding"
    )

    def run(x: Array, out: Array) -> None:
        _max_loop(x, rows, columns, out)

    return run


def prepare_avg_pool2d(call: KernelCall) -> Kernel:
    """`R(sum of x - zx over the valid taps)` with (multiplier, shift) of the window's tap count.

    `counts` lists the distinct tap counts. Without count_include_pad only taps inside the input count; with it, taps
    inside the padded input do.
    """
    checks = CallChecks(call)
    geometry = _read(checks)
    (x_spec,) = call.inputs
    include = bool(checks.integer("count_include_pad", 0, 1, 0))
    taps = [_counted_taps(geometry, axis, include) for axis in range(2)]
    per_window = taps[0][:, None] * taps[1]
    checks.require(bool(per_window.all()), "a window lies wholly in the padding")
    entries = tuple(call.constants["counts"].shape) if checks.has("counts") else (1,)
    counts = checks.int64("counts", entries, 1, 1 << 24)
    multiplier = checks.int64("multiplier", entries, 0, MULTIPLIER_LIMIT)
    shift = checks.int64("shift", entries, 1, SHIFT_LIMIT)
    order = np.argsort(counts, kind="stable")
    which = order[np.clip(np.searchsorted(counts, per_window, sorter=order), 0, len(counts) - 1)]
    checks.require(bool((counts[which] == per_window).all()), f"no multiplier for a count in {np.unique(per_window)}")
    zx = checks.zero_point("zx", x_spec)
    bound = np.full(entries, geometry.kernel[0] * geometry.kernel[1] * distance_bound(x_spec, zx), dtype=np.int64)
    prove_channels(checks, bound, multiplier, shift)
    out_range = checks.output_range()
    rows, columns = geometry.positions(0), geometry.positions(1)
    narrow = np.int32 if x_spec.dtype == "i8" and int(bound[0]) < 1 << 30 else np.int64
    scalars = np.array([zx, out_range.z, out_range.lo, out_range.hi], dtype=np.int64)

    def run(x: Array, out: Array) -> None:
        acc = np.empty(x_spec.shape[3], narrow)
        _average_loop(x, rows, columns, which, multiplier, shift, scalars, acc, out)

    return run


def _counted_taps(geometry: WindowGeometry, axis: int, include_padding: bool) -> Array:
    if not include_padding:
        return _valid_taps(geometry, axis)
    positions = geometry.positions(axis)
    end = geometry.input[axis + 1] + geometry.padding[axis + 2]
    return np.asarray((positions < end).sum(axis=1, dtype=np.int64))


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "max_pool2d": prepare_max_pool2d,
    "avg_pool2d": prepare_avg_pool2d,
}
