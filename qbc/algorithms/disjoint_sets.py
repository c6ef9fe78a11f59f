"""Disjoint sets of hashable items."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class DisjointSets(Generic[Item]):
    """Sets that start with one item each and are merged; each is represented by its earliest item in the given order.

    `find` follows and shortens the path to the representative, so a chain of merges stays cheap.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._order = {item: index for index, item in enumerate(items)}
        self._parent = {item: item for item in self._order}

    def find(self, item: Item) -> Item:
        """Return the representative of the set of `item`."""
        root = item
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[item] != root:
            self._parent[item], item = root, self._parent[item]
        return root

    def union(self, items: Iterable[Item]) -> None:
        """Merge the sets of all `items`."""
        roots = {self.find(item): None for item in items}
        if len(roots) < 2:
            return
        first = min(roots, key=self._order.__getitem__)
        for root in roots:
            self._parent[root] = first

    def groups(self) -> dict[Item, list[Item]]:
        """Return representative -> members, both in order."""
        found: dict[Item, list[Item]] = {}
        for item in self._order:
            found.setdefault(self.find(item), []).append(item)
        return found
