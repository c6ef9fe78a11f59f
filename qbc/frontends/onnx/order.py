"""Topological order of the nodes of a graph: ONNX demands it, some exporters do not care."""

from __future__ import annotations

from typing import Any

import onnx


def sort_nodes(graph: Any) -> None:
    """Bring the nodes of a GraphProto into topological order where they are not; the order is otherwise kept.

    A cycle is left as it is: the checker reports it.
    """
    producers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    needs = [sorted({producers[name] for name in _uses(node) if name in producers}) for node in graph.node]
    if all(not sources or sources[-1] < index for index, sources in enumerate(needs)):
        return
    order = _depth_first(needs)
    if order is None:
        return
    nodes = [onnx.NodeProto.FromString(graph.node[index].SerializeToString()) for index in order]
    del graph.node[:]
    graph.node.extend(nodes)


def _uses(node: Any) -> set[str]:
    """Return the names a node reads, with those its bodies capture."""
    names = set(node.input)
    for attribute in node.attribute:
        bodies = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
        for body in bodies:
            for inner in body.node:
                names |= _uses(inner)
            names |= {value.name for value in body.output}
    return names


def _depth_first(needs: list[list[int]]) -> list[int] | None:
    """Return the indices in an order where sources come first, or None when there is a cycle."""
    order: list[int] = []
    state = [0] * len(needs)  # 0 new, 1 open, 2 done
    for root in range(len(needs)):
        stack = [root] if state[root] == 0 else []
        while stack:
            index = stack[-1]
            if state[index] == 0:
                state[index] = 1
                waiting = [source for source in reversed(needs[index]) if state[source] != 2]
                if any(state[source] == 1 for source in waiting):
                    return None
                stack += waiting
                continue
            stack.pop()
            if state[index] == 1:
                state[index] = 2
                order.append(index)
    return order
