"""Float kernels of the reduction family."""

from __future__ import annotations

from collections.abc import Callable

import torch
from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, flag, integer, integers

Reduce = Callable[[torch.Tensor, tuple[int, ...], bool], torch.Tensor]


def _reduce(function: Reduce) -> KernelFactory:
    def factory(op: Operation, scope: Scope) -> Kernel:
        axes, keep = tuple(integers(op, "axes")), flag(op, "keep_dims")
        return lambda x: function(x, axes, keep)

    return factory


def arg_max(op: Operation, scope: Scope) -> Kernel:
    """Index of the first largest element along `axis`."""
    axis, keep = integer(op, "axis"), flag(op, "keep_dims")
    dtype = scope.type_of(op.results[0])

    def kernel(x: torch.Tensor) -> torch.Tensor:
        # torch.argmax leaves the choice among equal elements open; a stable descending sort takes the first
        order = torch.argsort(x, dim=axis, descending=True, stable=True)
        first = order.narrow(axis, 0, 1)
        return (first if keep else first.squeeze(axis)).to(dtype)

    return kernel


KERNELS: dict[str, KernelFactory] = {
    "mblt.reduce_mean": _reduce(lambda x, axes, keep: torch.mean(x, axes, keep)),
    "mblt.reduce_sum": _reduce(lambda x, axes, keep: torch.sum(x, axes, keep, dtype=x.dtype)),
    "mblt.reduce_max": _reduce(lambda x, axes, keep: torch.amax(x, axes, keep)),
    "mblt.reduce_min": _reduce(lambda x, axes, keep: torch.amin(x, axes, keep)),
    "mblt.reduce_l2": _reduce(lambda x, axes, keep: torch.sqrt(torch.sum(x * x, axes, keep))),
    "mblt.arg_max": arg_max,
}
