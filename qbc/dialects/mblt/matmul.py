"""Matrix products."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import base, irdl_op_definition, operand_def, opt_prop_def, prop_def

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.properties import bool_prop, opt_f64_prop, opt_str_prop
from qbc.dialects.common.shapes import DYNAMIC, broadcast
from qbc.dialects.mblt.base import TENSOR, MbltOp, check_activation, check_blob, check_floats, require, shape_of


@irdl_op_definition
class LinearOp(MbltOp):
    """`y[..., o] = act(bias[o] + sum_c x[..., c] * weight[o, c])`; x [..., IC], weight [OC, IC], y [..., OC]."""

    name = "mblt.linear"
    x = operand_def(TENSOR)
    weight = prop_def(base(BlobAttr))
    bias = opt_prop_def(base(BlobAttr))
    activation = opt_str_prop()
    activation_min = opt_f64_prop()
    activation_max = opt_f64_prop()

    def check(self) -> None:
        check_activation(self)
        check_floats(self)
        shape = shape_of(self.operands[0])
        require(len(shape) >= 1, "expected an operand of rank 1 or more")
        require(len(self.weight.shape) == 2, f"expected a weight of rank 2, got {self.weight.type}")
        check_blob(self.weight, (self.weight.shape[0], shape[-1]), "a weight")
        if self.bias is not None:
            check_blob(self.bias, (self.weight.shape[0],), "a bias")

    def infer_result_type(self) -> Attribute:
        return self.with_shape((*shape_of(self.operands[0])[:-1], self.weight.shape[0]))


@irdl_op_definition
class MatmulOp(MbltOp):
    """`y[..., m, n] = sum_k a[..., m, k] * b[..., k, n]` (`b[..., n, k]` with transpose_b).

    Equal ranks of 2 or more; leading sizes broadcast.
    """

    name = "mblt.matmul"
    DEFAULTS: ClassVar[dict[str, object]] = {"transpose_b": False}
    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    transpose_b = bool_prop()

    def infer_result_type(self) -> Attribute:
        a, b = shape_of(self.operands[0]), shape_of(self.operands[1])
        require(len(a) == len(b) and len(a) >= 2, f"expected operands of equal rank >= 2, got {len(a)} and {len(b)}")
        depth, columns = (b[-1], b[-2]) if self.value_of("transpose_b") else (b[-2], b[-1])
        require(a[-1] == depth or DYNAMIC in (a[-1], depth), f"inner sizes {a[-1]} and {depth} differ")
        return self.with_shape((*broadcast(a[:-2], b[:-2]), a[-2], columns))
