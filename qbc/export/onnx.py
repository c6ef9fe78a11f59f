"""Export to ONNX."""

from qbc.export.onnx_framework import framework_to_onnx, function_to_onnx
from qbc.export.onnx_mblt import ExportedValue, MbltExport, export_mblt, mblt_to_onnx, save_mblt_onnx

__all__ = [
    "ExportedValue",
    "MbltExport",
    "export_mblt",
    "framework_to_onnx",
    "function_to_onnx",
    "mblt_to_onnx",
    "save_mblt_onnx",
]
