"""conv2d and depthwise_conv2d over [N, H, W, C], i8 in one pass and i16 as two byte planes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.kernels.accumulate import Accumulate, ByteSums, convolution_accumulator
from qbc.kernels.checks import CallChecks
from qbc.kernels.compile import Array
from qbc.kernels.depthwise import depthwise_codes
from qbc.kernels.families import choose
from qbc.kernels.finish import INT32_BOUND, Finish, combine_planes, read_finish, read_rescale, read_tail, split_planes
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import CODE_RANGES, KernelCall, TensorSpec
from qbc.kernels.windows import WindowGeometry, read_windows

PLANES = ("full", "hi", "lo")


def read_weight(checks: CallChecks, rank: int) -> Array:
    """Return the constant `weight` (i8, any shape of the rank)."""
    weight = checks.call.constants.get("weight")
    if weight is None or weight.dtype != np.int8 or weight.ndim != rank or weight.size == 0:
        checks.fail(f"constant 'weight' is missing or no int8 array of rank {rank}")
    return np.ascontiguousarray(weight)


def plane_zero_points(zx: int) -> tuple[int, int]:
    """Return the stored bytes of the two planes of an i16 code."""
    high = (zx + 128) >> 8
    return high + 128, zx - 256 * high + 128


def read_operands(checks: CallChecks, plane: str) -> tuple[TensorSpec, TensorSpec | None]:
    """Return the input and the residual (the last operand, where `add_*` attributes exist) of a weighted sum.

    Plane "hi" only sums; what a call says about finishing is of no account there.
    """
    with_residual = plane != "hi" and "add_s" in checks.call.attributes
    checks.require(not (with_residual and checks.has("table")), "cannot fuse a table and an addition at once")
    count = 1 + (plane == "lo") + with_residual
    specs = checks.inputs(count, ("i8", "i16", "i32"))
    x_spec = specs[0]
    checks.require(x_spec.dtype != "i32", "the input is i32")
    checks.require(plane == "full" or x_spec.dtype == "i16", "only an i16 input has planes")
    if plane == "lo":
        checks.require(
            specs[1] == TensorSpec(checks.call.output.shape, "i32"), "the partial sums do not fit the output"
        )
    if not with_residual:
        return x_spec, None
    checks.require(specs[-1].dtype != "i32", "the residual is i32")
    return x_spec, specs[-1]


def input_zero_point(checks: CallChecks, x_spec: TensorSpec) -> int:
    """Return the attribute `zx` as a code."""
    return checks.integer("zx", *CODE_RANGES[x_spec.dtype])


def weighted_kernel(checks: CallChecks, weight: Array, accumulator: Callable[[int], ByteSums], plane: str) -> Kernel:
    """Build the kernel of a weighted sum; `accumulator(zero_point)` makes the byte sums of one plane."""
    x_spec, residual = read_operands(checks, plane)
    zx = input_zero_point(checks, x_spec)
    channels = weight.shape[0]
    if plane == "hi":
        return _high_plane(checks, weight, accumulator, zx)
    if x_spec.dtype == "i8":
        sums = accumulator(zx + 128)
        finish = read_finish(checks, read_rescale(checks, weight, x_spec, zx, sums.offset), residual)
        return _byte_kernel(sums.run, finish, channels, residual is not None)
    zero_high, zero_low = plane_zero_points(zx)
    low = accumulator(zero_low)
    if plane == "full":
        high = accumulator(zero_high)
        offset = 256 * high.offset + low.offset
        finish = read_finish(checks, read_rescale(checks, weight, x_spec, zx, offset), residual)
        return _plane_kernel(high.run, low.run, finish, channels)
    # the given partial sums hold the high plane of the zero point, which the rescale takes as removed
    offset = low.offset - 256 * (zero_high - 128) * weight.reshape(channels, -1).sum(axis=1, dtype=np.int64)
    finish = read_finish(checks, read_rescale(checks, weight, x_spec, zx, offset), residual)
    return _plane_kernel(None, low.run, finish, channels)


def _byte_kernel(accumulate: Accumulate, finish: Finish, channels: int, with_residual: bool) -> Kernel:
    if with_residual:

        def run_with_residual(x: Array, residual: Array, out: Array) -> None:
            finish(accumulate(x), out.reshape(-1, channels), residual.reshape(-1, channels))

        return run_with_residual

    def run(x: Array, out: Array) -> None:
        finish(accumulate(x), out.reshape(-1, channels), None)

    return run


def _high_plane(checks: CallChecks, weight: Array, accumulator: Callable[[int], ByteSums], zx: int) -> Kernel:
    checks.require(checks.call.output.dtype == "i32", "the partial sums of plane 'hi' are i32")
    zero_high, _ = plane_zero_points(zx)
    flat = weight.reshape(weight.shape[0], -1)
    largest = int(np.abs(flat, dtype=np.int64).sum(axis=1).max())
    checks.require(128 * largest < INT32_BOUND, f"a partial sum can reach {128 * largest}")
    sums = accumulator(zero_high)
    offset = (zero_high - 128) * flat.sum(axis=1, dtype=np.int64) + sums.offset

    def run(x: Array, out: Array) -> None:
        high, low = np.empty(x.shape, np.uint8), np.empty(x.shape, np.uint8)
        split_planes(x.reshape(-1), high.reshape(-1), low.reshape(-1))
        np.add(sums.run(high).astype(np.int64), offset, out=out.reshape(-1, len(offset)), casting="unsafe")

    return run


def _plane_kernel(sum_high: Accumulate | None, sum_low: Accumulate, finish: Finish, channels: int) -> Kernel:
    """`acc = 256*acc_hi + acc_lo`; without `sum_high` the high sums are the second operand."""

    def run(x: Array, *rest: Array) -> None:
        out = rest[-1].reshape(-1, channels)
        high, low = np.empty(x.shape, np.uint8), np.empty(x.shape, np.uint8)
        split_planes(x.reshape(-1), high.reshape(-1), low.reshape(-1))
        if sum_high is not None:
            acc_high, rest = sum_high(high), rest[:-1]
        else:
            acc_high, rest = rest[0].reshape(-1, channels), rest[1:-1]
        acc = np.empty(out.shape, np.int64)
        combine_planes(acc_high, sum_low(low), acc)
        finish(acc, out, rest[0].reshape(-1, channels) if rest else None)

    return run


def prepare_conv2d(call: KernelCall) -> Kernel:
    """`R(B + sum x*w)` over windows, padding holds zx; with fused table or residual addition."""
    checks = CallChecks(call)
    plane = checks.choice("plane", PLANES, "full")
    x_spec, _ = read_operands(checks, plane)
    weight = read_weight(checks, 4)
    groups = checks.integer("groups", 1, 1 << 20, 1)
    geometry = read_windows(checks, x_spec, (weight.shape[1], weight.shape[2]), ceil=False)
    channels = geometry.input[3]
    if call.kind == "depthwise_conv2d":
        groups = channels if "groups" not in call.attributes else groups
        checks.require(groups == channels, "a depthwise convolution has one group for each channel")
    checks.require(channels % groups == 0 and weight.shape[0] % groups == 0, f"{groups} groups do not divide channels")
    checks.require(weight.shape[3] == channels // groups, f"weight shape {weight.shape} does not fit the input")
    checks.output((geometry.input[0], *geometry.output_size, weight.shape[0]), ("i8", "i16", "i32"))
    checks.require(plane == "hi" or call.output.dtype != "i32", "the output holds no codes")
    if (
        groups == channels == weight.shape[0]
        and x_spec.dtype == "i8"
        and choose("depthwise_conv2d") == "depthwise_loop"
    ):
        return _fused_depthwise(checks, weight, geometry)
    return weighted_kernel(checks, weight, lambda zero: convolution_accumulator(weight, geometry, groups, zero), plane)


def _fused_depthwise(checks: CallChecks, weight: Array, geometry: WindowGeometry) -> Kernel:
    x_spec, residual = read_operands(checks, "full")
    zx = input_zero_point(checks, x_spec)
    rescale = read_rescale(checks, weight, x_spec, zx)
    tail = read_tail(checks, rescale, residual)
    codes_of = depthwise_codes(weight, geometry, zx + 128, rescale)
    if tail is None:
        return codes_of
    channels, shape, dtype = weight.shape[0], checks.call.output.shape, rescale.numpy_dtype

    def run(x: Array, *rest: Array) -> None:
        codes = np.empty(shape, dtype)
        codes_of(x, codes)
        values = rest[0].reshape(-1, channels) if residual is not None else None
        tail(codes.reshape(-1, channels), values, rest[-1].reshape(-1, channels))

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {"conv2d": prepare_conv2d, "depthwise_conv2d": prepare_conv2d}
