"""Float kernels of the elementwise family: binary functions with numpy broadcasting, comparisons and selection."""

from __future__ import annotations

import torch
from xdsl.ir import Operation

from qbc.execute.float_torch.fused import with_activation
from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope


def _plain(function: Kernel) -> KernelFactory:
    def factory(op: Operation, scope: Scope) -> Kernel:
        return with_activation(op, function)

    return factory


def _div(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.dtype.is_floating_point:
        return torch.div(a, b)
    return torch.div(a, b, rounding_mode="trunc")


KERNELS: dict[str, KernelFactory] = {
    "mblt.add": _plain(torch.add),
    "mblt.sub": _plain(torch.sub),
    "mblt.mul": _plain(torch.mul),
    "mblt.div": _plain(_div),
    "mblt.maximum": _plain(torch.maximum),
    "mblt.minimum": _plain(torch.minimum),
    "mblt.pow": _plain(torch.pow),
    "mblt.equal": _plain(torch.eq),
    "mblt.greater": _plain(torch.gt),
    "mblt.less": _plain(torch.lt),
    "mblt.logical_and": _plain(torch.logical_and),
    "mblt.logical_or": _plain(torch.logical_or),
    "mblt.logical_not": _plain(torch.logical_not),
    "mblt.where": _plain(torch.where),
}
