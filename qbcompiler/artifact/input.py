"""Reading of `.mblt` files."""

from qbcompiler.tools import LayerType, Operator, OperatorOptions, Subgraph, read_mblt_graph_info

__all__ = ["LayerType", "Operator", "OperatorOptions", "Subgraph", "read_mblt_graph_info"]
