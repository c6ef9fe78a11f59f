"""The activation that an operation carries in its properties: `relu`, `relu6` or `clip`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, number, text

Unary = Callable[[torch.Tensor], torch.Tensor]


def fused_activation(op: Operation) -> Unary | None:
    """Return the fused activation of `op` as a function, or None."""
    if "activation" not in op.properties:
        return None
    kind = text(op, "activation")
    if kind == "relu":
        return torch.relu
    low, high = (0.0, 6.0) if kind == "relu6" else (number(op, "activation_min"), number(op, "activation_max"))
    return lambda x: torch.clamp(x, low, high)


def with_activation(op: Operation, kernel: Kernel) -> Kernel:
    """Return `kernel` followed by the fused activation of `op`."""
    activation = fused_activation(op)
    if activation is None:
        return kernel
    return lambda *inputs: activation(kernel(*inputs))
