"""Products of two activations."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT
from qbc.dialects.npu.base import KernelOp, expect_codes, expect_shape
from qbc.dialects.npu.elementwise import broadcast_shape
from qbc.dialects.npu.types import NpuTensorType


@irdl_op_definition
class MatmulOp(KernelOp):
    """`y = R(sum_k (a - za) * (b - zb))` for `a [..., M, K]` and `b [..., K, N]` (`[..., N, K]` with `transpose_b`)."""

    name = "npu.matmul"
    KIND: ClassVar[str] = "matmul"
    INPUTS: ClassVar[tuple[int, int]] = (2, 2)

    za = prop_def(INT)
    zb = prop_def(INT)
    transpose_b = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_codes(inputs, output)
        a, b = (value.shape for value in inputs)
        if len(a) < 2 or len(b) < 2:
            raise VerifyException("both operands need at least two axes")
        inner, columns = (b[-1], b[-2]) if self.integer("transpose_b") else (b[-2], b[-1])
        if a[-1] != inner:
            raise VerifyException(f"inner sizes differ: {a[-1]} and {inner}")
        expect_shape(output, (*broadcast_shape(a[:-2], b[:-2]), a[-2], columns))
