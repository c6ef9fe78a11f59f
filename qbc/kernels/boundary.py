"""Changes of encoding: requantize between codes, quantize and dequantize at the float boundary of the graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.kernels.checks import CODED, CallChecks, distance_bound
from qbc.kernels.compile import Array, jit
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import CODE_RANGES, KernelCall
from qbc.kernels.storage import STORAGE_OFFSETS


@jit
def _requantize_loop(x: Array, out: Array, zx: int, m: int, s: int, z: int, lo: int, hi: int) -> None:
    wide = np.int64(np.int32(m))
    half = np.int64(1) << (s - 1)
    for i in range(x.shape[0]):
        v = ((np.int64(np.int32(x[i] - zx)) * wide + half) >> s) + z
        out[i] = min(max(v, lo), hi)


@jit
def _quantize_loop(x: Array, out: Array, scale: Array, low: Array, high: Array, z: int) -> None:
    step, lowest, highest = scale[0], low[0], high[0]
    for i in range(x.shape[0]):
        v = np.rint(x[i] / step)
        if v != v:
            v = np.float32(0.0)
        v = min(max(v, lowest), highest)
        out[i] = np.int32(v) + z


@jit
def _dequantize_loop(x: Array, out: Array, scale: Array, z: int) -> None:
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            out[i, c] = np.float32(np.int32(x[i, c]) - z) * scale[c]


def prepare_requantize(call: KernelCall) -> Kernel:
    """`R(x - zx)` with (m, s): another scale, zero point, type or clamp for the same tensor."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1)
    checks.output(x_spec.shape)
    zx = checks.zero_point("zx", x_spec)
    m, s = checks.rescale(distance_bound(x_spec, zx))
    out_range = checks.output_range()

    def run(x: Array, out: Array) -> None:
        _requantize_loop(x.reshape(-1), out.reshape(-1), zx, m, s, out_range.z, out_range.lo, out_range.hi)

    return run


def _scale(checks: CallChecks, count: int = 1) -> Array:
    scale = checks.constant("scale", ("float32",), (count,))
    usable = np.isfinite(scale) & (scale > 0)
    checks.require(bool(usable.all()), f"the scale {scale[int(np.argmin(usable))]} is not positive and finite")
    return scale


def prepare_quantize(call: KernelCall) -> Kernel:
    """Float32 to codes: `clamp(rint(x / scale), qmin - z, qmax - z) + z`, one float32 division (constant scale [1])."""
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1, ("f32",))
    out_spec = checks.output(x_spec.shape)
    scale = _scale(checks)
    low, high = CODE_RANGES[out_spec.dtype]
    code_z = checks.integer("z", low, high)
    lowest, highest = np.array([low - code_z], np.float32), np.array([high - code_z], np.float32)
    z = code_z + STORAGE_OFFSETS[out_spec.dtype]

    def run(x: Array, out: Array) -> None:
        _quantize_loop(x.reshape(-1), out.reshape(-1), scale, lowest, highest, z)

    return run


def prepare_dequantize(call: KernelCall) -> Kernel:
    """Codes to float32: `float32(x - zx) * scale`, one float32 multiplication.

    The constant scale is f32 [1], or [C] with one for each channel of the last axis.
    """
    checks = CallChecks(call)
    (x_spec,) = checks.inputs(1, CODED)
    checks.output(x_spec.shape, ("f32",))
    given = call.constants.get("scale")
    scale = _scale(checks, x_spec.shape[-1] if given is not None and given.size > 1 and x_spec.shape else 1)
    zx = checks.zero_point("zx" if "zx" in call.attributes else "z", x_spec)

    def run(x: Array, out: Array) -> None:
        _dequantize_loop(x.reshape(-1, scale.size), out.reshape(-1, scale.size), scale, zx)

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "requantize": prepare_requantize,
    "quantize": prepare_quantize,
    "dequantize": prepare_dequantize,
}
