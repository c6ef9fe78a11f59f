"""Exact sums of products of bytes and weights, by the fastest family that proved itself.

`u` are bytes 0..255, weights are -128..127. An accumulator function takes the byte tensor and returns one float32,
float64 or int32 array [rows, output channels] that holds the integers exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from qbc.kernels.compile import Array
from qbc.kernels.families import choose
from qbc.kernels.windows import WindowGeometry

Accumulate = Callable[[Array], Array]

FLOAT32_EXACT = 1 << 24
_BLOCK_BYTES = 16 << 20
_BLOCK_COLUMNS = 512
_CHECKED_PIXELS = 8
_BUNDLE = 64


@dataclass(frozen=True)
class ByteSums:
    """Exact weighted sums of bytes: `run(x) + offset` is `sum (u - zero_point) * w`, [rows, output channels].

    The library kernels sum raw bytes; what the zero point takes off is a constant of the channel, `offset`, which
    callers fold into their bias. (Removing zero points inside the library is wrong for some shapes.)
    """

    run: Accumulate
    offset: Array

    def exact(self, x: Array) -> Array:
        """Return the sums with the offset added, as int64."""
        return self.run(x).astype(np.int64) + self.offset


def sum_bound(weight: Array) -> Array:
    """Return, per output channel, the largest |sum u * w| over all bytes u."""
    flat = weight.reshape(weight.shape[0], -1)
    positive = np.maximum(flat, 0).sum(axis=1, dtype=np.int64)
    negative = positive - flat.sum(axis=1, dtype=np.int64)
    return np.asarray(255 * np.maximum(positive, negative))


def split_weights(weight: Array) -> list[tuple[Array, Array]]:
    """Split weights into parts whose sums float32 holds exactly: (output channels, weights) with other taps zero.

    The first part has all channels. Channels whose bound exceeds 2^24 continue in further parts.
    """
    channels = weight.shape[0]
    too_long = np.flatnonzero(sum_bound(weight) > FLOAT32_EXACT)
    if not too_long.size:
        return [(np.arange(channels), weight)]
    flat = weight.reshape(channels, -1)
    part_of = np.zeros(flat.shape, dtype=np.int32)
    for channel in too_long:
        running = np.cumsum(np.abs(flat[channel].astype(np.int64)) * 255)
        part_of[channel] = running // (FLOAT32_EXACT - 255 * 128)
    parts = []
    for part in range(int(part_of.max()) + 1):
        members = np.arange(channels) if part == 0 else np.flatnonzero((part_of >= part).any(axis=1))
        masked = np.where(part_of[members] == part, flat[members], 0).astype(np.int8)
        parts.append((members, masked.reshape(len(members), *weight.shape[1:])))
    return parts


def sum_parts(weight: Array, zero_point: int, make: Callable[[Array], Accumulate]) -> ByteSums:
    """Return the sums of weights that `make` turns into an accumulator of raw bytes, split where float32 needs it."""
    parts = [(members, make(part)) for members, part in split_weights(weight)]
    offset = -zero_point * weight.reshape(weight.shape[0], -1).sum(axis=1, dtype=np.int64)
    first = parts[0][1]
    if len(parts) == 1:
        return ByteSums(first, offset)

    def accumulate(x: Array) -> Array:
        total = first(x).astype(np.float64)
        for members, part in parts[1:]:
            total[:, members] += part(x)
        return total

    return ByteSums(accumulate, offset)


def exact_slices(weight: Array) -> list[slice]:
    """Cut the columns of weights [OC, K] into slices whose sums float32 holds exactly in every channel.

    They are as long as blocks of 512 columns allow; one block always fits, 512 * 255 * 128 < 2^24.
    """
    starts = np.arange(0, weight.shape[1], _BLOCK_COLUMNS)
    positive = np.add.reduceat(np.maximum(weight, 0), starts, axis=1, dtype=np.int64)
    negative = positive - np.add.reduceat(weight, starts, axis=1, dtype=np.int64)
    slices, first = [], 0
    high, low = positive[:, 0], negative[:, 0]
    for block in range(1, len(starts)):
        more_high, more_low = high + positive[:, block], low + negative[:, block]
        if 255 * max(int(more_high.max()), int(more_low.max())) <= FLOAT32_EXACT:
            high, low = more_high, more_low
            continue
        slices.append(slice(first, int(starts[block])))
        first = int(starts[block])
        high, low = positive[:, block], negative[:, block]
    return [*slices, slice(first, weight.shape[1])]


def sum_slices(weight: Array, zero_point: int, make: Callable[[Array], Accumulate]) -> ByteSums:
    """Return the sums of rows of bytes with weights [OC, K], in slices of K where float32 needs it.

    `make` turns the weights of a slice into an accumulator of raw bytes; each weight is multiplied once.
    """
    offset = -zero_point * weight.sum(axis=1, dtype=np.int64)
    slices = exact_slices(weight)
    parts = [make(np.ascontiguousarray(weight[:, columns])) for columns in slices]
    if len(parts) == 1:
        return ByteSums(parts[0], offset)

    def accumulate(x: Array) -> Array:
        total = np.zeros((len(x), len(offset)), np.float64)
        for columns, part in zip(slices, parts, strict=True):
            total += part(np.ascontiguousarray(x[:, columns]))
        return total

    return ByteSums(accumulate, offset)


def convolution_accumulator(weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> ByteSums:
    """Return the sums of a convolution over bytes [N, H, W, C]; weight is i8 [OC, KH, KW, C/groups].

    A padded position counts as zero_point, so it adds nothing.
    """
    channels = geometry.input[3]
    if groups == 1 and geometry.pointwise:
        pixels = geometry.input[0] * geometry.input[1] * geometry.input[2]
        linear = linear_accumulator(np.ascontiguousarray(weight[:, 0, 0]), pixels, zero_point)
        return ByteSums(lambda x: linear.run(x.reshape(pixels, channels)), linear.offset)
    if groups == channels == weight.shape[0] and choose("depthwise_conv2d") == "depthwise_loop":
        from qbc.kernels.depthwise import depthwise_accumulator

        return ByteSums(depthwise_accumulator(weight, geometry, zero_point), np.zeros(channels, np.int64))
    family = choose("conv2d")
    if family == "onednn_conv" and groups > 1:
        return _by_group(weight, geometry, groups, zero_point)
    if family == "onednn_conv":
        return _library_sums(weight, geometry, zero_point)
    patches = patch_convolution(weight, geometry, groups, zero_point, family == "float64")
    return ByteSums(patches, np.zeros(weight.shape[0], np.int64))


def _by_group(weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> ByteSums:
    """Run groups as ungrouped convolutions; the library's grouped kernels are wrong for some group sizes.

    Narrow groups are bundled up to 64 input channels, with zero weights between different groups of a bundle.
    """
    bundle = max(d for d in range(1, groups + 1) if groups % d == 0 and (d == 1 or d * weight.shape[3] <= _BUNDLE))
    per_group, width = weight.shape[0] // groups, weight.shape[3]
    outputs, inputs = per_group * bundle, width * bundle
    narrow = replace(geometry, input=(*geometry.input[:3], inputs))
    parts = []
    for first in range(0, weight.shape[0], outputs):
        dense = np.zeros((outputs, *weight.shape[1:3], inputs), np.int8)
        for g in range(bundle):
            rows = slice(g * per_group, (g + 1) * per_group)
            dense[rows, :, :, g * width : (g + 1) * width] = weight[first : first + outputs][rows]
        parts.append(convolution_accumulator(dense, narrow, 1, zero_point))
    pixels = geometry.input[0] * geometry.output_size[0] * geometry.output_size[1]

    def accumulate(x: Array) -> Array:
        total = np.empty((pixels, weight.shape[0]), np.float64)
        for number, part in enumerate(parts):
            source = np.ascontiguousarray(x[..., number * inputs : (number + 1) * inputs])
            total[:, number * outputs : (number + 1) * outputs] = part.run(source)
        return total

    return ByteSums(accumulate, np.concatenate([part.offset for part in parts]))


def _library_sums(weight: Array, geometry: WindowGeometry, zero_point: int) -> ByteSums:
    """Return the library's convolution where it is right, else its matrix product over unfolded bytes.

    All wrong shapes that were found have outputs one pixel wide (or groups).
    """
    if geometry.output_size[1] > 1:
        sums = sum_parts(weight, zero_point, lambda w: onednn_convolution(w, geometry, zero_point))
        if _agrees(sums, weight, geometry, zero_point):
            return sums
    rows = geometry.input[0] * geometry.output_size[0] * geometry.output_size[1]
    flat = np.ascontiguousarray(weight.reshape(weight.shape[0], -1))
    linear = linear_accumulator(flat, rows, zero_point)

    def accumulate(x: Array) -> Array:
        patches = _patches(pad_bytes(x, geometry, zero_point), geometry)
        return linear.run(patches.reshape(rows, flat.shape[1]))

    return ByteSums(accumulate, linear.offset)


def _agrees(sums: ByteSums, weight: Array, geometry: WindowGeometry, zero_point: int) -> bool:
    """Check a prepared convolution against float64 sums at a few output pixels, on bytes 0 and 255.

    The start-up test proves the arithmetic of the processor; this finds a library kernel that is wrong for one shape.
    """
    x = np.random.default_rng(0).integers(0, 2, geometry.input, dtype=np.uint8) * np.uint8(255)
    found = sums.exact(x)
    pixels = np.unique(np.linspace(0, len(found) - 1, _CHECKED_PIXELS).astype(np.int64))
    at = np.unravel_index(pixels, (geometry.input[0], *geometry.output_size))
    windows = _patches(pad_bytes(x, geometry, zero_point), geometry)[at].astype(np.float64) - zero_point
    expected = windows.reshape(len(pixels), -1) @ weight.reshape(weight.shape[0], -1).T.astype(np.float64)
    return bool(np.array_equal(found[pixels], expected))


def linear_accumulator(weight: Array, rows: int, zero_point: int) -> ByteSums:
    """Return the sums of bytes [rows, K] with weight i8 [OC, K]."""
    family = choose("linear")
    if family == "onednn_linear":
        return sum_slices(weight, zero_point, lambda w: onednn_linear(w, rows))
    product = matrix_linear(weight, zero_point, family == "float64")
    return ByteSums(product, np.zeros(weight.shape[0], np.int64))


def onednn_convolution(weight: Array, geometry: WindowGeometry, zero_point: int) -> Accumulate:
    """Convolution of raw bytes by oneDNN's kernels with all scales 1, which yields the int32 sum as float32.

    A padded position counts as the byte `zero_point`. The library pads only with 0 and only where every window keeps at
    least half of its reach inside the input (windows wholly in the padding crash it); other paddings are laid out here.
    """
    import torch

    channels = weight.shape[0]
    strides, dilations = list(geometry.strides), list(geometry.dilations)
    top, left, bottom, right = geometry.padding
    n, h, w, c = geometry.input
    modest = top == bottom and left == right and 2 * top < geometry.reach[0] and 2 * left < geometry.reach[1]
    inside = not any(geometry.padding) or (zero_point == 0 and modest)
    padding = [top, left] if inside else [0, 0]
    shape = [n, c, h, w] if inside else [n, c, h + top + bottom, w + left + right]
    ones, zeros = torch.ones(channels), torch.zeros(channels, dtype=torch.int64)
    source = torch.from_numpy(np.array(weight.transpose(0, 3, 1, 2), order="C"))
    packed = torch.ops.onednn.qconv_prepack(source, ones, 1.0, 0, strides, padding, dilations, 1, shape)
    kernel: Callable[..., Any] = torch.ops.onednn.qconv_pointwise.default
    float32 = torch.float32

    def accumulate(x: Array) -> Array:
        if not inside:
            x = pad_bytes(x, geometry, zero_point)
        result = kernel(
            *(torch.from_numpy(x).permute(0, 3, 1, 2), 1.0, 0, packed, ones, zeros, None),
            *(strides, padding, dilations, 1, 1.0, 0, float32, "none", [], ""),
        )
        rows: Array = result.permute(0, 2, 3, 1).contiguous().numpy().reshape(-1, channels)
        return rows

    return accumulate


def pad_bytes(x: Array, geometry: WindowGeometry, zero_point: int) -> Array:
    """Return the input surrounded by its padding, which holds the zero point."""
    n, h, w, c = geometry.input
    top, left, bottom, right = geometry.padding
    padded = np.full((n, h + top + bottom, w + left + right, c), zero_point, dtype=np.uint8)
    padded[:, top : top + h, left : left + w] = x
    return padded


def onednn_linear(weight: Array, rows: int) -> Accumulate:
    """Matrix product of raw bytes by oneDNN's kernels; weight is [OC, K]."""
    import torch

    channels, depth = weight.shape
    ones, zeros = torch.ones(channels), torch.zeros(channels, dtype=torch.int64)
    packed = torch.ops.onednn.qlinear_prepack(torch.from_numpy(np.array(weight, order="C")), [rows, depth])
    kernel: Callable[..., Any] = torch.ops.onednn.qlinear_pointwise.default
    float32 = torch.float32

    def accumulate(x: Array) -> Array:
        result = kernel(*(torch.from_numpy(x), 1.0, 0, packed, ones, zeros, None, 1.0, 0, float32, "none", [], ""))
        acc: Array = result.numpy()
        return acc

    return accumulate


def exact_matrix_product(a: Array, b: Array, bound: int) -> Array:
    """Return `a @ b` of integers held in floats as float64, where |a*b| <= bound for each product.

    float32 inputs are multiplied in chunks of K so short that every partial sum stays at most 2^24, in any order of
    addition; float64 inputs in one piece (the caller proves the sum below 2^53).
    """
    depth = a.shape[-1]
    chunk = max(FLOAT32_EXACT // max(bound, 1), 1) if a.dtype == np.float32 else depth
    if depth <= chunk:
        return np.asarray(np.matmul(a, b))
    total = np.matmul(a[..., :chunk], b[..., :chunk, :]).astype(np.float64)
    for start in range(chunk, depth, chunk):
        total += np.matmul(a[..., start : start + chunk], b[..., start : start + chunk, :])
    return np.asarray(total)


def matrix_linear(weight: Array, zero_point: int, double: bool) -> Accumulate:
    """Matrix product in split-K float32 or in float64."""
    dtype: Any = np.float64 if double else np.float32
    columns = np.ascontiguousarray(weight.T.astype(dtype))
    bound = max(zero_point, 255 - zero_point) * int(np.abs(weight.astype(np.int64)).max(initial=0))

    def accumulate(x: Array) -> Array:
        return exact_matrix_product(x.astype(dtype) - dtype(zero_point), columns, bound)

    return accumulate


def patch_convolution(
    weight: Array, geometry: WindowGeometry, groups: int, zero_point: int, double: bool
) -> Accumulate:
    """Convolution as matrix products over unfolded patches, in split-K float32 or in float64."""
    dtype: Any = np.float64 if double else np.float32
    per_group = weight.shape[0] // groups
    depth = int(np.prod(weight.shape[1:]))
    matrices = [
        np.ascontiguousarray(weight[g * per_group : (g + 1) * per_group].reshape(per_group, depth).T.astype(dtype))
        for g in range(groups)
    ]
    bound = max(zero_point, 255 - zero_point) * int(np.abs(weight.astype(np.int64)).max(initial=0))
    oh, ow = geometry.output_size
    step = max(_BLOCK_BYTES // (ow * depth * np.dtype(dtype).itemsize), 1)
    width = weight.shape[3]

    def accumulate(x: Array) -> Array:
        patches = _patches(pad_bytes(x, geometry, zero_point).astype(dtype) - dtype(zero_point), geometry)
        total = np.empty((x.shape[0], oh, ow, weight.shape[0]), dtype=np.float64)
        for image in range(x.shape[0]):
            for start in range(0, oh, step):
                block = patches[image, start : start + step]
                for g, matrix in enumerate(matrices):
                    rows = block[..., g * width : (g + 1) * width].reshape(-1, depth)
                    part = exact_matrix_product(rows, matrix, bound)
                    target = total[image, start : start + step, :, g * per_group : (g + 1) * per_group]
                    target[...] = part.reshape(target.shape)
        return total.reshape(-1, weight.shape[0])

    return accumulate


def _patches(padded: Array, geometry: WindowGeometry) -> Array:
    """Return a view [N, OH, OW, KH, KW, C] of a padded input."""
    n, _, _, c = padded.shape
    sn, sh, sw, sc = padded.strides
    return as_strided(
        padded,
        (n, *geometry.output_size, *geometry.kernel, c),
        (
            *(sn, sh * geometry.strides[0], sw * geometry.strides[1]),
            *(sh * geometry.dilations[0], sw * geometry.dilations[1], sc),
        ),
    )
