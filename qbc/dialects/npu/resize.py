"""Spatial resampling of `[N, H, W, C]` with precomputed index and weight tables."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT
from qbc.dialects.npu.base import BLOB, KernelOp, expect_blob, expect_codes, expect_same_element
from qbc.dialects.npu.types import NpuTensorType


class ResizeOp(KernelOp):
    """Batch and channels stay, the tables have one entry per output row or column."""

    ROW_TABLES: ClassVar[tuple[str, ...]] = ()
    COLUMN_TABLES: ClassVar[tuple[str, ...]] = ()

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_codes(inputs, output)
        shape = inputs[0].shape
        if len(shape) != 4 or len(output.shape) != 4 or (shape[0], shape[3]) != (output.shape[0], output.shape[3]):
            raise VerifyException("input and result must be [N, H, W, C] with equal N and C")
        for names, axis in ((self.ROW_TABLES, 1), (self.COLUMN_TABLES, 2)):
            for name in names:
                expect_blob(name, self.call_constants()[name], (output.shape[axis],), ("int32",))


@irdl_op_definition
class ResizeNearestOp(ResizeOp):
    """`y[i, j] = x[index_h[i], index_w[j]]`."""

    name = "npu.resize_nearest"
    KIND: ClassVar[str] = "resize_nearest"
    ROW_TABLES: ClassVar[tuple[str, ...]] = ("index_h",)
    COLUMN_TABLES: ClassVar[tuple[str, ...]] = ("index_w",)
    index_h = prop_def(BLOB)
    index_w = prop_def(BLOB)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        expect_same_element(inputs, output)


@irdl_op_definition
class ResizeLinearOp(ResizeOp):
    """Bilinear: weights `hw`, `ww` (0..2048) of the second tap, then one requantization."""

    name = "npu.resize_linear"
    KIND: ClassVar[str] = "resize_linear"
    ROW_TABLES: ClassVar[tuple[str, ...]] = ("h0", "h1", "hw")
    COLUMN_TABLES: ClassVar[tuple[str, ...]] = ("w0", "w1", "ww")
    zx = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
    h0 = prop_def(BLOB)
    h1 = prop_def(BLOB)
    hw = prop_def(BLOB)
    w0 = prop_def(BLOB)
    w1 = prop_def(BLOB)
    ww = prop_def(BLOB)
