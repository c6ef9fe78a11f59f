"""Algebra of permutations and reshapes, on tuples. A transpose by p makes axis i of the result from axis p[i]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qbc.dialects.common.shapes import DYNAMIC

Axes = tuple[int, ...]


def compose(first: Sequence[int], second: Sequence[int]) -> Axes:
    """Return the permutation of a transpose by `first` followed by one by `second`."""
    return tuple(first[axis] for axis in second)


def invert(permutation: Sequence[int]) -> Axes:
    """Return the permutation that undoes `permutation`."""
    inverse = [0] * len(permutation)
    for position, axis in enumerate(permutation):
        inverse[axis] = position
    return tuple(inverse)


def permuted(values: Sequence[int], permutation: Sequence[int]) -> Axes:
    """Return the shape (or any list with an entry an axis) after a transpose."""
    return tuple(values[axis] for axis in permutation)


def is_identity(permutation: Sequence[int]) -> bool:
    """Return whether nothing moves."""
    return tuple(permutation) == tuple(range(len(permutation)))


def moves_units_only(shape: Sequence[int], permutation: Sequence[int]) -> bool:
    """Return whether a transpose keeps the order of all axes of `shape` that are not 1: then it is a reshape."""
    kept = [axis for axis in permutation if shape[axis] != 1]
    return kept == sorted(kept)


def is_reshape(shape: Sequence[int], permutation: Sequence[int]) -> bool:
    """Return whether a transpose is a reshape that can be written down: with one unknown size at most."""
    return moves_units_only(shape, permutation) and sum(size == DYNAMIC for size in shape) <= 1


def to_last(rank: int) -> Axes:
    """Return the permutation of channel-first to channel-last."""
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> Axes:
    """Return the permutation of channel-last to channel-first."""
    return (0, rank - 1, *range(1, rank - 1))


@dataclass(frozen=True)
class Group:
    """Adjacent axes of a reshape's operand that hold the same elements as adjacent axes of its result.

    Axes of size 1 stand alone: in a group with no axes on the other side.
    """

    before: Axes
    after: Axes


def reshape_groups(before: Sequence[int], after: Sequence[int]) -> list[Group] | None:
    """Return the smallest groups of a reshape in order, or None when unknown sizes hide them."""
    groups: list[Group] = []
    i = j = 0
    while i < len(before) or j < len(after):
        if i < len(before) and before[i] == 1:
            groups.append(Group((i,), ()))
            i += 1
            continue
        if j < len(after) and after[j] == 1:
            groups.append(Group((), (j,)))
            j += 1
            continue
        if i >= len(before) or j >= len(after):
            return None
        grown = _grow(before, after, i, j)
        if grown is None:
            return None
        groups.append(Group(tuple(range(i, grown[0])), tuple(range(j, grown[1]))))
        i, j = grown
    return groups


def _grow(before: Sequence[int], after: Sequence[int], i: int, j: int) -> tuple[int, int] | None:
    """Return the ends of the group that starts at axes i and j."""
    if DYNAMIC in (before[i], after[j]):
        return (i + 1, j + 1) if before[i] == after[j] else None
    left, right = before[i], after[j]
    i, j = i + 1, j + 1
    while left != right:
        if left < right:
            if i >= len(before) or before[i] == DYNAMIC:
                return None
            left, i = left * before[i], i + 1
            continue
        if j >= len(after) or after[j] == DYNAMIC:
            return None
        right, j = right * after[j], j + 1
    return i, j


def through_reshape(shape: Sequence[int], permutation: Sequence[int], after: Sequence[int]) -> tuple[Axes, Axes] | None:
    """Swap a transpose of `shape` and the reshape that follows it.

    Returns s and q with `reshape(transpose(x, permutation), after) = transpose(reshape(x, s), q)`, or None when the
    reshape merges axes that do not lie side by side in x.
    """
    middle = permuted(shape, permutation)
    groups = reshape_groups(middle, after)
    if groups is None:
        return None
    solid = [axis for axis in range(len(shape)) if shape[axis] != 1]
    places: list[tuple[float, int]] = []
    last = -1.0
    for number, group in enumerate(groups):
        sources = [permutation[axis] for axis in group.before if middle[axis] != 1]
        if sources:
            start = solid.index(sources[0])
            if solid[start : start + len(sources)] != sources:
                return None
            last = float(start)
        # A group of size 1 may stand anywhere; it follows the group before it.
        places.append((last if sources else last + 0.5, number))
    order = [groups[number] for _, number in sorted(places)]
    axes = [axis for group in order for axis in group.after]
    if sum(size == DYNAMIC for size in after) > 1:
        return None
    return tuple(after[axis] for axis in axes), invert(axes)
