"""linear (constant weight) and matmul (two activations)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from qbc.kernels.accumulate import ByteSums, exact_matrix_product, linear_accumulator
from qbc.kernels.checks import CallChecks, distance_bound
from qbc.kernels.compile import Array, jit
from qbc.kernels.convolution import PLANES, read_operands, read_weight, weighted_kernel
from qbc.kernels.families import choose
from qbc.kernels.finish import INT32_BOUND, INT48_BOUND
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import KernelCall

_FLOAT32_PRODUCT_LIMIT = 1 << 16


@jit
def _rescale_loop(acc: Array, out: Array, m: int, s: int, z: int, lo: int, hi: int) -> None:
    half = np.int64(1) << (s - 1)
    for i in range(acc.shape[0]):
        v = ((np.int64(acc[i]) * m + half) >> s) + z
        out[i] = min(max(v, lo), hi)


def prepare_linear(call: KernelCall) -> Kernel:
    """`R(B + x @ w.T)` over the last axis; weight i8 [OC, IC]; with fused table or residual addition."""
    checks = CallChecks(call)
    plane = checks.choice("plane", PLANES, "full")
    x_spec, _ = read_operands(checks, plane)
    weight = read_weight(checks, 2)
    depth = weight.shape[1]
    checks.require(
        len(x_spec.shape) >= 1 and x_spec.shape[-1] == depth, f"weight {weight.shape} does not fit the input"
    )
    checks.output((*x_spec.shape[:-1], weight.shape[0]), ("i8", "i16", "i32"))
    checks.require(plane == "hi" or call.output.dtype != "i32", "the output holds no codes")
    rows = prod(x_spec.shape[:-1])

    def accumulator(zero_point: int) -> ByteSums:
        sums = linear_accumulator(weight, rows, zero_point)
        return ByteSums(lambda x: sums.run(x.reshape(rows, depth)), sums.offset)

    return weighted_kernel(checks, weight, accumulator, plane)


def prepare_matmul(call: KernelCall) -> Kernel:
    """`R(sum (a-za)*(b-zb))` of [..., M, K] and [..., K, N] (or [..., N, K] with transpose_b), batch axes broadcast."""
    checks = CallChecks(call)
    a, b = checks.inputs(2)
    transpose = bool(checks.integer("transpose_b", 0, 1, 0))
    checks.require(len(a.shape) >= 2 and len(b.shape) >= 2, "operands have a rank below 2")
    inner, columns = (b.shape[-1], b.shape[-2]) if transpose else (b.shape[-2], b.shape[-1])
    checks.require(a.shape[-1] == inner, f"shapes {a.shape} and {b.shape} do not fit")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        checks.fail(f"shapes {a.shape} and {b.shape} do not broadcast")
    checks.output((*batch, a.shape[-2], columns))
    za, zb = checks.zero_point("za", a), checks.zero_point("zb", b)
    product = distance_bound(a, za) * distance_bound(b, zb)
    bound = inner * product
    limit = INT32_BOUND if a.dtype == b.dtype == "i8" else INT48_BOUND
    checks.require(bound < limit, f"a sum of {inner} products can reach {bound}")
    m, s = checks.rescale(bound)
    out_range = checks.output_range()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi
    short = product <= _FLOAT32_PRODUCT_LIMIT and choose("matmul") == "split_k_float32"
    dtype: Any = np.float32 if short else np.float64

    def run(x: Array, y: Array, out: Array) -> None:
        left, right = x.astype(dtype) - dtype(za), y.astype(dtype) - dtype(zb)
        if transpose:
            right = right.swapaxes(-1, -2)
        acc = exact_matrix_product(left, right, product)
        _rescale_loop(acc.reshape(-1), out.reshape(-1), m, s, z, lo, hi)

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {"linear": prepare_linear, "matmul": prepare_matmul}
