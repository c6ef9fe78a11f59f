"""`quant-materialize`: scales become integers."""

from qbc.passes.quant.quant_materialize.materialize import QuantMaterialize

__all__ = ["QuantMaterialize"]
