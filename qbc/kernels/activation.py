"""Functions of one variable by tables: 256 entries for i8, 513 interpolated nodes or a mantissa table for i16."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.kernels.checks import MULTIPLIER_LIMIT, SHIFT_LIMIT, CallChecks, OutputRange
from qbc.kernels.compile import Array, Scalar, jit
from qbc.kernels.integers import between_nodes, bit_length
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import CODE_RANGES, NUMPY_DTYPES, KernelCall
from qbc.kernels.storage import store_codes


def byte_table(checks: CallChecks, dtype: str) -> Array:
    """Return the constant `table` (256 codes, index code + 128) in the storage form of the output dtype."""
    table = checks.constant("table", ("int8", "int16"), (256,))
    low, high = CODE_RANGES[dtype]
    checks.require(low <= int(table.min()) and int(table.max()) <= high, "a table entry is outside the output type")
    return store_codes(table, dtype)


@jit
def _lut_loop(x: Array, table: Array, out: Array) -> None:
    for i in range(x.shape[0]):
        out[i] = table[x[i]]


@jit
def _lut16_loop(x: Array, table: Array, offset: int, lo: int, hi: int, out: Array) -> None:
    for i in range(x.shape[0]):
        position = np.int64(x[i]) + 32768
        node, rest = position >> 7, position & 127
        v = between_nodes(table, node, rest, 7) + offset
        out[i] = min(max(v, lo), hi)


@jit
def _mantissa(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return (E, node, rest) of x in 1..32768: x = 2^E * mu with mu = 1 + (node + rest/64) / 256."""
    bits = bit_length(x)
    scaled = (x << 15) >> bits
    return bits - 1, (scaled >> 6) & 255, scaled & 63


@jit
def _power_loop(x: Array, table: Array, p2: int, m: int, s: int, z: int, lo: int, hi: int, out: Array) -> None:
    zero = min(max(z, lo), hi)
    for i in range(x.shape[0]):
        q = np.int64(x[i])
        if q == 0:
            out[i] = zero if p2 == 1 else hi
            continue
        if q < 0 and p2 == 1:
            out[i] = zero
            continue
        if q < 0 and p2 == -1:
            out[i] = hi
            continue
        e, node, rest = _mantissa(abs(q))
        h = 0 if p2 == -2 else e & 1
        v = between_nodes(table[h], node, rest, 6)
        if q < 0:
            v = -v
        t = s - (p2 * (e - h)) // 2
        if t > 62:
            out[i] = zero
        elif t < 1:
            out[i] = lo if v < 0 else hi
        else:
            out[i] = min(max(z + ((v * m + (np.int64(1) << (t - 1))) >> t), lo), hi)


@jit
def _log_loop(x: Array, table: Array, c1: int, c2: int, m: int, s: int, z: int, lo: int, hi: int, out: Array) -> None:
    half = np.int64(1) << (s - 1)
    for i in range(x.shape[0]):
        q = np.int64(x[i])
        if q <= 0:
            out[i] = lo
            continue
        e, node, rest = _mantissa(q)
        v = between_nodes(table[0], node, rest, 6)
        out[i] = min(max(z + (((e * c1 + v + c2) * m + half) >> s), lo), hi)


def _tabulated(evaluate: Kernel, dtype: str) -> Kernel:
    """Return the lookup of an i16 function in a table of its values at all 65,536 codes, computed here once."""
    every_code = np.arange(1 << 16, dtype=np.uint16)
    table = np.empty(1 << 16, NUMPY_DTYPES[dtype])
    evaluate(every_code.view(np.int16), table)

    def run(x: Array, out: Array) -> None:
        _lut_loop(x.reshape(-1).view(np.uint16), table, out.reshape(-1))

    return run


def prepare_lut(call: KernelCall) -> Kernel:
    """`table[q + 128]` for an i8 input, to i8 or i16."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1, ("i8",))
    out_spec = checks.output(x_spec.shape)
    table = byte_table(checks, out_spec.dtype)

    def run(x: Array, out: Array) -> None:
        _lut_loop(x.reshape(-1), table, out.reshape(-1))

    return run


def prepare_lut16(call: KernelCall) -> Kernel:
    """Linear interpolation of 513 nodes (already on the output scale, zero point included) over an i16 input."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1, ("i16",))
    out_spec = checks.output(x_spec.shape)
    table = checks.int64("table", (513,), -(1 << 31), (1 << 31) - 1)
    clamp = checks.code_range("", out_spec.dtype, z=False)
    return _tabulated(lambda x, out: _lut16_loop(x, table, clamp.z, clamp.lo, clamp.hi, out), out_spec.dtype)


_TWICE_THE_POWER = {"reciprocal": -2, "rsqrt": -1, "sqrt": 1}
_NODE_LIMIT = 1 << 32


def _rescale(checks: CallChecks) -> tuple[int, int, OutputRange]:
    m = checks.integer("m", 0, MULTIPLIER_LIMIT)
    s = checks.integer("s", -64, 128)
    return m, s, checks.output_range()


def prepare_mantissa_lut(call: KernelCall) -> Kernel:
    """Reciprocal, rsqrt, sqrt and log of an i16 input with zero point 0, by a table over the mantissa.

    The table holds 257 nodes of mu = 1 + j/256; [2, 257] for rsqrt and sqrt, where row h serves odd and even exponents.
    Reciprocal, rsqrt, sqrt: `clamp(z + R)` with a shift that depends on the exponent; log: `R(E*c1 + node + c2)`.
    """
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1, ("i16",))
    checks.output(x_spec.shape)
    function = checks.choice("function", ("reciprocal", "rsqrt", "sqrt", "log"))
    rows = 2 if function in ("rsqrt", "sqrt") else 1
    shape = (2, 257) if rows == 2 else tuple(call.constants["table"].shape if checks.has("table") else (257,))
    checks.require(shape in ((257,), (rows, 257)), f"the table of {function} has shape {shape}")
    table = checks.int64("table", shape, -_NODE_LIMIT, _NODE_LIMIT).reshape(rows, 257)
    if function == "log":
        return _prepare_log(checks, table)
    checks.require(int(np.abs(table).max()) < 1 << 31, "a table node does not fit 31 bits")
    p2 = _TWICE_THE_POWER[function]
    m, s, out_range = _rescale(checks)
    z, lo, hi = out_range.z, out_range.lo, out_range.hi
    return _tabulated(lambda x, out: _power_loop(x, table, p2, m, s, z, lo, hi, out), call.output.dtype)


def _prepare_log(checks: CallChecks, table: Array) -> Kernel:
    c1 = checks.integer("c1", 0, 1 << 25)
    c2 = checks.integer("c2", -(1 << 31), 1 << 31)
    bound = 15 * c1 + 2 * int(np.abs(table).max()) + abs(c2)
    m, s = checks.rescale(bound)
    checks.require(1 <= s <= SHIFT_LIMIT, "the shift is out of range")
    out_range = checks.output_range()
    z, lo, hi = out_range.z, out_range.lo, out_range.hi
    return _tabulated(lambda x, out: _log_loop(x, table, c1, c2, m, s, z, lo, hi, out), checks.call.output.dtype)


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "lut": prepare_lut,
    "lut16": prepare_lut16,
    "mantissa_lut": prepare_mantissa_lut,
}
