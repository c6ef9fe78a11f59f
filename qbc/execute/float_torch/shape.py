"""Float kernels of the shape family: values move, none is computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as functional
from xdsl.ir import Operation

from qbc.dialects.common.shapes import DYNAMIC
from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, integer, integers, number, shape_of, text


def reshape(op: Operation, scope: Scope) -> Kernel:
    """Row-major reshape to the shape of the result type (one dynamic dimension at most)."""
    shape = [-1 if size == DYNAMIC else size for size in shape_of(op.results[0])]
    return lambda x: x.reshape(shape)


def transpose(op: Operation, scope: Scope) -> Kernel:
    """Result axis `i` is input axis `permutation[i]`."""
    permutation = integers(op, "permutation")
    return lambda x: x.permute(permutation)


def concat(op: Operation, scope: Scope) -> Kernel:
    """Concatenate along `axis`."""
    axis = integer(op, "axis")
    return lambda *parts: torch.cat(parts, axis)


def slice_(op: Operation, scope: Scope) -> Kernel:
    """`x[starts[i]:ends[i]:steps[i], ...]` on every axis."""
    index = tuple(
        slice(start, end, step)
        for start, end, step in zip(integers(op, "starts"), integers(op, "ends"), integers(op, "steps"), strict=True)
    )
    return lambda x: x[index]


def expand(op: Operation, scope: Scope) -> Kernel:
    """Broadcast to the shape of the result type; a dynamic dimension keeps the size of the input."""
    shape = [-1 if size == DYNAMIC else size for size in shape_of(op.results[0])]
    return lambda x: x.expand(shape)


def pad(op: Operation, scope: Scope) -> Kernel:
    """Add `before[i]` and `after[i]` elements on axis i: a constant, a mirror image without the edge, or the edge."""
    before, after, mode = integers(op, "before"), integers(op, "after"), text(op, "mode")
    if mode == "constant":
        value = number(op, "value", 0.0)
        pairs = [size for pair in zip(reversed(before), reversed(after), strict=True) for size in pair]
        if "values" in op.properties:
            border = scope.tensor(op.properties["values"])
            return lambda x: torch.where(
                functional.pad(torch.ones_like(x), pairs) == 0, border, functional.pad(x, pairs)
            )
        return lambda x: functional.pad(x, pairs, value=value)

    def kernel(x: torch.Tensor) -> torch.Tensor:
        for axis, (first, last) in enumerate(zip(before, after, strict=True)):
            if first or last:
                x = x.index_select(axis, _pad_indices(x.shape[axis], first, last, mode))
        return x

    return kernel


def _pad_indices(size: int, before: int, after: int, mode: str) -> torch.Tensor:
    """Source index of every element along one padded axis."""
    indices = np.arange(size)
    padding = (before, after)
    padded = np.pad(indices, padding, mode="reflect") if mode == "reflect" else np.pad(indices, padding, mode="edge")
    return torch.from_numpy(padded)


def gather(op: Operation, scope: Scope) -> Kernel:
    """Replace axis `axis` of data by the axes of `indices`; a negative index counts from the end."""
    axis = integer(op, "axis")

    def kernel(data: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        flat = indices.reshape(-1).to(torch.int64)
        picked = data.index_select(axis, torch.where(flat < 0, flat + data.shape[axis], flat))
        return picked.reshape((*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))

    return kernel


def tile(op: Operation, scope: Scope) -> Kernel:
    """Repeat axis i `repeats[i]` times."""
    repeats: Sequence[int] = integers(op, "repeats")
    return lambda x: x.repeat(*repeats)


def cast(op: Operation, scope: Scope) -> Kernel:
    """Convert to the element type of the result (floating point to integer truncates)."""
    dtype = scope.type_of(op.results[0])
    return lambda x: x.to(dtype)


KERNELS: dict[str, KernelFactory] = {
    "mblt.reshape": reshape,
    "mblt.transpose": transpose,
    "mblt.concat": concat,
    "mblt.slice": slice_,
    "mblt.expand": expand,
    "mblt.pad": pad,
    "mblt.gather": gather,
    "mblt.tile": tile,
    "mblt.cast": cast,
}
