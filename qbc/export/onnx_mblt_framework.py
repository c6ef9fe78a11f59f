"""Framework operators inside an mblt function: the ONNX node they came from."""

from __future__ import annotations

from xdsl.ir import Operation

from qbc.errors import QBCompilerError
from qbc.export.onnx_mblt_builder import GraphBuilder

OPSET = 25


def emit(op: Operation, builder: GraphBuilder) -> None:
    """Append the node of a framework operator; its operands and results have no layout but their own."""
    raise QBCompilerError(f"'{op.name}' has no ONNX form here", code="UNSUPPORTED_OP")
