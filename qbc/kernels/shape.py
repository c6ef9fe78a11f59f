"""Data movement: bit copies that never change a code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qbc.errors import QBCompilerError
from qbc.kernels.checks import CallChecks
from qbc.kernels.compile import Array
from qbc.kernels.registry import Kernel
from qbc.kernels.spec import CODE_RANGES, KernelCall, TensorSpec
from qbc.kernels.storage import STORAGE_OFFSETS, store_codes

ANY = ("i8", "i16", "i32", "f32")
_MAX_EXTENT = 1 << 40


def _single(checks: CallChecks) -> TensorSpec:
    (x,) = checks.inputs(1, ANY)
    checks.require(x.dtype == checks.call.output.dtype, "input and output have different types")
    return x


def prepare_reshape(call: KernelCall) -> Kernel:
    """Same elements in row-major order, another shape."""
    checks = CallChecks(call)
    x_spec = _single(checks)
    checks.require(x_spec.size == call.output.size, f"cannot reshape {x_spec.shape} to {call.output.shape}")

    def run(x: Array, out: Array) -> None:
        np.copyto(out.reshape(-1), x.reshape(-1))

    return run


def prepare_transpose(call: KernelCall) -> Kernel:
    """`out[i_p0, i_p1, ...] = x[i_0, i_1, ...]` for the attribute `permutation`."""
    checks = CallChecks(call)
    x_spec = _single(checks)
    rank = len(x_spec.shape)
    permutation = checks.integers("permutation", rank, 0, rank - 1)
    checks.require(len(set(permutation)) == rank, f"{permutation} is no permutation")
    checks.output(tuple(x_spec.shape[axis] for axis in permutation), ANY)

    def run(x: Array, out: Array) -> None:
        np.copyto(out, x.transpose(permutation))

    return run


def prepare_slice(call: KernelCall) -> Kernel:
    """Elements starts, starts + steps, ... of every axis; the output shape gives the counts."""
    checks = CallChecks(call)
    x_spec = _single(checks)
    rank = len(x_spec.shape)
    checks.require(len(call.output.shape) == rank, "input and output have different ranks")
    starts = checks.integers("starts", rank, 0, _MAX_EXTENT)
    steps = checks.integers("steps", rank, 1, _MAX_EXTENT, (1,) * rank)
    ends = []
    for axis in range(rank):
        last = starts[axis] + (call.output.shape[axis] - 1) * steps[axis]
        checks.require(last < x_spec.shape[axis], f"axis {axis} ends at {last}, its extent is {x_spec.shape[axis]}")
        ends.append(last + 1)
    window = tuple(slice(start, end, step) for start, end, step in zip(starts, ends, steps, strict=True))

    def run(x: Array, out: Array) -> None:
        np.copyto(out, x[window])

    return run


def prepare_concat(call: KernelCall) -> Kernel:
    """Operands of one encoding joined along `axis`."""
    checks = CallChecks(call)
    specs = checks.inputs(len(call.inputs), ANY)
    checks.require(len(specs) > 0, "has no inputs")
    rank = len(call.output.shape)
    axis = checks.axis("axis", rank)
    windows = []
    start = 0
    for spec in specs:
        checks.require(spec.dtype == call.output.dtype, "input and output have different types")
        checks.require(len(spec.shape) == rank, "input and output have different ranks")
        end = start + spec.shape[axis]
        windows.append((slice(None),) * axis + (slice(start, end),))
        checks.require(
            spec.shape[:axis] + spec.shape[axis + 1 :] == call.output.shape[:axis] + call.output.shape[axis + 1 :],
            f"shape {spec.shape} does not fit {call.output.shape} beside axis {axis}",
        )
        start = end
    checks.require(start == call.output.shape[axis], f"the parts fill {start} of {call.output.shape[axis]}")

    def run(*arrays: Array) -> None:
        out = arrays[-1]
        for x, window in zip(arrays, windows, strict=False):
            out[window] = x

    return run


def prepare_expand(call: KernelCall) -> Kernel:
    """Repeat axes of extent 1 (numpy broadcasting) to the output shape."""
    checks = CallChecks(call)
    x_spec = _single(checks)
    rank, shape = len(call.output.shape), call.output.shape
    checks.require(len(x_spec.shape) <= rank, "the output has a smaller rank")
    aligned = (1,) * (rank - len(x_spec.shape)) + x_spec.shape
    fits = all(extent in (1, target) for extent, target in zip(aligned, shape, strict=True))
    checks.require(fits, f"shape {x_spec.shape} does not broadcast to {shape}")

    def run(x: Array, out: Array) -> None:
        np.copyto(out, x.reshape(aligned))

    return run


def prepare_tile(call: KernelCall) -> Kernel:
    """Repeat the whole tensor `repeats[axis]` times along each axis."""
    checks = CallChecks(call)
    x_spec = _single(checks)
    repeats = checks.integers("repeats", len(x_spec.shape), 1, _MAX_EXTENT)
    checks.output(tuple(e * r for e, r in zip(x_spec.shape, repeats, strict=True)), ANY)
    split = tuple(part for pair in zip(repeats, x_spec.shape, strict=True) for part in pair)
    single = tuple(part for extent in x_spec.shape for part in (1, extent))

    def run(x: Array, out: Array) -> None:
        np.copyto(out.reshape(split), x.reshape(single))

    return run


def prepare_gather(call: KernelCall) -> Kernel:
    """`out[..., i..., ...] = data[..., indices[i...], ...]` along `axis`; a negative index counts from the end.

    An index outside [-n, n-1] raises RUNTIME_ERROR before anything is written.
    """
    checks = CallChecks(call)
    data_spec, index_spec = checks.inputs(2, ANY)
    checks.require(index_spec.dtype == "i32", "the indices are not i32")
    checks.require(data_spec.dtype == call.output.dtype, "input and output have different types")
    axis = checks.axis("axis", len(data_spec.shape))
    extent = data_spec.shape[axis]
    checks.output(data_spec.shape[:axis] + index_spec.shape + data_spec.shape[axis + 1 :], ANY)

    def run(data: Array, indices: Array, out: Array) -> None:
        if int(indices.min()) < -extent or int(indices.max()) >= extent:
            raise QBCompilerError(
                f"a gather index lies outside [-{extent}, {extent - 1}]",
                code="RUNTIME_ERROR",
                hint="Check the index input of the model.",
            )
        np.take(data, np.where(indices < 0, indices + extent, indices), axis=axis, out=out, mode="clip")

    return run


def prepare_pad(call: KernelCall) -> Kernel:
    """Surround with a code (`value`, or one per channel: constant `codes`), or repeat by mode `reflect` or `edge`."""
    checks = CallChecks(call)
    x_spec = _single(checks)
    rank = len(x_spec.shape)
    before = checks.integers("before", rank, 0, _MAX_EXTENT)
    after = checks.integers("after", rank, 0, _MAX_EXTENT)
    checks.output(tuple(b + e + a for b, e, a in zip(before, x_spec.shape, after, strict=True)), ANY)
    mode = checks.choice("mode", ("constant", "reflect", "edge"), "constant")
    if mode != "constant":
        return _prepare_mirrored_pad(checks, x_spec, before, after, mode)
    fill = _pad_fill(checks, x_spec, before, after)
    window = tuple(slice(b, b + e) for b, e in zip(before, x_spec.shape, strict=True))

    def run(x: Array, out: Array) -> None:
        out[...] = fill
        out[window] = x

    return run


def _pad_fill(checks: CallChecks, x: TensorSpec, before: tuple[int, ...], after: tuple[int, ...]) -> Array:
    if checks.has("codes"):
        codes = checks.constant("codes", ("int8", "int16"), (x.shape[-1],))
        low, high = CODE_RANGES.get(x.dtype, (0, -1))
        checks.require(low <= int(codes.min()) and int(codes.max()) <= high, "a padding code is outside its type")
        checks.require(before[-1] == after[-1] == 0, "the channel axis cannot be padded with one code per channel")
        return store_codes(codes, x.dtype)
    low, high = CODE_RANGES.get(x.dtype, (-(1 << 31), (1 << 31) - 1))
    value = checks.integer("value", low, high, 0)
    return np.array(value + STORAGE_OFFSETS.get(x.dtype, 0))


def _prepare_mirrored_pad(
    checks: CallChecks, x_spec: TensorSpec, before: tuple[int, ...], after: tuple[int, ...], mode: str
) -> Kernel:
    maps = []
    for axis, (b, extent, a) in enumerate(zip(before, x_spec.shape, after, strict=True)):
        if b == a == 0:
            continue
        positions = np.arange(-b, extent + a)
        if mode == "reflect":
            checks.require(max(a, b) < extent, f"axis {axis} of extent {extent} cannot be reflected by {max(a, b)}")
            positions = np.abs(positions)
            positions = np.minimum(positions, 2 * (extent - 1) - positions)
        maps.append((axis, np.clip(positions, 0, extent - 1)))

    def run(x: Array, out: Array) -> None:
        for axis, positions in maps:
            x = np.take(x, positions, axis=axis)
        np.copyto(out, x)

    return run


KINDS: dict[str, Callable[[KernelCall], Kernel]] = {
    "reshape": prepare_reshape,
    "transpose": prepare_transpose,
    "slice": prepare_slice,
    "concat": prepare_concat,
    "expand": prepare_expand,
    "tile": prepare_tile,
    "gather": prepare_gather,
    "pad": prepare_pad,
}
