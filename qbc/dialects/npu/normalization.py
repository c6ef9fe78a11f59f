"""Softmax and layer normalization in exact integers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT
from qbc.dialects.npu.activation import PointwiseOp
from qbc.dialects.npu.base import BLOB, expect_blob
from qbc.dialects.npu.types import NpuTensorType


@irdl_op_definition
class SoftmaxOp(PointwiseOp):
    """Softmax over the last axis: exponentials by table and shift, one exact division."""

    name = "npu.softmax"
    KIND: ClassVar[str] = "softmax"
    k = prop_def(INT)
    q = prop_def(INT)
    g = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)


@irdl_op_definition
class LogSoftmaxOp(PointwiseOp):
    """Logarithm of the softmax over the last axis: `table` holds log2 of the mantissa at 257 nodes."""

    name = "npu.log_softmax"
    KIND: ClassVar[str] = "log_softmax"
    k = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
    table = prop_def(BLOB)


@irdl_op_definition
class LayerNormOp(PointwiseOp):
    """Normalization over the trailing `n` elements with an integer square root; `rms` skips the mean."""

    name = "npu.layer_norm"
    KIND: ClassVar[str] = "layer_norm"
    n = prop_def(INT)
    zx = prop_def(INT)
    eps = prop_def(INT)
    t = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
    rms = opt_prop_def(INT)
    gamma = prop_def(BLOB)
    beta = prop_def(BLOB)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        count, size = self.integer("n"), 1
        for dimension in reversed(inputs[0].shape):
            if size >= count:
                break
            size *= dimension
        if size != count:
            raise VerifyException(f"n = {count} is not a product of trailing dimensions of {list(inputs[0].shape)}")
        for name in ("gamma", "beta"):
            expect_blob(name, self.call_constants()[name], (count,), ("int64",))
