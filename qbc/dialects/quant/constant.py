"""Constants."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.irdl import base, irdl_op_definition, prop_def, result_def

from qbc.dialects.quant.base import BLOB, QuantOp


@irdl_op_definition
class ConstantOp(QuantOp):
    """A constant tensor: float data until `quant-materialize`, codes after; integers have no encoding."""

    name = "quant.constant"
    value = prop_def(BLOB | base(DenseIntOrFPElementsAttr))
    result = result_def(TensorType)

    def infer_shape(self) -> tuple[int, ...] | None:
        return tuple(self.value.type.get_shape())
