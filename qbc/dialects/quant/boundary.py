"""Where float becomes codes, codes become float, and codes change their encoding."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.quant.base import FLOAT, INT, TEXT, SameShapeOp, check_activation
from qbc.dialects.quant.types import quantized_element


@irdl_op_definition
class QuantizeOp(SameShapeOp):
    """Graph input: `q = clamp(rint(x / scale)) + zero_point` with the encoding of the result type."""

    name = "quant.quantize"

    def verify_(self) -> None:
        super().verify_()
        if quantized_element(self.operands[0]) is not None or quantized_element(self.output) is None:
            raise VerifyException("goes from float to a quantized type")


@irdl_op_definition
class DequantizeOp(SameShapeOp):
    """Graph output: `y = scale * (q - zero_point)` with the encoding of the operand type."""

    name = "quant.dequantize"

    def verify_(self) -> None:
        super().verify_()
        if quantized_element(self.operands[0]) is None or quantized_element(self.output) is not None:
            raise VerifyException("goes from a quantized type to float")


@irdl_op_definition
class RequantizeOp(SameShapeOp):
    """Changes the encoding and clamps: `y = clamp(z + (((x - zx)*m + 2^(s-1)) >> s), lo, hi)`.

    Float levels: the identity, or the fused `activation` alone.
    """

    name = "quant.requantize"
    activation = opt_prop_def(TEXT)
    activation_min = opt_prop_def(FLOAT)
    activation_max = opt_prop_def(FLOAT)
    zx = opt_prop_def(INT)
    m = opt_prop_def(INT)
    s = opt_prop_def(INT)
    z = opt_prop_def(INT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)

    def verify_(self) -> None:
        super().verify_()
        check_activation(self)
