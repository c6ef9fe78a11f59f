"""Depthwise convolution of bytes: compiled loops over channels, which are contiguous."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.kernels.compile import Array, jit
from qbc.kernels.windows import WindowGeometry


@jit
def _accumulate_loop(x: Array, weight: Array, rows: Array, columns: Array, zero_point: int, out: Array) -> None:
    n, oh, ow, channels = out.shape
    h, w = x.shape[1], x.shape[2]
    for b in range(n):
        for oy in range(oh):
            for ox in range(ow):
                total = out[b, oy, ox]
                total[:] = 0
                for ky in range(rows.shape[1]):
                    y = rows[oy, ky]
                    if y < 0 or y >= h:
                        continue
                    for kx in range(columns.shape[1]):
                        xx = columns[ox, kx]
                        if xx < 0 or xx >= w:
                            continue
                        source, taps = x[b, y, xx], weight[ky, kx]
                        for c in range(channels):
                            total[c] = np.int32(total[c] + np.int32(source[c] - zero_point) * np.int32(taps[c]))


def depthwise_accumulator(weight: Array, geometry: WindowGeometry, zero_point: int) -> Callable[[Array], Array]:
    """Return the accumulator (int32 rows) of a depthwise convolution; weight is i8 [C, KH, KW, 1]."""
    taps = np.ascontiguousarray(weight[..., 0].transpose(1, 2, 0)).astype(np.int16)
    rows, columns = geometry.positions(0), geometry.positions(1)
    channels = weight.shape[0]
    shape = (geometry.input[0], *geometry.output_size, channels)

    def accumulate(x: Array) -> Array:
        out = np.empty(shape, np.int32)
        _accumulate_loop(x, taps, rows, columns, zero_point, out)
        return out.reshape(-1, channels)

    return accumulate
