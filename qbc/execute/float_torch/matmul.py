"""Float kernels of the matmul family."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from xdsl.ir import Operation

from qbc.execute.float_torch.fused import with_activation
from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, flag


def linear(op: Operation, scope: Scope) -> Kernel:
    """`y[..., o] = sum_i x[..., i] * weight[o, i] + bias[o]`."""
    weight, bias = scope.tensor(op.properties["weight"]), scope.optional(op, "bias")
    return with_activation(op, lambda x: functional.linear(x, weight, bias))


def matmul(op: Operation, scope: Scope) -> Kernel:
    """`y[..., m, n] = sum_k a[..., m, k] * b[..., k, n]` (b[..., n, k] with `transpose_b`)."""
    if flag(op, "transpose_b"):
        return lambda a, b: torch.matmul(a, b.transpose(-1, -2))
    return torch.matmul


KERNELS: dict[str, KernelFactory] = {"mblt.linear": linear, "mblt.matmul": matmul}
