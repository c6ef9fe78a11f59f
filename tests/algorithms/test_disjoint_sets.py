"""Disjoint sets against networkx."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from qbc.algorithms.disjoint_sets import DisjointSets


@pytest.mark.parametrize("seed", range(20))
def test_sets_are_connected_components(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = [str(name) for name in rng.permutation(30)]
    sets, graph = DisjointSets(items), networkx.Graph()
    graph.add_nodes_from(items)
    for _ in range(int(rng.integers(0, 30))):
        chosen = [items[i] for i in rng.integers(0, 30, int(rng.integers(0, 4)))]
        sets.union(chosen)
        networkx.add_path(graph, chosen)
    groups = sets.groups()
    assert {frozenset(group) for group in groups.values()} == {
        frozenset(c) for c in networkx.connected_components(graph)
    }
    for representative, members in groups.items():
        assert members == sorted(members, key=items.index) and representative == members[0]
        assert {sets.find(member) for member in members} == {representative}
