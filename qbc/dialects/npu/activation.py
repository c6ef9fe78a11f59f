"""Functions of one code: requantization and tables."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from qbc.dialects.common.properties import INT, STRING
from qbc.dialects.npu.base import BLOB, KernelOp, expect_blob, expect_codes, expect_element, expect_shape
from qbc.dialects.npu.types import NpuTensorType


class PointwiseOp(KernelOp):
    """Shape rule of functions of one code."""

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_codes(inputs, output)
        expect_shape(output, inputs[0].shape)


@irdl_op_definition
class RequantizeOp(PointwiseOp):
    """`y = R(x - zx)`: change of encoding, or a clamp."""

    name = "npu.requantize"
    KIND: ClassVar[str] = "requantize"
    zx = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)


@irdl_op_definition
class LutOp(PointwiseOp):
    """`y = table[x + 128]` for i8 inputs."""

    name = "npu.lut"
    KIND: ClassVar[str] = "lut"
    table = prop_def(BLOB)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        expect_element("input", inputs[0], ("i8",))
        expect_blob("table", self.call_constants()["table"], (256,), ({"i8": "int8", "i16": "int16"}[output.element],))


@irdl_op_definition
class Lut16Op(PointwiseOp):
    """Interpolation between 513 nodes for 16-bit inputs."""

    name = "npu.lut16"
    KIND: ClassVar[str] = "lut16"
    lo = prop_def(INT)
    hi = prop_def(INT)
    table = prop_def(BLOB)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        expect_element("input", inputs[0], ("i16",))
        expect_blob("table", self.call_constants()["table"], (513,), ("int32",))


@irdl_op_definition
class MantissaLutOp(PointwiseOp):
    """Power functions and logarithm of 16-bit inputs: 257 nodes over the mantissa, exponent by a shift."""

    name = "npu.mantissa_lut"
    KIND: ClassVar[str] = "mantissa_lut"
    function = prop_def(STRING)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
    c1 = opt_prop_def(INT)
    c2 = opt_prop_def(INT)
    table = prop_def(BLOB)
