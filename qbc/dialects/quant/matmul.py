"""Matrix products: `linear` with a constant weight, `matmul` of two activations."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common import broadcast
from qbc.dialects.quant.base import BOOL, INT, QuantOp, integer, shape_of
from qbc.dialects.quant.convolution import WeightedOp


@irdl_op_definition
class LinearOp(WeightedOp):
    """`y[..., o] = sum_i x[..., i] * weight[o, i] + bias[o]`."""

    name = "quant.linear"

    def infer_shape(self) -> tuple[int, ...] | None:
        *batch, channels = shape_of(self.operands[0])
        out_channels, in_channels = self.weight_shape
        if channels != in_channels:
            raise VerifyException(f"weight takes {in_channels} channels, the input has {channels}")
        return (*batch, out_channels)


@irdl_op_definition
class MatmulOp(QuantOp):
    """`y = a @ b` of activations `[..., M, K]` and `[..., K, N]` (`[..., N, K]` with `transpose_b`).

    Materialized: `y = clamp(z + ((sum (a - za)(b - zb) * m + 2^(s-1)) >> s), lo, hi)`.
    """

    name = "quant.matmul"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    result = result_def(TensorType)
    transpose_b = prop_def(BOOL)
    za = opt_prop_def(INT)
    zb = opt_prop_def(INT)
    m = opt_prop_def(INT)
    s = opt_prop_def(INT)
    z = opt_prop_def(INT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)

    def infer_shape(self) -> tuple[int, ...] | None:
        *batch_a, rows, inner_a = shape_of(self.operands[0])
        *batch_b, first, second = shape_of(self.operands[1])
        inner_b, columns = (second, first) if integer(self, "transpose_b") else (first, second)
        if inner_a != inner_b:
            raise VerifyException(f"inner dimensions {inner_a} and {inner_b} differ")
        return (*broadcast(tuple(batch_a), tuple(batch_b)), rows, columns)
