"""Shape arithmetic on tuples of integers; an unknown size is `DYNAMIC`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

DYNAMIC = DYNAMIC_INDEX
OPEN_END = 2**63 - 1  # the end of a slice that keeps all of an unknown size


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the numpy broadcast of shapes of equal rank; raises VerifyException when two sizes do not agree."""
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1:
        raise VerifyException(f"expected operands of equal rank, got ranks {[len(shape) for shape in shapes]}")
    return tuple(_broadcast_sizes(sizes, axis) for axis, sizes in enumerate(zip(*shapes, strict=True)))


def _broadcast_sizes(sizes: Sequence[int], axis: int) -> int:
    known = {size for size in sizes if size not in (1, DYNAMIC)}
    if len(known) > 1:
        raise VerifyException(f"sizes {list(sizes)} of axis {axis} do not broadcast")
    if known:
        return known.pop()
    return DYNAMIC if DYNAMIC in sizes else 1


def window_size(
    size: int, kernel: int, stride: int, before: int, after: int, dilation: int = 1, *, ceil_mode: bool = False
) -> int:
    """Return how many windows fit one spatial axis.

    floor mode: `(size + before + after - dilation*(kernel-1) - 1) / stride + 1`, rounded down. Ceil mode rounds up,
    then drops a last window that would start past `size + before` (as ONNX and PyTorch do).
    """
    if size == DYNAMIC:
        return DYNAMIC
    free = size + before + after - dilation * (kernel - 1) - 1
    if free < 0:
        return 0
    if not ceil_mode:
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keep_dims: bool) -> tuple[int, ...]:
    """Return the shape after a reduction over `axes` (non-negative)."""
    if keep_dims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def normalize_axis(axis: int, rank: int) -> int:
    """Return `axis` counted from the front; raises VerifyException outside -rank..rank-1."""
    if not -rank <= axis < max(rank, 1):
        raise VerifyException(f"axis {axis} is outside the rank {rank}")
    return axis + rank if axis < 0 else axis


def compatible(left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether two shapes may describe the same value: equal rank, and equal sizes where both are known."""
    if len(left) != len(right):
        return False
    return all(a == b or DYNAMIC in (a, b) for a, b in zip(left, right, strict=True))
