"""Geometry of sliding windows over [N, H, W, C], shared by convolution and pooling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qbc.kernels.checks import CallChecks
from qbc.kernels.compile import Array
from qbc.kernels.spec import TensorSpec

_KERNEL_LIMIT = 1 << 12
_PADDING_LIMIT = 1 << 16


@dataclass(frozen=True)
class WindowGeometry:
    """Extents and steps of a window operation; padding is [top, left, bottom, right]."""

    input: tuple[int, int, int, int]
    output_size: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilations: tuple[int, int]

    @property
    def reach(self) -> tuple[int, int]:
        """Extent of the dilated kernel."""
        return (
            (self.kernel[0] - 1) * self.dilations[0] + 1,
            (self.kernel[1] - 1) * self.dilations[1] + 1,
        )

    @property
    def pointwise(self) -> bool:
        """Whether every output pixel reads exactly its own input pixel."""
        return self.kernel == (1, 1) == self.strides and not any(self.padding)

    def positions(self, axis: int) -> Array:
        """Return the source coordinate of every tap, [output extent, kernel extent]; outside 0..extent-1 is padding."""
        starts = np.arange(self.output_size[axis]) * self.strides[axis] - self.padding[axis]
        return starts[:, None] + np.arange(self.kernel[axis]) * self.dilations[axis]


def read_windows(checks: CallChecks, x: TensorSpec, kernel: tuple[int, int], *, ceil: bool) -> WindowGeometry:
    """Read strides, padding and dilations of a call and check its output extent.

    The output extent is floor((extent + padding - reach) / stride) + 1; with `ceil` the rounded-up one is allowed too.
    """
    checks.require(len(x.shape) == 4, f"input rank is {len(x.shape)}, expected 4")
    out = checks.call.output.shape
    checks.require(len(out) == 4 and out[0] == x.shape[0], f"output shape {out} does not fit input {x.shape}")
    checks.require(max(kernel) <= _KERNEL_LIMIT, f"kernel {kernel} is too large")
    strides = checks.integers("strides", 2, 1, _KERNEL_LIMIT, (1, 1))
    padding = checks.integers("padding", 4, 0, _PADDING_LIMIT, (0, 0, 0, 0))
    dilations = checks.integers("dilations", 2, 1, _KERNEL_LIMIT, (1, 1))
    geometry = WindowGeometry(
        (x.shape[0], x.shape[1], x.shape[2], x.shape[3]),
        (out[1], out[2]),
        kernel,
        (strides[0], strides[1]),
        (padding[0], padding[1], padding[2], padding[3]),
        (dilations[0], dilations[1]),
    )
    for axis in range(2):
        span = x.shape[axis + 1] + padding[axis] + padding[axis + 2] - geometry.reach[axis]
        floor = span // strides[axis] + 1
        allowed = (floor, -(-span // strides[axis]) + 1) if ceil else (floor,)
        checks.require(span >= 0, f"the kernel reaches over the input on axis {axis + 1}")
        checks.require(out[axis + 1] in allowed, f"output extent {out[axis + 1]} on axis {axis + 1}, expected {floor}")
    return geometry
