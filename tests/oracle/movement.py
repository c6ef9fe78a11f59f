"""Pooling, reductions, data movement and resize."""

from __future__ import annotations

import numpy as np

from .arithmetic import Attributes, clamp, exact, requantize, rounded_shift


def _windows(extent: int, outputs: int, kernel: int, stride: int, before: int, dilation: int = 1):
    for o in range(outputs):
        start = o * stride - before
        yield o, [start + k * dilation for k in range(kernel)], extent


def max_pool2d(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Maximum of the valid taps."""
    x = inputs[0].astype(np.int64)
    out = np.zeros(shape, np.int64)
    (kh, kw), (sh, sw), (dh, dw) = a["kernel"], a["strides"], a["dilations"]
    for oy, ys, height in _windows(x.shape[1], shape[1], kh, sh, a["padding"][0], dh):
        ys = [y for y in ys if 0 <= y < height]
        for ox, xs, width in _windows(x.shape[2], shape[2], kw, sw, a["padding"][1], dw):
            xs = [v for v in xs if 0 <= v < width]
            out[:, oy, ox] = x[:, ys][:, :, xs].max(axis=(1, 2))
    return exact(out)


def avg_pool2d(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Sum of the valid taps, requantized with the multiplier of the tap count."""
    x = inputs[0].astype(np.int64) - a["zx"]
    out = np.empty(shape, object)
    factors = {int(n): (int(m), int(s)) for n, m, s in zip(c["counts"], c["multiplier"], c["shift"], strict=True)}
    (kh, kw), (sh, sw), (top, left, below, right) = a["kernel"], a["strides"], a["padding"]
    for oy, ys, height in _windows(x.shape[1], shape[1], kh, sh, top):
        for ox, xs, width in _windows(x.shape[2], shape[2], kw, sw, left):
            valid_y, valid_x = [y for y in ys if 0 <= y < height], [v for v in xs if 0 <= v < width]
            count = len(valid_y) * len(valid_x)
            if a["count_include_pad"]:
                count = sum(y < height + below for y in ys) * sum(v < width + right for v in xs)
            m, s = factors[count]
            total = x[:, valid_y][:, :, valid_x].sum(axis=(1, 2))
            out[:, oy, ox] = requantize(total, m, s, a["z"], a["lo"], a["hi"])
    return out


def reduce_sum(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """`R(sum (x - zx))`; a mean carries 1/n in its multiplier."""
    total = (inputs[0].astype(np.int64) - a["zx"]).sum(axis=tuple(a["axes"]))
    return requantize(total, a["m"], a["s"], a["z"], a["lo"], a["hi"]).reshape(shape)


def reduce_max(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Largest code over the axes."""
    return exact(inputs[0].astype(np.int64).max(axis=tuple(a["axes"]))).reshape(shape)


def reduce_min(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Smallest code over the axes."""
    return exact(inputs[0].astype(np.int64).min(axis=tuple(a["axes"]))).reshape(shape)


def reshape(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Same codes in another shape."""
    return exact(inputs[0]).reshape(shape)


def transpose(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Axes in the order of `permutation`."""
    return exact(inputs[0].transpose(a["permutation"]))


def slice_codes(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """From `starts` with `steps`, as many as the output shape says."""
    ranges = zip(a["starts"], a["steps"], shape, strict=True)
    return exact(inputs[0][np.ix_(*[[start + k * step for k in range(n)] for start, step, n in ranges])])


def concat(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Inputs one after another along `axis`."""
    return exact(np.concatenate(inputs, axis=a["axis"]))


def expand(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Broadcast to the output shape."""
    return exact(np.broadcast_to(inputs[0], shape))


def gather(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Rows of the data by index; a negative index counts from the end."""
    data, indices = inputs
    extent = data.shape[a["axis"]]
    wrapped = np.where(indices < 0, indices + extent, indices).astype(np.int64)
    return exact(np.take(data, wrapped, axis=a["axis"]))


def pad(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Constant code, or one code per channel, around the input."""
    x = inputs[0].astype(np.int64)
    filler = c["codes"].astype(np.int64) if "codes" in c else np.int64(a["value"])
    out = np.broadcast_to(filler, shape).copy()
    out[tuple(slice(before, before + n) for before, n in zip(a["before"], x.shape, strict=True))] = x
    return exact(out)


def resize_nearest(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Rows and columns by index tables."""
    return exact(inputs[0][:, c["index_h"]][:, :, c["index_w"]])


def resize_linear(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Four taps with weight products of 22 bits, one requantization."""
    x = inputs[0].astype(np.int64) - a["zx"]
    ww, hw = c["ww"].astype(np.int64)[None, None, :, None], c["hw"].astype(np.int64)[None, :, None, None]
    rows = [x[:, c[name]] for name in ("h0", "h1")]
    taps = [row[:, :, c["w0"]] * (2048 - ww) + row[:, :, c["w1"]] * ww for row in rows]
    total = taps[0] * (2048 - hw) + taps[1] * hw
    return clamp(a["z"] + rounded_shift(exact(total) * a["m"], a["s"]), a["lo"], a["hi"])
