"""Axes and per-axis lists of an mblt operation in the layout in which its tensor is held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from qbc.export.onnx_mblt_builder import FIRST, LAST, Layout, to_first

Entry = TypeVar("Entry")


def axis_in(layout: Layout, axis: int, rank: int) -> int:
    """Return where axis `axis` of a channel-last value of `rank` lies in `layout`."""
    axis = axis % rank
    return to_first(rank).index(axis) if layout == FIRST else axis


def entries_in(layout: Layout, entries: Sequence[Entry], rank: int) -> list[Entry]:
    """Reorder a list with one entry per axis (channel-last order) for `layout`."""
    order = to_first(rank) if layout == FIRST else range(rank)
    return [entries[axis] for axis in order]


def layout_after_reduction(layout: Layout, axes: Sequence[int], rank: int) -> Layout | None:
    """Return the layout of a result whose `axes` were removed from a tensor in `layout`; None when it has neither."""
    if layout == LAST:
        return LAST
    kept = [axis for axis in to_first(rank) if axis not in axes]
    order = sorted(kept)
    if kept == order:
        return LAST
    return FIRST if kept == [order[axis] for axis in to_first(len(kept))] else None
