"""What follows an accumulator: rescale, clamp, and in the same loop a fused table or a fused residual addition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qbc.kernels.activation import byte_table
from qbc.kernels.checks import MULTIPLIER_LIMIT, SHIFT_LIMIT, CallChecks, OutputRange, prove_channels
from qbc.kernels.compile import Array, jit
from qbc.kernels.spec import NUMPY_DTYPES, TensorSpec

INT32_BOUND = 1 << 31
INT48_BOUND = 1 << 47

Finish = Callable[[Array, Array, Any], None]  # accumulator rows, output rows, residual rows or None
Tail = Callable[[Array, Any, Array], None]  # code rows, residual rows or None, output rows


@jit
def _narrow_rows(
    acc: Array, bias: Array, m: Array, half: Array, s: Array, z: int, lo: int, hi: int, out: Array
) -> None:
    """Rescale where acc + bias and m fit int32: one 32 x 32 -> 64 bit product an element."""
    for r in range(acc.shape[0]):
        for c in range(acc.shape[1]):
            total = np.int64(np.int32(np.int32(acc[r, c]) + bias[c]))
            v = ((total * np.int64(m[c]) + half[c]) >> s[c]) + z
            out[r, c] = min(max(v, lo), hi)


@jit
def _narrow_table_rows(
    acc: Array, bias: Array, m: Array, half: Array, s: Array, z: int, lo: int, hi: int, table: Array, out: Array
) -> None:
    row = np.empty(acc.shape[1], np.uint8)
    for r in range(acc.shape[0]):
        for c in range(acc.shape[1]):
            total = np.int64(np.int32(np.int32(acc[r, c]) + bias[c]))
            v = ((total * np.int64(m[c]) + half[c]) >> s[c]) + z
            row[c] = min(max(v, lo), hi)
        for c in range(acc.shape[1]):
            out[r, c] = table[row[c]]


@jit
def _narrow_add_rows(
    acc: Array,
    bias: Array,
    m: Array,
    half: Array,
    s: Array,
    z: int,
    lo: int,
    hi: int,
    residual: Array,
    add: Array,
    out: Array,
) -> None:
    za, zb, s2, z2, lo2, hi2 = add[2], add[3], add[4], add[5], add[6], add[7]
    ma, mb = np.int64(np.int32(add[0])), np.int64(np.int32(add[1]))
    half2 = np.int64(1) << (s2 - 1)
    for r in range(acc.shape[0]):
        for c in range(acc.shape[1]):
            total = np.int64(np.int32(np.int32(acc[r, c]) + bias[c]))
            v = min(max(((total * np.int64(m[c]) + half[c]) >> s[c]) + z, lo), hi)
            da = np.int64(np.int32(v - za))
            db = np.int64(np.int32(residual[r, c] - zb))
            v = ((da * ma + db * mb + half2) >> s2) + z2
            out[r, c] = min(max(v, lo2), hi2)


@jit
def _wide_rows(acc: Array, bias: Array, m: Array, half: Array, s: Array, z: int, lo: int, hi: int, out: Array) -> None:
    """Rescale with 48-bit accumulators."""
    for r in range(acc.shape[0]):
        for c in range(acc.shape[1]):
            v = (((np.int64(acc[r, c]) + bias[c]) * m[c] + half[c]) >> s[c]) + z
            out[r, c] = min(max(v, lo), hi)


@jit
def _table_rows(codes: Array, table: Array, out: Array) -> None:
    for r in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            out[r, c] = table[codes[r, c]]


@jit
def _add_rows(codes: Array, residual: Array, add: Array, out: Array) -> None:
    ma, mb, za, zb, s2, z2, lo2, hi2 = add[0], add[1], add[2], add[3], add[4], add[5], add[6], add[7]
    half2 = np.int64(1) << (s2 - 1)
    for r in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            v = (((codes[r, c] - za) * ma + (residual[r, c] - zb) * mb + half2) >> s2) + z2
            out[r, c] = min(max(v, lo2), hi2)


@jit
def combine_planes(high: Array, low: Array, out: Array) -> None:
    """Write `256*high + low` as int64."""
    for r in range(high.shape[0]):
        for c in range(high.shape[1]):
            out[r, c] = 256 * np.int64(high[r, c]) + np.int64(low[r, c])


@jit
def split_planes(x: Array, high: Array, low: Array) -> None:
    """Split int16 codes into the planes hi = (q + 128) >> 8 and lo = q - 256*hi, both as offset-binary bytes."""
    for i in range(x.shape[0]):
        shifted = np.int32(x[i]) + 128
        high[i] = (shifted >> 8) + 128
        low[i] = shifted & 255


@dataclass(frozen=True)
class Rescale:
    """Per-channel constants of `R(acc)` for an accumulator of sum (x - zx)*w, and the range of the code it yields."""

    bias: Array
    multiplier: Array
    shift: Array
    half: Array
    wide: bool
    range: OutputRange
    dtype: str

    @property
    def scalars(self) -> tuple[int, int, int]:
        """z, lo, hi in storage numbers."""
        return self.range.z, self.range.lo, self.range.hi

    @property
    def numpy_dtype(self) -> str:
        """numpy dtype of the stored codes."""
        return NUMPY_DTYPES[self.dtype]


def read_rescale(checks: CallChecks, weight: Array, x: TensorSpec, zx: int, offset: Array | int = 0) -> Rescale:
    """Read bias, multiplier and shift, and prove that no sum of any channel overflows.

    `zx` is the code of the input zero point: the sums of the kernels exclude it, the constant `bias` (B) includes
    `-zx * sum w`, so it is added back here. `offset` is what the accumulator leaves to add (`ByteSums`).
    """
    channels = weight.shape[0]
    flat = weight.reshape(channels, -1)
    total = flat.sum(axis=1, dtype=np.int64)
    magnitude = 2 * np.maximum(flat, 0).sum(axis=1, dtype=np.int64) - total
    codes_bound = 32768 if x.dtype == "i16" else 128
    limit = INT48_BOUND if x.dtype == "i16" else INT32_BOUND
    bias = checks.int64("bias", (channels,), -limit, limit)
    multiplier = checks.int64("multiplier", (channels,), 0, MULTIPLIER_LIMIT)
    shift = checks.int64("shift", (channels,), 1, SHIFT_LIMIT)
    bound = np.abs(bias) + codes_bound * magnitude
    bad = np.flatnonzero(bound >= limit)
    if bad.size:
        checks.fail(f"output channel {int(bad[0])}: the accumulator can reach {int(bound[bad[0]])}")
    prove_channels(checks, bound, multiplier, shift)
    middle = _middle_dtype(checks)
    code_range = checks.code_range("", middle)
    half = np.int64(1) << (shift - 1)
    adjusted = bias + zx * total + offset
    # parts of an i8 sum may need one bit more than int32, though the sum does not: then the 64-bit loop takes it
    if x.dtype == "i16" or int(magnitude.max()) * 256 + int(np.abs(bias).max()) >= INT32_BOUND:
        return Rescale(adjusted, multiplier, shift, half, True, code_range, middle)
    return Rescale(adjusted.astype(np.int32), multiplier.astype(np.int32), shift, half, False, code_range, middle)


def _middle_dtype(checks: CallChecks) -> str:
    """Return the type of the code between the rescale and what is fused behind it."""
    if checks.has("table"):
        return "i8"
    if "add_s" in checks.call.attributes:
        return checks.choice("add_dtype", ("i8", "i16"), checks.call.output.dtype)
    return checks.call.output.dtype


def read_finish(checks: CallChecks, rescale: Rescale, residual: TensorSpec | None) -> Finish:
    """Return the function (accumulator rows, output rows, residual rows) of a call, with what is fused into it."""
    if checks.has("table"):
        return _table_finish(rescale, byte_table(checks, checks.call.output.dtype))
    if residual is not None:
        return _add_finish(rescale, read_add(checks, rescale.dtype, residual))
    constants = (rescale.bias, rescale.multiplier, rescale.half, rescale.shift, *rescale.scalars)
    loop = _wide_rows if rescale.wide else _narrow_rows
    return lambda acc, out, _: loop(acc, *constants, out)


def read_add(checks: CallChecks, dtype: str, residual: TensorSpec) -> Array:
    """Return the `add_*` attributes as int64 [ma, mb, za, zb, s, z, lo, hi] in storage numbers."""
    checks.require(residual.shape == checks.call.output.shape, "the residual has another shape than the output")
    middle = TensorSpec(residual.shape, dtype)
    out_range = checks.code_range("add_", checks.call.output.dtype)
    return np.array(
        [
            checks.integer("add_ma", -MULTIPLIER_LIMIT, MULTIPLIER_LIMIT),
            checks.integer("add_mb", -MULTIPLIER_LIMIT, MULTIPLIER_LIMIT),
            checks.zero_point("add_za", middle),
            checks.zero_point("add_zb", residual),
            checks.integer("add_s", 1, SHIFT_LIMIT),
            out_range.z,
            out_range.lo,
            out_range.hi,
        ],
        dtype=np.int64,
    )


def _table_finish(rescale: Rescale, table: Array) -> Finish:
    if not rescale.wide:
        constants = (rescale.bias, rescale.multiplier, rescale.half, rescale.shift, *rescale.scalars)
        return lambda acc, out, _: _narrow_table_rows(acc, *constants, table, out)
    return _two_steps(rescale, lambda codes, _, out: _table_rows(codes, table, out))


def _add_finish(rescale: Rescale, add: Array) -> Finish:
    if rescale.wide:
        return _two_steps(rescale, lambda codes, residual, out: _add_rows(codes, residual, add, out))
    constants = (rescale.bias, rescale.multiplier, rescale.half, rescale.shift, *rescale.scalars)

    return lambda acc, out, residual: _narrow_add_rows(acc, *constants, residual, add, out)


def _two_steps(rescale: Rescale, tail: Tail) -> Finish:
    constants = (rescale.bias, rescale.multiplier, rescale.half, rescale.shift, *rescale.scalars)

    def wide(acc: Array, out: Array, residual: Any) -> None:
        codes = np.empty(acc.shape, rescale.numpy_dtype)
        _wide_rows(acc, *constants, codes)
        tail(codes, residual, out)

    return wide


def read_tail(checks: CallChecks, rescale: Rescale, residual: TensorSpec | None) -> Tail | None:
    """Return what follows the codes of the rescale, as a function (code rows, residual rows, output rows), or None."""
    if checks.has("table"):
        table = byte_table(checks, checks.call.output.dtype)
        return lambda codes, _, out: _table_rows(codes, table, out)
    if residual is None:
        return None
    add = read_add(checks, rescale.dtype, residual)
    return lambda codes, values, out: _add_rows(codes, values, add, out)
