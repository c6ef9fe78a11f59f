"""Float kernels of the pooling family."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, flag, integers
from qbc.execute.float_torch.window import Window, map_size, to_nchw, to_nhwc


def max_pool2d(op: Operation, scope: Scope) -> Kernel:
    """Largest element of each window; padding never wins."""
    window = Window.of(op)

    def kernel(x: torch.Tensor) -> torch.Tensor:
        padded = window.pad(to_nchw(x), -torch.inf)
        return to_nhwc(
            functional.max_pool2d(padded, window.kernel, window.strides, padding=0, dilation=window.dilations)
        )

    return kernel


def avg_pool2d(op: Operation, scope: Scope) -> Kernel:
    """Sum of each window over its number of elements; `count_include_pad` counts the declared padding as elements."""
    window = Window.of(op)
    counts = _window_counts(op, window, flag(op, "count_include_pad")).to(scope.float_type)

    def kernel(x: torch.Tensor) -> torch.Tensor:
        return to_nhwc(_window_sums(window.pad(to_nchw(x), 0.0), window) / counts)

    return kernel


def _window_sums(padded: torch.Tensor, window: Window) -> torch.Tensor:
    """Sums of the windows of an NCHW map that is already padded."""
    if window.dilations == (1, 1):
        return functional.avg_pool2d(padded, window.kernel, window.strides, divisor_override=1)
    channels = padded.shape[1]
    ones = torch.ones((channels, 1, *window.kernel), dtype=padded.dtype)
    return functional.conv2d(padded, ones, None, window.strides, 0, window.dilations, channels)


def _window_counts(op: Operation, window: Window, include_pad: bool) -> torch.Tensor:
    """Number of counted elements of each window, as `[1, 1, OH, OW]`; the overhang of `ceil_mode` never counts."""
    height, width = map_size(op, op.operands[0])
    top, left, bottom, right = integers(op, "padding")
    rows = torch.ones(1, 1, height, width, dtype=torch.float64)
    if include_pad:
        rows = functional.pad(rows, (left, right, top, bottom), value=1.0)
        tail = window.reach(1) - rows.shape[3], window.reach(0) - rows.shape[2]
        padded = functional.pad(rows, (0, tail[0], 0, tail[1]))
    else:
        padded = window.pad(rows, 0.0)
    return _window_sums(padded, window)


KERNELS: dict[str, KernelFactory] = {"mblt.max_pool2d": max_pool2d, "mblt.avg_pool2d": avg_pool2d}
