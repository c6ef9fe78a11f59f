"""Reductions over any axes: exact sums with one rescale, extrema, the L2 norm by an integer root, arg-max."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from qbc.kernels.checks import MULTIPLIER_LIMIT, SHIFT_LIMIT, CallChecks, distance_bound
from qbc.kernels.compile import Array, Scalar, jit
from qbc.kernels.integers import bit_length, integer_root
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import KernelCall, TensorSpec

_NORM_LIMIT = 16384


@jit
def _sum_loop(x: Array, out: Array, zx: int, m: int, s: int, z: int, lo: int, hi: int) -> None:
    outer, count, inner = x.shape
    half = np.int64(1) << (s - 1)
    acc = np.empty(inner, np.int64)
    for o in range(outer):
        acc[:] = -zx * count
        if inner == 1:
            total = np.int64(0)
            for k in range(count):
                total += np.int64(x[o, k, 0])
            acc[0] += total
        else:
            for k in range(count):
                for i in range(inner):
                    acc[i] += np.int64(x[o, k, i])
        for i in range(inner):
            v = ((acc[i] * m + half) >> s) + z
            out[o, i] = min(max(v, lo), hi)


@jit
def _norm_loop(x: Array, out: Array, zx: int, m: int, s: int, z: int, lo: int, hi: int) -> None:
    outer, count, inner = x.shape
    for o in range(outer):
        for i in range(inner):
            total = np.int64(0)
            for k in range(count):
                d = np.int64(x[o, k, i]) - zx
                total += d * d
            v: Scalar = z
            if total > 0:
                k2 = (62 - bit_length(total)) & ~1
                root = integer_root(total << k2)
                shift = s + k2 // 2
                if shift <= 62:
                    v = z + ((root * m + (np.int64(1) << (shift - 1))) >> shift)
            out[o, i] = min(max(v, lo), hi)


def _plan(checks: CallChecks, dtypes: tuple[str, ...]) -> tuple[TensorSpec, int, Callable[[Array], Array]]:
    """Return the input spec, the number of reduced elements, and a view maker onto [outer, reduced, inner]."""
    (x_spec,) = checks.inputs(1)
    shape = x_spec.shape
    axes = checks.axes(len(shape))
    kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
    flat = tuple(shape[axis] for axis in kept)
    with_ones = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    out = checks.call.output
    checks.require(out.shape in (flat, with_ones), f"output shape is {out.shape}, expected {flat} or {with_ones}")
    checks.require(out.dtype in dtypes, f"output dtype {out.dtype} is not one of {', '.join(dtypes)}")
    count = prod(shape[axis] for axis in axes)
    if axes == tuple(range(axes[0], axes[-1] + 1)):
        view = (prod(shape[: axes[0]]), count, prod(shape[axes[-1] + 1 :]))
        return x_spec, count, lambda x: x.reshape(view)
    order = (*kept, *axes)
    return x_spec, count, lambda x: np.ascontiguousarray(x.transpose(order)).reshape(-1, count, 1)


def prepare_reduce_sum(call: KernelCall) -> Kernel:
    """`R(sum of x - zx)` over `axes`; the mean is the same with another (m, s)."""
    checks = CallChecks(call)
    x_spec, count, view = _plan(checks, ("i8", "i16"))
    zx = checks.zero_point("zx", x_spec)
    m, s = checks.rescale(count * distance_bound(x_spec, zx))
    out_range = checks.output_range()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi

    def run(x: Array, out: Array) -> None:
        blocks = view(x)
        _sum_loop(blocks, out.reshape(blocks.shape[0], blocks.shape[2]), zx, m, s, z, lo, hi)

    return run


def prepare_reduce_l2(call: KernelCall) -> Kernel:
    """`sqrt(sum of (x - zx)^2)`: the sum scaled to 62 bits, its integer root, one rescale; a zero sum gives z."""
    checks = CallChecks(call)
    x_spec, count, view = _plan(checks, ("i8", "i16"))
    checks.require(count <= _NORM_LIMIT, f"{count} elements, at most {_NORM_LIMIT} can be normalized")
    zx = checks.zero_point("zx", x_spec)
    checks.require(count * distance_bound(x_spec, zx) ** 2 < 1 << 62, "the sum of squares does not fit 62 bits")
    m = checks.integer("m", 0, MULTIPLIER_LIMIT)
    s = checks.integer("s", 1, SHIFT_LIMIT)
    out_range = checks.output_range()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi

    def run(x: Array, out: Array) -> None:
        blocks = view(x)
        _norm_loop(blocks, out.reshape(blocks.shape[0], blocks.shape[2]), zx, m, s, z, lo, hi)

    return run


def prepare_reduce_extremum(call: KernelCall) -> Kernel:
    """Largest or smallest code over `axes`; the encoding stays."""
    checks = CallChecks(call)
    x_spec, _, view = _plan(checks, ("i8", "i16"))
    checks.require(x_spec.dtype == call.output.dtype, "input and output have different types")
    extremum = np.max if call.kind == "reduce_max" else np.min

    def run(x: Array, out: Array) -> None:
        blocks = view(x)
        extremum(blocks, axis=1, out=out.reshape(blocks.shape[0], blocks.shape[2]))

    return run


def prepare_arg_max(call: KernelCall) -> Kernel:
    """Index (i32) of the largest code along `axis`; the lowest index of equal ones."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1)
    axis = checks.axis("axis", len(x_spec.shape))
    flat = x_spec.shape[:axis] + x_spec.shape[axis + 1 :]
    with_one = (*x_spec.shape[:axis], 1, *x_spec.shape[axis + 1 :])
    checks.require(call.output.shape in (flat, with_one), f"output shape is {call.output.shape}, expected {flat}")
    checks.require(call.output.dtype == "i32", "the output is not i32")

    def run(x: Array, out: Array) -> None:
        np.copyto(out.reshape(flat), np.argmax(x, axis=axis), casting="unsafe")

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "reduce_sum": prepare_reduce_sum,
    "reduce_max": prepare_reduce_extremum,
    "reduce_min": prepare_reduce_extremum,
    "reduce_l2": prepare_reduce_l2,
    "arg_max": prepare_arg_max,
}
