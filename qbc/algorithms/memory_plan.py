"""Static memory planning without IR: orders with a small peak, and addresses by first fit.

An interval is the time a buffer is alive: from the command that writes it to the last one that reads it, inclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Interval:
    """A buffer: first and last command number (inclusive) and bytes (already rounded to the alignment)."""

    first: int
    last: int
    size: int


@dataclass(frozen=True)
class Plan:
    """Addresses in the order of the intervals, and the bytes that the arena needs."""

    addresses: tuple[int, ...]
    size: int


# --- order -----------------------------------------------------------------------------------------------------------


class _Roots:
    """Bytes by the command that owns them: a command of size 0 with one input shares the bytes of that input."""

    def __init__(self, sizes: Sequence[int], reads: Sequence[Sequence[int]], kept: set[int]) -> None:
        self.root = list(range(len(sizes)))
        for index, size in enumerate(sizes):
            if size == 0 and reads[index]:
                self.root[index] = self.root[reads[index][0]]
        self.kept = {self.root[index] for index in kept}
        self.uses = [0] * len(sizes)
        for index in range(len(sizes)):
            for root in self.read_roots(reads[index]):
                self.uses[root] += 1

    def read_roots(self, reads: Sequence[int]) -> set[int]:
        """Return the owners of the bytes that a command reads."""
        return {self.root[source] for source in reads}


def peak_of_order(order: Sequence[int], sizes: Sequence[int], reads: Sequence[Sequence[int]], kept: set[int]) -> int:
    """Return the peak of live bytes when the commands run in `order`."""
    roots = _Roots(sizes, reads, kept)
    left = list(roots.uses)
    live = peak = 0
    for index in order:
        live += sizes[index]
        peak = max(peak, live)
        live -= _freed(index, sizes, reads, roots, left)
    return peak


def greedy_order(sizes: Sequence[int], reads: Sequence[Sequence[int]], kept: set[int]) -> list[int]:
    """Return a topological order that at each step takes the ready command with the smallest growth of live bytes.

    Ties go to the command that comes first in the source.
    """
    roots = _Roots(sizes, reads, kept)
    left = list(roots.uses)
    waiting = [len(set(sources)) for sources in reads]
    readers: list[list[int]] = [[] for _ in sizes]
    for index, sources in enumerate(reads):
        for source in set(sources):
            readers[source].append(index)
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while ready:
        index = min(ready, key=lambda item: (_growth(item, sizes, reads, roots, left), item))
        ready.remove(index)
        order.append(index)
        _freed(index, sizes, reads, roots, left)
        for reader in readers[index]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return order


def _growth(
    index: int, sizes: Sequence[int], reads: Sequence[Sequence[int]], roots: _Roots, left: Sequence[int]
) -> int:
    freed = sum(sizes[root] for root in roots.read_roots(reads[index]) if left[root] == 1 and root not in roots.kept)
    return sizes[index] - freed


def _freed(index: int, sizes: Sequence[int], reads: Sequence[Sequence[int]], roots: _Roots, left: list[int]) -> int:
    """Count one use of everything that the command reads and return the bytes that die with it."""
    freed = 0
    for root in roots.read_roots(reads[index]):
        left[root] -= 1
        if left[root] == 0 and root not in roots.kept:
            freed += sizes[root]
    if roots.uses[roots.root[index]] == 0 and roots.root[index] not in roots.kept:
        freed += sizes[index]
    return freed


# --- addresses -------------------------------------------------------------------------------------------------------


def peak_live(intervals: Sequence[Interval]) -> tuple[int, int]:
    """Return (greatest sum of live bytes, the command where it occurs): no plan can need less."""
    import numpy as np

    if not intervals:
        return 0, 0
    start = min(interval.first for interval in intervals)
    length = max(interval.last for interval in intervals) - start + 2
    change = np.zeros(length, dtype=np.int64)
    for interval in intervals:
        change[interval.first - start] += interval.size
        change[interval.last - start + 1] -= interval.size
    live = np.cumsum(change)
    position = int(np.argmax(live))
    return int(live[position]), position + start


_ORDERS: tuple[Callable[[Interval], tuple[int, ...]], ...] = (
    lambda item: (-item.size,),
    lambda item: (-(item.last - item.first),),
    lambda item: (-item.size * (item.last - item.first + 1),),
    lambda item: (item.first, -item.size),
    lambda item: (-item.size, -(item.last - item.first), item.first),
)


def plan_addresses(intervals: Sequence[Interval]) -> Plan:
    """Place all intervals by first fit in five orders and return the smallest plan; stops at the lower bound."""
    bound, _ = peak_live(intervals)
    best: Plan | None = None
    for key in _ORDERS:
        order = sorted(range(len(intervals)), key=lambda index: (key(intervals[index]), index))
        plan = first_fit(intervals, order)
        if best is None or plan.size < best.size:
            best = plan
        if best.size == bound:
            break
    return best or Plan((), 0)


def first_fit(intervals: Sequence[Interval], order: Sequence[int]) -> Plan:
    """Place intervals in `order`, each at the lowest address free during its life."""
    import numpy as np

    count = len(intervals)
    first = np.array([item.first for item in intervals], dtype=np.int64)
    last = np.array([item.last for item in intervals], dtype=np.int64)
    sizes = np.array([item.size for item in intervals], dtype=np.int64)
    addresses = np.full(count, -1, dtype=np.int64)
    for index in order:
        meets = (addresses >= 0) & (first <= last[index]) & (last >= first[index])
        addresses[index] = _lowest_gap(addresses[meets], sizes[meets], int(sizes[index]))
    total = int((addresses + sizes).max()) if count else 0
    return Plan(tuple(int(address) for address in addresses), total)


def _lowest_gap(starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], size: int) -> int:
    position = 0
    for index in starts.argsort(kind="stable"):
        if starts[index] - position >= size:
            break
        position = max(position, int(starts[index] + sizes[index]))
    return position
