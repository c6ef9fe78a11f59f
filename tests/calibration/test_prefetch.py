"""Reading ahead: order, errors at their place, bounded memory, and threads that end."""

from __future__ import annotations

import threading
import time

import pytest

from qbc.calibration.prefetch import prefetch


def readers() -> int:
    return sum(thread.name == "sample reader" for thread in threading.enumerate())


def test_order_and_overlap() -> None:
    """The next item is begun while the consumer still has the one before."""
    begun = [threading.Event() for _ in range(20)]

    def produce(index: int) -> int:
        begun[index].set()
        return index

    for expected, item in enumerate(prefetch(produce, 20, depth=1)):
        assert item == expected
        assert all(event.wait(timeout=30) for event in begun[: item + 2])
    assert readers() == 0


def test_errors_come_in_place() -> None:
    def produce(index: int) -> int:
        if index == 3:
            raise ValueError("third")
        return index

    seen = []
    with pytest.raises(ValueError, match="third"):
        for item in prefetch(produce, 9):
            seen.append(item)
    assert seen == [0, 1, 2] and readers() == 0


def test_memory_is_bounded_and_leaving_ends_the_thread() -> None:
    produced = []
    items = prefetch(lambda index: produced.append(index) or index, 1000, depth=2)
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    time.sleep(0.1)
    assert len(produced) <= 3 + 2 + 1
    items.close()
    assert readers() == 0
    assert list(prefetch(lambda index: index, 0)) == []
