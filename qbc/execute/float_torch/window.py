"""Sliding windows of convolution and pooling on NHWC maps, as torch sees them (NCHW views, no copies)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as functional
from xdsl.ir import Operation, SSAValue

from qbc.dialects.common.graph import location_names
from qbc.errors import QBCompilerError
from qbc.execute.float_torch.scope import integers, shape_of


@dataclass(frozen=True)
class Window:
    """Kernel size, strides, dilations and leading padding; the padding at the end follows from the output size."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    top: int
    left: int
    output: tuple[int, int]

    @staticmethod
    def of(op: Operation) -> Window:
        """Read the window of a convolution or pooling operation."""
        kernel, strides = integers(op, "kernel"), integers(op, "strides")
        padding, dilations = integers(op, "padding"), integers(op, "dilations", (1, 1))
        height, width = map_size(op, op.results[0])
        return Window(
            (kernel[0], kernel[1]),
            (strides[0], strides[1]),
            (dilations[0], dilations[1]),
            padding[0],
            padding[1],
            (height, width),
        )

    def reach(self, axis: int) -> int:
        """Return how many rows (axis 0) or columns (axis 1) of the padded map the windows touch."""
        return (self.output[axis] - 1) * self.strides[axis] + self.dilations[axis] * (self.kernel[axis] - 1) + 1

    def pad(self, x: torch.Tensor, value: float) -> torch.Tensor:
        """Pad (or crop, at the end) an NCHW map to exactly what the windows touch."""
        bottom = self.reach(0) - self.top - x.shape[2]
        right = self.reach(1) - self.left - x.shape[3]
        if not (self.top or self.left or bottom or right):
            return x
        return functional.pad(x, (self.left, right, self.top, bottom), value=value)


def map_size(op: Operation, value: SSAValue) -> tuple[int, int]:
    """Return height and width of an operand or result of `op`; raises UNSUPPORTED_OP where one is unknown."""
    height, width = shape_of(value)[1:3]
    if min(height, width) < 0:
        raise QBCompilerError(
            f"'{op.name}' on a map of unknown size cannot be executed",
            code="UNSUPPORTED_OP",
            node=", ".join(location_names(op.location)) or None,
            hint="give the inputs fixed shapes",
        )
    return height, width


def to_nchw(x: torch.Tensor) -> torch.Tensor:
    """View an NHWC map as NCHW."""
    return x.permute(0, 3, 1, 2)


def to_nhwc(x: torch.Tensor) -> torch.Tensor:
    """View an NCHW map as NHWC."""
    return x.permute(0, 2, 3, 1)
