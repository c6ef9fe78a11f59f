"""Float kernel of `mblt.resize`: nearest and linear interpolation by index tables, as ONNX defines them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, numbers, text
from qbc.execute.float_torch.window import map_size

Indices = npt.NDArray[np.int64]
Coordinates = npt.NDArray[np.float64]


_ROUNDING: dict[str, Callable[[Coordinates], Coordinates]] = {
    "round_prefer_floor": lambda position: np.ceil(position - 0.5),
    "round_prefer_ceil": lambda position: np.floor(position + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resize(op: Operation, scope: Scope) -> Kernel:
    """Resize H and W of NHWC; one table of source rows and columns, and of weights for linear."""
    source, target = map_size(op, op.operands[0]), map_size(op, op.results[0])
    mode, coordinate_mode = text(op, "mode"), text(op, "coordinate_mode")
    positions = [
        source_coordinates(size, length, scale, coordinate_mode)
        for size, length, scale in zip(source, target, numbers(op, "scales"), strict=True)
    ]
    if mode == "nearest":
        rule = text(op, "nearest_mode", "round_prefer_floor")
        rows, columns = (
            torch.from_numpy(nearest_indices(position, size, rule))
            for position, size in zip(positions, source, strict=True)
        )
        return lambda x: x.index_select(1, rows).index_select(2, columns)
    vertical, horizontal = (_Blend(position, size, scope) for position, size in zip(positions, source, strict=True))
    return lambda x: horizontal(vertical(x, 1), 2)


def source_coordinates(size: int, length: int, scale: float, mode: str) -> Coordinates:
    """Return the source coordinate of each of `length` output positions (ONNX Resize, by coordinate mode)."""
    out = np.arange(length, dtype=np.float64)
    if mode == "asymmetric":
        return out / scale
    if mode == "align_corners":
        return out * (size - 1) / (length - 1) if length > 1 else np.zeros(length)
    if mode == "pytorch_half_pixel" and length == 1:
        return np.zeros(length)
    if mode == "half_pixel_symmetric":
        adjustment = length / (scale * size)
        return size / 2 * (1 - adjustment) + (out + 0.5) / scale - 0.5
    return (out + 0.5) / scale - 0.5


def nearest_indices(position: Coordinates, size: int, rule: str) -> Indices:
    """Return the source index nearest to each coordinate; `rule` settles ties, or is `floor` or `ceil`."""
    rounded: Coordinates = _ROUNDING[rule](position)
    indices: Indices = np.clip(rounded.astype(np.int64), 0, size - 1)
    return indices


class _Blend:
    """Linear interpolation along one axis: `x[first] * (1 - weight) + x[second] * weight`."""

    def __init__(self, position: Coordinates, size: int, scope: Scope) -> None:
        clamped = np.clip(position, 0, size - 1)
        first = np.floor(clamped).astype(np.int64)
        self.first = torch.from_numpy(first)
        self.second = torch.from_numpy(np.minimum(first + 1, size - 1))
        self.weight = torch.from_numpy(clamped - first).to(scope.float_type)

    def __call__(self, x: torch.Tensor, axis: int) -> torch.Tensor:
        weight = self.weight.reshape([-1 if index == axis else 1 for index in range(x.dim())])
        low, high = x.index_select(axis, self.first), x.index_select(axis, self.second)
        return low + (high - low) * weight


KERNELS: dict[str, KernelFactory] = {"mblt.resize": resize}
