"""Binary operations with broadcasting: add, sub, mul, div, maximum, minimum, comparisons, logic on {0, 1} masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qbc.kernels.checks import MULTIPLIER_LIMIT, SHIFT_LIMIT, CallChecks, distance_bound
from qbc.kernels.compile import Array, Scalar, jit
from qbc.kernels.integers import floor_quotient
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import KernelCall, TensorSpec


@dataclass(frozen=True)
class BroadcastPlan:
    """A broadcast as rows: row r of the output pairs `n` elements from offset_a[r] and offset_b[r] at steps 0 or 1."""

    offset_a: Array
    offset_b: Array
    n: int
    step_a: int
    step_b: int

    def kernel(self, loop: Callable[..., None], *constants: int) -> Kernel:
        """Return the kernel of a row loop: arrays, the fields of this plan, then its constants."""
        rows = (self.offset_a, self.offset_b, self.n, self.step_a, self.step_b)

        def run(a: Array, b: Array, out: Array) -> None:
            loop(a.reshape(-1), b.reshape(-1), out.reshape(-1), *rows, *constants)

        return run


def broadcast_strides(shape: tuple[int, ...], output: tuple[int, ...]) -> tuple[int, ...]:
    """Return the element strides of an operand along the output axes, 0 where it is repeated."""
    strides = [0] * len(output)
    running = 1
    for axis in range(1, len(shape) + 1):
        extent = shape[-axis]
        strides[-axis] = running if extent > 1 else 0
        running *= extent
    return tuple(strides)


def plan_broadcast(a: tuple[int, ...], b: tuple[int, ...], output: tuple[int, ...]) -> BroadcastPlan:
    """Split a broadcast into the longest inner run where both operands are contiguous or constant, and outer rows."""
    strides_a, strides_b = broadcast_strides(a, output), broadcast_strides(b, output)
    axes = [axis for axis in range(len(output)) if output[axis] > 1]
    n, steps = 1, (0, 0)
    while axes:
        axis = axes[-1]
        here = (strides_a[axis], strides_b[axis])
        if n == 1:
            steps = (min(here[0], 1), min(here[1], 1))
        if here != (steps[0] * n, steps[1] * n):
            break
        n *= output[axis]
        axes.pop()
    offset_a = np.zeros(1, dtype=np.int64)
    offset_b = np.zeros(1, dtype=np.int64)
    for axis in axes:
        steps_along = np.arange(output[axis], dtype=np.int64)
        offset_a = (offset_a[:, None] + steps_along * strides_a[axis]).reshape(-1)
        offset_b = (offset_b[:, None] + steps_along * strides_b[axis]).reshape(-1)
    return BroadcastPlan(offset_a, offset_b, n, steps[0], steps[1])


def broadcast_shape(checks: CallChecks, *specs: TensorSpec) -> tuple[int, ...]:
    """Return the numpy broadcast of the operand shapes, or fail."""
    try:
        return np.broadcast_shapes(*(spec.shape for spec in specs))
    except ValueError:
        checks.fail(f"shapes {', '.join(str(spec.shape) for spec in specs)} do not broadcast")


@jit
def _add_loop(
    a: Array,
    b: Array,
    out: Array,
    offset_a: Array,
    offset_b: Array,
    n: int,
    step_a: int,
    step_b: int,
    za: int,
    zb: int,
    ma: int,
    mb: int,
    s: int,
    z: int,
    lo: int,
    hi: int,
) -> None:
    wide_a, wide_b = np.int64(np.int32(ma)), np.int64(np.int32(mb))
    half = np.int64(1) << (s - 1)
    for r in range(offset_a.shape[0]):
        row_a, row_b, target = a[offset_a[r] :], b[offset_b[r] :], out[r * n :]
        if step_a == 1 and step_b == 1:
            for i in range(n):
                da, db = np.int64(np.int32(row_a[i] - za)), np.int64(np.int32(row_b[i] - zb))
                v = ((da * wide_a + db * wide_b + half) >> s) + z
                target[i] = min(max(v, lo), hi)
        elif step_a == 1:
            constant = np.int64(np.int32(row_b[0] - zb)) * wide_b + half
            for i in range(n):
                v = ((np.int64(np.int32(row_a[i] - za)) * wide_a + constant) >> s) + z
                target[i] = min(max(v, lo), hi)
        else:
            for i in range(n):
                da, db = np.int64(row_a[i * step_a]) - za, np.int64(row_b[i * step_b]) - zb
                v = ((da * wide_a + db * wide_b + half) >> s) + z
                target[i] = min(max(v, lo), hi)


@jit
def _mul_loop(
    a: Array,
    b: Array,
    out: Array,
    offset_a: Array,
    offset_b: Array,
    n: int,
    step_a: int,
    step_b: int,
    za: int,
    zb: int,
    m: int,
    s: int,
    z: int,
    lo: int,
    hi: int,
) -> None:
    wide = np.int64(np.int32(m))
    half = np.int64(1) << (s - 1)
    for r in range(offset_a.shape[0]):
        row_a, row_b, target = a[offset_a[r] :], b[offset_b[r] :], out[r * n :]
        if step_a == 1 and step_b == 1:
            for i in range(n):
                product = np.int64(np.int32((row_a[i] - za) * (row_b[i] - zb)))
                v = ((product * wide + half) >> s) + z
                target[i] = min(max(v, lo), hi)
        elif step_a == 1:
            constant = row_b[0] - zb
            for i in range(n):
                v = ((np.int64(np.int32((row_a[i] - za) * constant)) * wide + half) >> s) + z
                target[i] = min(max(v, lo), hi)
        else:
            for i in range(n):
                product = np.int64(np.int32((row_a[i * step_a] - za) * (row_b[i * step_b] - zb)))
                v = ((product * wide + half) >> s) + z
                target[i] = min(max(v, lo), hi)


@jit
def _div_loop(
    a: Array,
    b: Array,
    out: Array,
    offset_a: Array,
    offset_b: Array,
    n: int,
    step_a: int,
    step_b: int,
    za: int,
    zb: int,
    p: int,
    t: int,
    z: int,
    lo: int,
    hi: int,
) -> None:
    for r in range(offset_a.shape[0]):
        row_a, row_b, target = a[offset_a[r] :], b[offset_b[r] :], out[r * n :]
        for i in range(n):
            da, db = np.int64(row_a[i * step_a]) - za, np.int64(row_b[i * step_b]) - zb
            magnitude: Scalar = max(abs(db), 1)
            divisor = np.int64(magnitude) << t
            numerator = 2 * (da * p if db > 0 else -da * p) + divisor
            v: Scalar = z + floor_quotient(numerator, 2 * divisor)
            if db == 0:
                v = z if da == 0 else (hi if da > 0 else lo)
            target[i] = min(max(v, lo), hi)


def _operands(checks: CallChecks) -> tuple[TensorSpec, TensorSpec, BroadcastPlan, tuple[int, int, int]]:
    """Return the operands, their broadcast, and z, lo, hi of the output in storage numbers."""
    a, b = checks.inputs(2)
    shape = broadcast_shape(checks, a, b)
    checks.output(shape)
    out = checks.output_range()
    return a, b, plan_broadcast(a.shape, b.shape, shape), (out.z, out.lo, out.hi)


def prepare_add(call: KernelCall) -> Kernel:
    """`clamp(z + (((a-za)*ma + (b-zb)*mb + 2^(s-1)) >> s))`; a negative multiplier subtracts.

    Any distances and multipliers fit: each product stays below 2^47.
    """
    checks = CallChecks(call)
    a, b, plan, out_range = _operands(checks)
    za, zb = checks.zero_point("za", a), checks.zero_point("zb", b)
    ma = checks.integer("ma", -MULTIPLIER_LIMIT, MULTIPLIER_LIMIT)
    mb = checks.integer("mb", -MULTIPLIER_LIMIT, MULTIPLIER_LIMIT)
    s = checks.integer("s", 1, SHIFT_LIMIT)
    return plan.kernel(_add_loop, za, zb, ma, mb, s, *out_range)


def prepare_mul(call: KernelCall) -> Kernel:
    """`R((a-za)*(b-zb))` with (m, s)."""
    checks = CallChecks(call)
    a, b, plan, out_range = _operands(checks)
    za, zb = checks.zero_point("za", a), checks.zero_point("zb", b)
    bound = distance_bound(a, za) * distance_bound(b, zb)
    checks.require(bound < 1 << 31, "the product of the operands does not fit 32 bits")
    m, s = checks.rescale(bound)
    return plan.kernel(_mul_loop, za, zb, m, s, *out_range)


def prepare_div(call: KernelCall) -> Kernel:
    """`clamp(z + (2N + D) // (2D))`, N = (a-za)*p with the sign of b-zb, D = |b-zb| << t; a zero divisor saturates."""
    checks = CallChecks(call)
    a, b, plan, out_range = _operands(checks)
    za, zb = checks.zero_point("za", a), checks.zero_point("zb", b)
    p = checks.integer("p", 0, 1 << 46)
    t = checks.integer("t", 1, 46)
    bound = 2 * distance_bound(a, za) * p + 2 * (distance_bound(b, zb) << t)
    checks.require(bound < 1 << 63, "the quotient does not fit 63 bits")
    return plan.kernel(_div_loop, za, zb, p, t, *out_range)


def prepare_extremum(call: KernelCall) -> Kernel:
    """`clamp(max(a, b))` or `clamp(min(a, b))` on equal encodings."""
    checks = CallChecks(call)
    a, b = checks.inputs(2)
    out_spec = checks.output(broadcast_shape(checks, a, b))
    checks.require(a.dtype == b.dtype == out_spec.dtype, "operands and output have different types")
    clamp = checks.code_range("", out_spec.dtype, z=False)
    extremum = np.maximum if call.kind == "maximum" else np.minimum

    def run(x: Array, y: Array, out: Array) -> None:
        extremum(x, y, out=out)
        np.clip(out, clamp.lo, clamp.hi, out=out)

    return run


_PREDICATES: dict[str, Callable[[Array, Array], Array]] = {
    "equal": lambda a, b: np.equal(a, b),
    "greater": lambda a, b: np.greater(a, b),
    "less": lambda a, b: np.less(a, b),
    "logical_and": lambda a, b: (a != 128) & (b != 128),
    "logical_or": lambda a, b: (a != 128) | (b != 128),
}


def prepare_predicate(call: KernelCall) -> Kernel:
    """Compare codes of equal encodings, or combine masks; the result is an i8 mask of codes 0 and 1."""
    checks = CallChecks(call)
    logical = call.kind.startswith("logical")
    a, b = checks.inputs(2, ("i8",) if logical else ("i8", "i16", "i32"))
    checks.require(a.dtype == b.dtype, "operands have different types")
    checks.output(broadcast_shape(checks, a, b), ("i8",))
    predicate = _PREDICATES[call.kind]

    def run(x: Array, y: Array, out: Array) -> None:
        np.add(predicate(x, y), np.uint8(128), out=out)

    return run


def prepare_not(call: KernelCall) -> Kernel:
    """Negate an i8 mask: code 0 becomes 1, everything else 0."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1, ("i8",))
    checks.output(x_spec.shape, ("i8",))

    def run(x: Array, out: Array) -> None:
        np.add(x == 128, np.uint8(128), out=out)

    return run


def prepare_where(call: KernelCall) -> Kernel:
    """Select a where the i8 mask is not 0, else b; a, b and the output share one encoding."""
    checks = CallChecks(call)
    mask_spec, a, b = checks.inputs(3, ("i8", "i16", "i32"))
    out_spec = checks.output(broadcast_shape(checks, mask_spec, a, b), ("i8", "i16", "i32"))
    checks.require(mask_spec.dtype == "i8", "the mask is not i8")
    checks.require(a.dtype == b.dtype == out_spec.dtype, "operands and output have different types")

    def run(mask: Array, x: Array, y: Array, out: Array) -> None:
        out[...] = np.where(mask != 128, x, y)

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "add": prepare_add,
    "sub": prepare_add,
    "mul": prepare_mul,
    "div": prepare_div,
    "maximum": prepare_extremum,
    "minimum": prepare_extremum,
    **dict.fromkeys(_PREDICATES, prepare_predicate),
    "logical_not": prepare_not,
    "where": prepare_where,
}
