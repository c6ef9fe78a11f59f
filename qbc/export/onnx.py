"""Export to ONNX."""

from qbc.export.onnx_mblt import ExportedValue, MbltExport, export_mblt, mblt_to_onnx, save_mblt_onnx

__all__ = ["ExportedValue", "MbltExport", "export_mblt", "mblt_to_onnx", "save_mblt_onnx"]
