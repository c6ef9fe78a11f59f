"""Reading of `.mblt` files."""

from qbcompiler.model_dict.common import LayerType, Operator, OperatorOptions, Subgraph
from qbcompiler.model_dict.reading import read_mblt_graph_info

__all__ = ["LayerType", "Operator", "OperatorOptions", "Subgraph", "read_mblt_graph_info"]
