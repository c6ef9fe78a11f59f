"""transpose_conv2d: one matrix product over the input pixels, whose taps are then added where they land."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.kernels.accumulate import ByteSums, linear_accumulator
from qbc.kernels.checks import CallChecks
from qbc.kernels.compile import Array, jit
from qbc.kernels.convolution import PLANES, read_operands, read_weight, weighted_kernel
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import KernelCall

_LIMIT = 1 << 12


@jit
def _scatter_loop(taps: Array, offset: Array, strides: Array, out: Array, first: int) -> None:
    """Add taps [N, H, W, KH, KW, C] + offset [KH, KW, C] into out [N, OH, OW, channels] from channel `first` on."""
    n, h, w, kh, kw, channels = taps.shape
    oh, ow = out.shape[1], out.shape[2]
    for b in range(n):
        for iy in range(h):
            for ky in range(kh):
                oy = iy * strides[0] + ky * strides[2] - strides[4]
                if oy < 0 or oy >= oh:
                    continue
                for ix in range(w):
                    for kx in range(kw):
                        ox = ix * strides[1] + kx * strides[3] - strides[5]
                        if ox < 0 or ox >= ow:
                            continue
                        for c in range(channels):
                            out[b, oy, ox, first + c] += taps[b, iy, ix, ky, kx, c] + offset[ky, kx, c]


def _accumulator(
    weight: Array, shape: tuple[int, ...], out: tuple[int, ...], groups: int, strides: Array, zero_point: int
) -> ByteSums:
    n, h, w, c = shape
    oc, kh, kw, width = weight.shape
    per_group = oc // groups
    products = []
    for g in range(groups):
        part = weight[g * per_group : (g + 1) * per_group].transpose(1, 2, 0, 3).reshape(-1, width)
        products.append(linear_accumulator(np.ascontiguousarray(part), n * h * w, zero_point))

    offsets = [product.offset.reshape(kh, kw, per_group) for product in products]

    def accumulate(x: Array) -> Array:
        pixels = x.reshape(-1, c)
        total = np.zeros(out, np.float64)
        for g, product in enumerate(products):
            source = np.ascontiguousarray(pixels[:, g * width : (g + 1) * width])
            taps = product.run(source).reshape(n, h, w, kh, kw, per_group)
            _scatter_loop(taps, offsets[g], strides, total, g * per_group)
        return total.reshape(-1, oc)

    return ByteSums(accumulate, np.zeros(oc, np.int64))


def prepare_transpose_conv2d(call: KernelCall) -> Kernel:
    """`R(B + sum over all taps)` where gaps and borders hold zx; the output extent includes any output padding.

    Input pixel i and tap k meet output pixel `i*stride + k*dilation - padding`. Weight is [OC, KH, KW, IC/groups].
    """
    checks = CallChecks(call)
    plane = checks.choice("plane", PLANES, "full")
    x_spec, _ = read_operands(checks, plane)
    checks.require(len(x_spec.shape) == 4, f"input rank is {len(x_spec.shape)}, expected 4")
    weight = read_weight(checks, 4)
    oc, kh, kw, width = weight.shape
    groups = checks.integer("groups", 1, 1 << 20, 1)
    strides = checks.integers("strides", 2, 1, _LIMIT, (1, 1))
    dilations = checks.integers("dilations", 2, 1, _LIMIT, (1, 1))
    padding = checks.integers("padding", 4, 0, 1 << 16, (0, 0, 0, 0))
    checks.require(x_spec.shape[3] == width * groups and oc % groups == 0, f"weight {weight.shape} does not fit")
    out = call.output
    checks.require(len(out.shape) == 4, f"output rank is {len(out.shape)}, expected 4")
    checks.output((x_spec.shape[0], out.shape[1], out.shape[2], oc), ("i8", "i16", "i32"))
    checks.require(plane == "hi" or out.dtype != "i32", "the output holds no codes")
    for axis, kernel in enumerate((kh, kw)):
        reach = (kernel - 1) * dilations[axis] + 1
        extent = (x_spec.shape[axis + 1] - 1) * strides[axis] + reach - padding[axis] - padding[axis + 2]
        extra = out.shape[axis + 1] - extent
        checks.require(
            0 <= extra < max(strides[axis], dilations[axis]), f"output extent on axis {axis + 1} is not {extent}"
        )
    steps = np.array([*strides, *dilations, padding[0], padding[1]], dtype=np.int64)
    return weighted_kernel(
        checks, weight, lambda zero: _accumulator(weight, x_spec.shape, out.shape, groups, steps, zero), plane
    )


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {"transpose_conv2d": prepare_transpose_conv2d}
