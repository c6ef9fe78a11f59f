"""Float kernels of the normalization family."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, integer, number


def batch_norm(op: Operation, scope: Scope) -> Kernel:
    """`(x - mean) / sqrt(variance + epsilon) * scale + bias` per channel (last axis)."""
    scale, bias, mean, variance = (scope.tensor(op.properties[n]) for n in ("scale", "bias", "mean", "variance"))
    factor = scale / torch.sqrt(variance + number(op, "epsilon"))
    offset = bias - mean * factor
    return lambda x: x * factor + offset


def layer_norm(op: Operation, scope: Scope) -> Kernel:
    """Normalize over the last `normalized_rank` axes, then scale and bias."""
    rank, epsilon = integer(op, "normalized_rank"), number(op, "epsilon")
    scale, bias = scope.optional(op, "scale"), scope.optional(op, "bias")

    def kernel(x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, x.shape[-rank:], scale, bias, epsilon)

    return kernel


def instance_norm(op: Operation, scope: Scope) -> Kernel:
    """Normalize each channel (last axis) of each sample over its spatial axes, then scale and bias."""
    epsilon = number(op, "epsilon")
    scale, bias = scope.optional(op, "scale"), scope.optional(op, "bias")

    def kernel(x: torch.Tensor) -> torch.Tensor:
        # not the function of the same name in torch.nn.functional: that one refuses maps of one position
        normal = torch.instance_norm(
            torch.movedim(x, -1, 1), scale, bias, None, None, True, momentum=0.0, eps=epsilon, cudnn_enabled=False
        )
        return torch.movedim(normal, 1, -1)

    return kernel


def softmax(op: Operation, scope: Scope) -> Kernel:
    """`exp(beta * x)` over its sum along `axis`."""
    axis, beta = integer(op, "axis"), number(op, "beta", 1.0)
    if beta == 1.0:
        return lambda x: torch.softmax(x, axis)
    return lambda x: torch.softmax(x * beta, axis)


def log_softmax(op: Operation, scope: Scope) -> Kernel:
    """Logarithm of softmax along `axis`."""
    axis = integer(op, "axis")
    return lambda x: torch.log_softmax(x, axis)


KERNELS: dict[str, KernelFactory] = {
    "mblt.batch_norm": batch_norm,
    "mblt.layer_norm": layer_norm,
    "mblt.instance_norm": instance_norm,
    "mblt.softmax": softmax,
    "mblt.log_softmax": log_softmax,
}
