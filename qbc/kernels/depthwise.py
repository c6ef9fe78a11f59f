"""Depthwise convolution of bytes as long contiguous loops.

The input is copied once into rows that include the padding, with columns sorted by their remainder modulo the stride,
so that for each tap the inputs of a whole output row are one contiguous run. Weights and rescale constants are repeated
for a segment of pixels (about 512 elements, which stay in the first-level cache); three taps are added in one loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qbc.kernels.compile import Array, Scalar, jit
from qbc.kernels.finish import Rescale
from qbc.kernels.windows import WindowGeometry

_SEGMENT = 512
_TAPS_TOGETHER = 3


@jit
def _segment_sums(x: Array, base: Scalar, offsets: Array, weight: Array, start: Array, acc: Array) -> None:
    """acc[i] = start[i] + sum over taps of x[base + offset + i] * weight[tap, i]; the taps come in threes."""
    n = acc.shape[0]
    for t in range(0, offsets.shape[0], 3):
        x0 = x[base + offsets[t] :]
        x1 = x[base + offsets[t + 1] :]
        x2 = x[base + offsets[t + 2] :]
        w0, w1, w2 = weight[t], weight[t + 1], weight[t + 2]
        if t == 0:  # two loops with the same sum: one that may alias its target would not vectorize
            for i in range(n):
                a, b, c = np.int32(x0[i]) * w0[i], np.int32(x1[i]) * w1[i], np.int32(x2[i]) * w2[i]
                acc[i] = np.int32(start[i] + a + b + c)
        else:
            for i in range(n):
                a, b, c = np.int32(x0[i]) * w0[i], np.int32(x1[i]) * w1[i], np.int32(x2[i]) * w2[i]
                acc[i] = np.int32(acc[i] + a + b + c)


@jit
def _sum_rows(x: Array, steps: Array, offsets: Array, weight: Array, start: Array, out: Array) -> None:
    """Write the int32 sums of out [N, OH, OW*C]; steps are the distances of images and output rows in x."""
    segment = start.shape[0]
    n, oh, length = out.shape
    for b in range(n):
        for oy in range(oh):
            for first in range(0, length, segment):
                count = min(segment, length - first)
                base = b * steps[0] + oy * steps[1] + first
                _segment_sums(x, base, offsets, weight, start, out[b, oy, first : first + count])


@jit
def _code_rows(
    x: Array,
    steps: Array,
    offsets: Array,
    weight: Array,
    start: Array,
    m: Array,
    half: Array,
    s: Array,
    z: int,
    lo: int,
    hi: int,
    out: Array,
) -> None:
    """Write the rescaled codes of out [N, OH, OW*C]."""
    segment = start.shape[0]
    n, oh, length = out.shape
    sums = np.empty(segment, np.int32)
    for b in range(n):
        for oy in range(oh):
            for first in range(0, length, segment):
                count = min(segment, length - first)
                acc = sums[:count]
                base = b * steps[0] + oy * steps[1] + first
                _segment_sums(x, base, offsets, weight, start, acc)
                target = out[b, oy, first : first + count]
                for i in range(count):
                    v = ((np.int64(acc[i]) * np.int64(m[i]) + half[i]) >> s[i]) + z
                    target[i] = min(max(v, lo), hi)


@dataclass(frozen=True)
class _Plan:
    """Where the taps of an output row lie in the laid-out input, and the weights of a segment of `pixels` pixels."""

    shape: tuple[int, int, int, int, int]
    steps: Array
    offsets: Array
    weight: Array
    pixels: int
    zero_sum: Array
    geometry: WindowGeometry
    zero_point: int

    def lay_out(self, x: Array) -> Array:
        """Return the padded, phase-sorted copy of the input [N, H, W, C], flat.

        It is [N, rows, stride, columns, C]: column j of phase p is padded column j*stride + p.
        """
        padded = np.empty(self.shape, np.uint8)
        _, rows, stride, columns, _ = self.shape
        top, left = self.geometry.padding[:2]
        inside = max(min(x.shape[1], rows - top), 0)
        bottom = top + inside
        padded[:, :top] = self.zero_point
        padded[:, bottom:] = self.zero_point
        for phase in range(stride):
            first = max(-((phase - left) // stride), 0)
            end = max(min((left + x.shape[2] - 1 - phase) // stride + 1, columns), first)
            target = padded[:, top:bottom, phase]
            target[:, :, :first] = self.zero_point
            target[:, :, end:] = self.zero_point
            start = first * stride + phase - left
            target[:, :, first:end] = x[:, :inside, start::stride][:, :, : end - first]
        return padded.reshape(-1)

    def repeated(self, values: Array) -> Array:
        """Return per-channel values repeated for a segment."""
        return np.tile(values, self.pixels)


def _plan(weight: Array, geometry: WindowGeometry, zero_point: int) -> _Plan:
    channels, kh, kw, _ = weight.shape
    (oh, ow), (sh, sw), (dh, dw) = geometry.output_size, geometry.strides, geometry.dilations
    rows = (oh - 1) * sh + geometry.reach[0]
    columns = ow + (geometry.reach[1] - 1) // sw
    row = sw * columns * channels
    taps = [(ky * dh, kx * dw, weight[:, ky, kx, 0]) for ky in range(kh) for kx in range(kw)]
    offsets = [y * row + ((x % sw) * columns + x // sw) * channels for y, x, _ in taps]
    values = [w for _, _, w in taps]
    while len(offsets) % _TAPS_TOGETHER:
        offsets.append(0)
        values.append(np.zeros(channels, np.int8))
    pixels = max(1, min(ow, _SEGMENT // channels))
    return _Plan(
        (geometry.input[0], rows, sw, columns, channels),
        np.array([rows * row, sh * row], dtype=np.int64),
        np.array(offsets, dtype=np.int64),
        np.tile(np.array(values, dtype=np.int16), (1, pixels)),
        pixels,
        zero_point * weight.reshape(channels, -1).astype(np.int64).sum(axis=1),
        geometry,
        zero_point,
    )


def depthwise_accumulator(weight: Array, geometry: WindowGeometry, zero_point: int) -> Callable[[Array], Array]:
    """Return the accumulator (int32 rows of sum (u - zero_point)*w); weight is i8 [C, KH, KW, 1]."""
    plan = _plan(weight, geometry, zero_point)
    channels = weight.shape[0]
    start = plan.repeated(-plan.zero_sum).astype(np.int32)
    n, (oh, ow) = geometry.input[0], geometry.output_size

    def accumulate(x: Array) -> Array:
        out = np.empty((n, oh, ow * channels), np.int32)
        _sum_rows(plan.lay_out(x), plan.steps, plan.offsets, plan.weight, start, out)
        return out.reshape(-1, channels)

    return accumulate


def depthwise_codes(
    weight: Array, geometry: WindowGeometry, zero_point: int, rescale: Rescale
) -> Callable[[Array, Array], None]:
    """Return the function (bytes, codes to fill) of a depthwise convolution with its rescale in the same loop."""
    plan = _plan(weight, geometry, zero_point)
    channels = weight.shape[0]
    start = plan.repeated(rescale.bias.astype(np.int64) - plan.zero_sum).astype(np.int32)
    m, half, shift = (plan.repeated(values) for values in (rescale.multiplier, rescale.half, rescale.shift))
    z, lo, hi = rescale.scalars
    n, (oh, ow) = geometry.input[0], geometry.output_size

    def run(x: Array, out: Array) -> None:
        rows = out.reshape(n, oh, ow * channels)
        _code_rows(plan.lay_out(x), plan.steps, plan.offsets, plan.weight, start, m, half, shift, z, lo, hi, rows)

    return run
