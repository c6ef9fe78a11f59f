"""Names of the source nodes: given where there are none, and the account of nodes that no operator stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qbc.dialects.framework.signature import OPSET
from qbc.frontends.onnx.validate import all_graphs

_CONSTANT = "a constant, which belongs to the operations that use it"
_FUNCTION = "a local function, whose operations stand in its place"
_LIFTED = f"opset {OPSET} says it otherwise"


def name_nodes(graph: Any) -> None:
    """Give unnamed nodes the name `<OpType>_<index>`, so that they can be spoken of."""
    taken = {node.name for inner in all_graphs(graph) for node in inner.node}
    index = 0
    for inner in all_graphs(graph):
        for node in inner.node:
            if not node.name:
                name = f"{node.op_type}_{index}"
                while name in taken:
                    name += "_"
                taken.add(name)
                node.name = name
            index += 1


@dataclass(frozen=True)
class SourceNodes:
    """The nodes of a model before functions are inlined and opsets lifted: name -> why it may be gone afterwards."""

    fates: dict[str, str]

    @classmethod
    def of(cls, model: Any) -> SourceNodes:
        """Take the names of all nodes, those in bodies included; every node has one."""
        functions = {(function.domain, function.name) for function in model.functions}
        fates: dict[str, str] = {}
        for graph in all_graphs(model.graph):
            for node in graph.node:
                is_call = (node.domain, node.op_type) in functions
                fates[node.name] = _FUNCTION if is_call else _CONSTANT if _is_constant(node) else _LIFTED
        return cls(fates)

    def removed(self, graph: Any) -> dict[str, str]:
        """Return the nodes that `graph`, the final form, has no operator for, with the reason."""
        operators = {node.name for inner in all_graphs(graph) for node in inner.node if not _is_constant(node)}
        return {name: reason for name, reason in self.fates.items() if name not in operators}


def _is_constant(node: Any) -> bool:
    return bool(node.op_type == "Constant" and not node.domain)
