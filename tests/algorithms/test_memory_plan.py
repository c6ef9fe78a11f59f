"""Memory plans: no overlap, never below the bound, orders that brute force confirms."""

from __future__ import annotations

import itertools
import random

import pytest

from qbc.algorithms.memory_plan import (
    Interval,
    first_fit,
    greedy_order,
    peak_live,
    peak_of_order,
    plan_addresses,
)


def random_intervals(rng: random.Random, count: int) -> list[Interval]:
    intervals = []
    for _ in range(count):
        first = rng.randrange(-1, 20)
        intervals.append(Interval(first, first + rng.randrange(6), 64 * rng.randrange(1, 9)))
    return intervals


@pytest.mark.parametrize("seed", range(20))
def test_plans_never_overlap(seed: int) -> None:
    rng = random.Random(seed)
    intervals = random_intervals(rng, 40)
    plan = plan_addresses(intervals)
    ends = [address + item.size for address, item in zip(plan.addresses, intervals, strict=True)]
    assert plan.size == max(ends)
    for a, b in itertools.combinations(range(len(intervals)), 2):
        together = intervals[a].first <= intervals[b].last and intervals[b].first <= intervals[a].last
        if together:
            assert ends[a] <= plan.addresses[b] or ends[b] <= plan.addresses[a]
    times = range(-1, 30)
    live = {t: sum(i.size for i in intervals if i.first <= t <= i.last) for t in times}
    bound, position = peak_live(intervals)
    assert bound == max(live.values()) == live[position]
    assert bound <= plan.size <= 1.3 * bound


def test_a_chain_needs_two_buffers() -> None:
    intervals = [Interval(i, i + 1, 64) for i in range(50)]
    assert plan_addresses(intervals).size == 128


def test_first_fit_uses_the_lowest_gap() -> None:
    intervals = [Interval(0, 9, 64), Interval(0, 3, 64), Interval(0, 9, 64), Interval(4, 9, 64)]
    assert first_fit(intervals, [0, 1, 2, 3]).addresses == (0, 64, 128, 64)


def test_nothing_to_plan() -> None:
    assert plan_addresses([]).size == 0
    assert peak_live([]) == (0, 0)


def brute_force_peak(sizes: list[int], reads: list[list[int]], kept: set[int]) -> int:
    best = None
    for order in itertools.permutations(range(len(sizes))):
        position = {index: place for place, index in enumerate(order)}
        if any(position[source] > position[index] for index, sources in enumerate(reads) for source in sources):
            continue
        peak = peak_of_order(order, sizes, reads, kept)
        best = peak if best is None else min(best, peak)
    assert best is not None
    return best


@pytest.mark.parametrize("seed", range(15))
def test_greedy_orders_are_topological_and_good(seed: int) -> None:
    rng = random.Random(seed)
    count = 7
    sizes = [rng.randrange(1, 9) for _ in range(count)]
    reads = [sorted(rng.sample(range(index), min(index, rng.randrange(0, 3)))) for index in range(count)]
    kept = {count - 1}
    order = greedy_order(sizes, reads, kept)
    assert sorted(order) == list(range(count))
    position = {index: place for place, index in enumerate(order)}
    assert all(position[source] < position[index] for index, sources in enumerate(reads) for source in sources)
    source_peak = peak_of_order(range(count), sizes, reads, kept)
    found = min(peak_of_order(order, sizes, reads, kept), source_peak)
    assert brute_force_peak(sizes, reads, kept) <= found <= 1.6 * brute_force_peak(sizes, reads, kept)


def test_views_share_bytes() -> None:
    sizes, reads = [8, 0, 8], [[], [0], [1]]
    assert peak_of_order([0, 1, 2], sizes, reads, {2}) == 16
    sizes, reads = [8, 0, 8, 8], [[], [0], [], [1, 2]]
    assert peak_of_order([0, 1, 2, 3], sizes, reads, {3}) == 24
