"""Inlining of the local functions of a model, with a bound on what it may become."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
import onnx.inliner

from qbc.frontends.onnx.validate import ONNX_ERRORS, first_line, graphs_of_nodes, invalid_model

MAX_NODES = 1_000_000
MAX_DEPTH = 64

_Key = tuple[str, str, str]


def inline_functions(model: Any) -> Any:
    """Return the model with its local functions inlined, or unchanged when it has none.

    Functions that call each other twice at every level double at every level, so the size is counted before: more than
    `MAX_NODES` nodes, more than `MAX_DEPTH` levels or a circle is INVALID_MODEL.
    """
    if not model.functions:
        return model
    sizes = _Sizes(model)
    total = sizes.of_nodes(model.graph.node, 0)
    if total > MAX_NODES:
        raise invalid_model(f"the model has {total} nodes when its local functions are inlined")
    try:
        inlined = onnx.inliner.inline_local_functions(model)
    except ONNX_ERRORS as error:
        raise invalid_model(f"local functions cannot be inlined: {first_line(error)}") from error
    del inlined.functions[:]
    return inlined


class _Sizes:
    """Number of nodes each local function becomes."""

    def __init__(self, model: Any) -> None:
        self._functions: dict[_Key, Any] = {(f.domain, f.name, f.overload): f for f in model.functions}
        self._known: dict[_Key, int] = {}
        self._open: set[_Key] = set()

    def of_nodes(self, nodes: Any, depth: int) -> int:
        """Return the number of nodes after inlining, those in bodies included."""
        return sum(self._of_node(node, depth) for node in _with_bodies(nodes))

    def _of_node(self, node: Any, depth: int) -> int:
        key = (node.domain, node.op_type, node.overload)
        if key not in self._functions:
            return 1
        if key in self._open:
            raise invalid_model(f"the local function '{node.op_type}' calls itself")
        if depth > MAX_DEPTH:
            raise invalid_model(f"local functions nest deeper than {MAX_DEPTH} levels")
        if key not in self._known:
            self._open.add(key)
            self._known[key] = self.of_nodes(self._functions[key].node, depth + 1)
            self._open.discard(key)
        return self._known[key]


def _with_bodies(nodes: Any) -> Iterator[Any]:
    yield from nodes
    for graph in graphs_of_nodes(nodes):
        yield from graph.node
