"""`convert-mblt-to-quant`: the float graph becomes a graph with encodings."""

from qbc.passes.quant.convert_mblt_to_quant.convert import ConvertMbltToQuant

__all__ = ["ConvertMbltToQuant"]
