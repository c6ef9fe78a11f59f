"""Softmax, log-softmax and layer / RMS normalization over the last axis, in integers only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isqrt

import numpy as np

from qbc.kernels.checks import MULTIPLIER_LIMIT, SHIFT_LIMIT, CallChecks, distance_bound
from qbc.kernels.compile import Array, Scalar, jit
from qbc.kernels.integers import between_nodes, bit_length, floor_quotient, root_of_shifted
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import KernelCall

_SOFTMAX_LIMIT = 65536
_NORM_LIMIT = 16384


@cache
def exponential_nodes() -> Array:
    """Return E[k] = half_up(2^(30 - k/256)) for k = 0..256, by exact integer roots."""
    nodes = []
    for k in range(257):
        value = 1 << (31 * 256 - k)  # the 256th root of this is 2^(31 - k/256), twice the node
        for _ in range(8):
            value = isqrt(value)
        nodes.append((value + 1) // 2)
    return np.array(nodes, dtype=np.int64)


@jit
def _exponential(d: Scalar, k: int, nodes: Array) -> Scalar:
    t = d * k
    whole = t >> 24
    if whole > 30:
        return 0
    node = (t >> 16) & 255
    v = nodes[node] + (((nodes[node + 1] - nodes[node]) * (t & 65535)) >> 16)
    return v >> whole


@jit
def _exponentials(row: Array, k: int, nodes: Array, e: Array) -> tuple[Scalar, Scalar]:
    """Fill e with the exponentials of a row; return its largest code and their sum."""
    top = np.int64(row[0])
    for i in range(row.shape[0]):
        top = max(top, np.int64(row[i]))
    total = np.int64(0)
    for i in range(row.shape[0]):
        e[i] = _exponential(top - np.int64(row[i]), k, nodes)
        total += e[i]
    return top, total


@jit
def _softmax_loop(x: Array, out: Array, nodes: Array, k: int, q: int, g: int, z: int, lo: int, hi: int) -> None:
    rows, n = x.shape
    e = np.empty(n, np.int64)
    for r in range(rows):
        _, total = _exponentials(x[r], k, nodes, e)
        divisor = total << g
        half = divisor >> 1
        for i in range(n):
            out[r, i] = min(max(z + floor_quotient(e[i] * q + half, divisor), lo), hi)


@jit
def _logarithm(value: Scalar, logs: Array) -> Scalar:
    """Return log2 of an integer of at least 25 bits, in units of 2^-24."""
    bits = bit_length(value)
    mantissa = value >> (bits - 25)
    return ((bits - 1) << 24) + between_nodes(logs, (mantissa >> 16) & 255, mantissa & 65535, 16)


@jit
def _log_softmax_loop(
    x: Array, out: Array, nodes: Array, logs: Array, k: int, m: int, s: int, z: int, lo: int, hi: int
) -> None:
    rows, n = x.shape
    rounding = np.int64(1) << (s - 1)
    e = np.empty(n, np.int64)
    for r in range(rows):
        top, total = _exponentials(x[r], k, nodes, e)
        log = _logarithm(total, logs)
        for i in range(n):
            t = min((top - np.int64(x[r, i])) * k, np.int64(1) << 30)
            acc = (np.int64(30) << 24) - log - t
            out[r, i] = min(max(z + ((acc * m + rounding) >> s), lo), hi)


@jit
def _inverse_root(v: Scalar) -> tuple[Scalar, Scalar]:
    """Return (Rm, u) of a variance 0 < v < 2^62: Rm * 2^-u = 2^16 / sqrt(v), nearly; Rm has 30 or 31 bits."""
    k = (64 - bit_length(v)) & ~1
    return (np.int64(1) << 61) // root_of_shifted(v, k), 45 - k // 2


@jit
def _layer_norm_loop(
    x: Array, gamma: Array, beta: Array, out: Array, zx: int, eps: int, t2: int, rms: int, z: int, lo: int, hi: int
) -> None:
    rows, n = x.shape
    half_out = np.int64(1) << (t2 - 1)
    for r in range(rows):
        s1 = np.int64(0)
        s2 = np.int64(0)
        for i in range(n):
            d = np.int64(x[r, i]) - zx
            s1 += d
            s2 += d * d
        mean = np.int64(0) if rms else s1
        inverse, t = _inverse_root(n * s2 - mean * mean + eps)
        half = np.int64(1) << (t - 1)
        for i in range(n):
            d = n * (np.int64(x[r, i]) - zx) - mean
            normal = (d * inverse + half) >> t
            out[r, i] = min(max(z + ((normal * gamma[i] + beta[i] + half_out) >> t2), lo), hi)


def prepare_softmax(call: KernelCall) -> Kernel:
    """Softmax over the last axis: table exponentials in Q30, one exact division by their sum."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1)
    checks.output(x_spec.shape)
    n = x_spec.shape[-1] if x_spec.shape else 0
    checks.require(0 < n <= _SOFTMAX_LIMIT, f"a row of {n} elements, at most {_SOFTMAX_LIMIT} are possible")
    k = checks.integer("k", 0, (1 << 46) - 1)
    q = checks.integer("q", 0, MULTIPLIER_LIMIT)
    g = checks.integer("g", 0, 16)
    out_range = checks.output_range()
    nodes = exponential_nodes()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi

    def run(x: Array, out: Array) -> None:
        _softmax_loop(x.reshape(-1, n), out.reshape(-1, n), nodes, k, q, g, z, lo, hi)

    return run


def prepare_log_softmax(call: KernelCall) -> Kernel:
    """Log-softmax over the last axis; constant table i64 [257] = half_up(2^24 * log2(1 + j/256)), rescale (m, s)."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1)
    checks.output(x_spec.shape)
    n = x_spec.shape[-1] if x_spec.shape else 0
    checks.require(0 < n <= _SOFTMAX_LIMIT, f"a row of {n} elements, at most {_SOFTMAX_LIMIT} are possible")
    k = checks.integer("k", 0, (1 << 46) - 1)
    logs = checks.int64("table", (257,), 0, 1 << 24)
    m, s = checks.rescale(1 << 31)
    out_range = checks.output_range()
    nodes = exponential_nodes()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi

    def run(x: Array, out: Array) -> None:
        _log_softmax_loop(x.reshape(-1, n), out.reshape(-1, n), nodes, logs, k, m, s, z, lo, hi)

    return run


def prepare_layer_norm(call: KernelCall) -> Kernel:
    """Layer normalization (RMS normalization with rms = 1) of rows of n elements, with gamma and beta in integers."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1)
    checks.output(x_spec.shape)
    n = checks.integer("n", 1, _NORM_LIMIT)
    checks.require(x_spec.size % n == 0, f"{x_spec.size} elements are no rows of {n}")
    zx = checks.zero_point("zx", x_spec)
    rms = checks.integer("rms", 0, 1, 0)
    eps = checks.integer("eps", 1, (1 << 62) - 1)
    t2 = checks.integer("t", 1, SHIFT_LIMIT)
    limit = distance_bound(x_spec, zx)
    checks.require((n * limit) ** 2 + eps < 1 << 62, "the variance does not fit 62 bits")
    gamma = checks.int64("gamma", (n,), -(1 << 30), 1 << 30)
    beta = checks.int64("beta", (n,), -(1 << 61), 1 << 61)
    out_range = checks.output_range()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi

    def run(x: Array, out: Array) -> None:
        _layer_norm_loop(x.reshape(-1, n), gamma, beta, out.reshape(-1, n), zx, eps, t2, rms, z, lo, hi)

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "softmax": prepare_softmax,
    "log_softmax": prepare_log_softmax,
    "layer_norm": prepare_layer_norm,
}
