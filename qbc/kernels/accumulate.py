"""Exact sums of products, `acc[row, oc] = sum (u - zero_point) * w`, by the fastest family that proved itself.

`u` are bytes 0..255, weights are -128..127. An accumulator function takes the byte tensor and returns one float32 or
float64 array [rows, output channels] that holds the integers exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from qbc.kernels.compile import Array
from qbc.kernels.families import choose
from qbc.kernels.windows import WindowGeometry

Accumulate = Callable[[Array], Array]

FLOAT32_EXACT = 1 << 24
_BLOCK_BYTES = 16 << 20


def sum_bound(weight: Array, zero_point: int) -> Array:
    """Return, per output channel, the largest |sum (u - zero_point) * w| over all bytes u."""
    flat = weight.reshape(weight.shape[0], -1)
    positive = np.maximum(flat, 0).sum(axis=1, dtype=np.int64)
    negative = positive - flat.sum(axis=1, dtype=np.int64)
    above, below = 255 - zero_point, zero_point
    return np.asarray(np.maximum(above * positive + below * negative, below * positive + above * negative))


def split_weights(weight: Array, zero_point: int) -> list[tuple[Array, Array]]:
    """Split weights into parts whose sums float32 holds exactly: (output channels, weights) with other taps zero.

    The first part has all channels. Channels whose bound exceeds 2^24 continue in further parts.
    """
    channels = weight.shape[0]
    too_long = np.flatnonzero(sum_bound(weight, zero_point) > FLOAT32_EXACT)
    if not too_long.size:
        return [(np.arange(channels), weight)]
    flat = weight.reshape(channels, -1)
    reach = max(zero_point, 255 - zero_point)
    part_of = np.zeros(flat.shape, dtype=np.int32)
    for channel in too_long:
        running = np.cumsum(np.abs(flat[channel].astype(np.int64)) * reach)
        part_of[channel] = running // (FLOAT32_EXACT - 255 * 128)
    parts = []
    for part in range(int(part_of.max()) + 1):
        members = np.arange(channels) if part == 0 else np.flatnonzero((part_of >= part).any(axis=1))
        masked = np.where(part_of[members] == part, flat[members], 0).astype(np.int8)
        parts.append((members, masked.reshape(len(members), *weight.shape[1:])))
    return parts


def sum_parts(parts: list[tuple[Array, Accumulate]]) -> Accumulate:
    """Return the accumulator that adds up the parts of `split_weights`."""
    first = parts[0][1]
    if len(parts) == 1:
        return first

    def accumulate(x: Array) -> Array:
        total = first(x).astype(np.float64)
        for members, part in parts[1:]:
            total[:, members] += part(x)
        return total

    return accumulate


def convolution_accumulator(weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> Accumulate:
    """Return the accumulator of a convolution over bytes [N, H, W, C]; weight is i8 [OC, KH, KW, C/groups].

    A padded position counts as zero_point, so it adds nothing.
    """
    channels = geometry.input[3]
    if groups == 1 and geometry.pointwise:
        pixels = geometry.input[0] * geometry.input[1] * geometry.input[2]
        linear = linear_accumulator(np.ascontiguousarray(weight[:, 0, 0]), pixels, zero_point)
        return lambda x: linear(x.reshape(pixels, channels))
    depthwise = groups == channels == weight.shape[0]
    role = "depthwise_conv2d" if depthwise else ("conv2d" if groups == 1 else "grouped_conv2d")
    family = choose(role)
    if family == "depthwise_loop":
        from qbc.kernels.depthwise import depthwise_accumulator

        return depthwise_accumulator(weight, geometry, zero_point)
    if family.startswith("onednn") and (groups == 1 or _fits_float32(weight, zero_point)):
        parts = split_weights(weight, zero_point)
        return sum_parts([(m, onednn_convolution(w, geometry, groups, zero_point)) for m, w in parts])
    return patch_convolution(weight, geometry, groups, zero_point, family == "float64")


def _fits_float32(weight: Array, zero_point: int) -> bool:
    return int(sum_bound(weight, zero_point).max()) <= FLOAT32_EXACT


def linear_accumulator(weight: Array, rows: int, zero_point: int) -> Accumulate:
    """Return the accumulator of bytes [rows, K] with weight i8 [OC, K]."""
    family = choose("linear")
    if family == "onednn_linear":
        parts = split_weights(weight, zero_point)
        return sum_parts([(m, onednn_linear(w, rows, zero_point)) for m, w in parts])
    return matrix_linear(weight, zero_point, family == "float64")


def onednn_convolution(weight: Array, geometry: WindowGeometry, groups: int, zero_point: int) -> Accumulate:
    """Convolution by oneDNN's byte kernels with all scales 1, which yields the int32 sum as float32."""
    import torch

    channels = weight.shape[0]
    strides, dilations = list(geometry.strides), list(geometry.dilations)
    top, left, bottom, right = geometry.padding
    n, h, w, c = geometry.input
    uneven = top != bottom or left != right
    padding = [0, 0] if uneven else [top, left]
    shape = [n, c, h + top + bottom, w + left + right] if uneven else [n, c, h, w]
    ones, zeros = torch.ones(channels), torch.zeros(channels, dtype=torch.int64)
    source = torch.from_numpy(np.array(weight.transpose(0, 3, 1, 2), order="C"))
    packed = torch.ops.onednn.qconv_prepack(source, ones, 1.0, zero_point, strides, padding, dilations, groups, shape)
    kernel: Callable[..., Any] = torch.ops.onednn.qconv_pointwise.default
    float32 = torch.float32

    def accumulate(x: Array) -> Array:
        if uneven:
            x = pad_bytes(x, geometry, zero_point)
        result = kernel(
            *(torch.from_numpy(x).permute(0, 3, 1, 2), 1.0, zero_point, packed, ones, zeros, None),
            *(strides, padding, dilations, groups, 1.0, 0, float32, "none", [], ""),
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


def onednn_linear(weight: Array, rows: int, zero_point: int) -> Accumulate:
    """Matrix product by oneDNN's byte kernels; weight is [OC, K]."""
    import torch

    channels, depth = weight.shape
    ones, zeros = torch.ones(channels), torch.zeros(channels, dtype=torch.int64)
    packed = torch.ops.onednn.qlinear_prepack(torch.from_numpy(np.array(weight, order="C")), [rows, depth])
    kernel: Callable[..., Any] = torch.ops.onednn.qlinear_pointwise.default
    float32 = torch.float32

    def accumulate(x: Array) -> Array:
        result = kernel(
            *(torch.from_numpy(x), 1.0, zero_point, packed, ones, zeros, None, 1.0, 0, float32, "none", [], "")
        )
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
        writeable=False,
    )
