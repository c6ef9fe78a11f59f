"""Float kernels of the activation family: functions of one element."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, number, text


def _plain(function: Kernel) -> KernelFactory:
    def factory(op: Operation, scope: Scope) -> Kernel:
        return function

    return factory


def clip(op: Operation, scope: Scope) -> Kernel:
    """`min(max(x, low), high)`."""
    low, high = number(op, "min"), number(op, "max")
    return lambda x: torch.clamp(x, low, high)


def leaky_relu(op: Operation, scope: Scope) -> Kernel:
    """`x` where positive, else `alpha * x`."""
    alpha = number(op, "alpha")
    return lambda x: functional.leaky_relu(x, alpha)


def prelu(op: Operation, scope: Scope) -> Kernel:
    """`x` where positive, else `slope[c] * x` (channels last)."""
    slope = scope.tensor(op.properties["slope"])
    return lambda x: torch.where(x < 0, x * slope, x)


def hard_sigmoid(op: Operation, scope: Scope) -> Kernel:
    """`min(max(alpha * x + beta, 0), 1)`."""
    alpha, beta = number(op, "alpha"), number(op, "beta")
    return lambda x: torch.clamp(x * alpha + beta, 0.0, 1.0)


def elu(op: Operation, scope: Scope) -> Kernel:
    """`x` where positive, else `alpha * (exp(x) - 1)`."""
    alpha = number(op, "alpha")
    return lambda x: functional.elu(x, alpha)


def gelu(op: Operation, scope: Scope) -> Kernel:
    """`x * Phi(x)`, exact or by tanh."""
    approximate = text(op, "approximate")
    return lambda x: functional.gelu(x, approximate=approximate)


def _hard_swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.clamp(x / 6 + 0.5, 0.0, 1.0)


def _softplus(x: torch.Tensor) -> torch.Tensor:
    return torch.logaddexp(x, torch.zeros((), dtype=x.dtype))


def _mish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tanh(_softplus(x))


KERNELS: dict[str, KernelFactory] = {
    "mblt.clip": clip,
    "mblt.leaky_relu": leaky_relu,
    "mblt.prelu": prelu,
    "mblt.hard_sigmoid": hard_sigmoid,
    "mblt.elu": elu,
    "mblt.gelu": gelu,
    "mblt.relu": _plain(torch.relu),
    "mblt.sigmoid": _plain(torch.sigmoid),
    "mblt.hard_swish": _plain(_hard_swish),
    "mblt.silu": _plain(functional.silu),
    "mblt.tanh": _plain(torch.tanh),
    "mblt.exp": _plain(torch.exp),
    "mblt.log": _plain(torch.log),
    "mblt.sqrt": _plain(torch.sqrt),
    "mblt.rsqrt": _plain(torch.rsqrt),
    "mblt.reciprocal": _plain(torch.reciprocal),
    "mblt.abs": _plain(torch.abs),
    "mblt.neg": _plain(torch.neg),
    "mblt.erf": _plain(torch.erf),
    "mblt.softplus": _plain(_softplus),
    "mblt.mish": _plain(_mish),
    "mblt.sin": _plain(torch.sin),
    "mblt.cos": _plain(torch.cos),
    "mblt.floor": _plain(torch.floor),
    "mblt.ceil": _plain(torch.ceil),
    "mblt.square": _plain(torch.square),
}
