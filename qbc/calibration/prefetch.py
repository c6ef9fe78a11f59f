"""Reading ahead: one thread prepares the next samples while the network runs on the current one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

DEPTH = 2  # samples that wait: enough to hide one slow file, little enough to keep memory flat


def prefetch(produce: Callable[[int], Item], count: int, depth: int = DEPTH) -> Iterator[Item]:
    """Yield `produce(0)`, `produce(1)`, ... in order; at most `depth` results wait at any time.

    An exception of `produce` is raised at the place of its item. The thread ends with the iteration, also when the
    consumer leaves early.
    """
    waiting: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def work() -> None:
        for index in range(count):
            try:
                result: tuple[Item | None, BaseException | None] = (produce(index), None)
            except BaseException as error:  # handed to the consumer, who raises it
                result = (None, error)
            if not _put(waiting, result, stopped) or result[1] is not None:
                return

    thread = threading.Thread(target=work, name="sample reader", daemon=True)
    thread.start()
    try:
        for _ in range(count):
            item, error = waiting.get()
            if error is not None:
                raise error
            yield item  # type: ignore[misc]  # an item without an error is set
    finally:
        stopped.set()
        thread.join()


def _put(waiting: queue.Queue[Item], item: Item, stopped: threading.Event) -> bool:
    """Put an item as soon as there is room; returns False when the consumer has left."""
    while not stopped.is_set():
        try:
            waiting.put(item, timeout=0.05)
            return True
        except queue.Full:
            continue
    return False
