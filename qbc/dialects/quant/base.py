"""What every operation of the `quant` dialect shares: shape checks and property access.

Properties of the float levels (created, ranged) and of the materialized level are both optional here;
`quant-verify` says which of them must be present at which level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import base, operand_def, opt_prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common import PlainFormOp, broadcast
from qbc.dialects.common import int_list as ints_attr
from qbc.dialects.common.access import integer, number, shape_of
from qbc.dialects.common.access import integers as ints
from qbc.errors import QBCompilerError

INTS = DenseArrayBase.constr(i64)
INT = IntegerAttr.constr(i64)
BOOL = base(IntegerAttr)
FLOAT = base(FloatAttr)
TEXT = base(StringAttr)
BLOB = base(BlobAttr)


def text(op: Operation, name: str, default: str = "") -> str:
    """Return a string property, or `default` where it is absent."""
    attribute = op.properties.get(name)
    return attribute.data if isinstance(attribute, StringAttr) else default


def int_attr(value: int) -> IntegerAttr[IntegerType]:
    """Return an i64 attribute; raises QUANTIZATION_ERROR for a constant that extreme scales push beyond 64 bits."""
    if not -(1 << 63) <= value < 1 << 63:
        raise QBCompilerError(
            f"an integer constant of about 2^{int(abs(value)).bit_length() - 1} does not fit 64 bits",
            code="QUANTIZATION_ERROR",
            hint="look for extreme values in weights and calibration samples",
        )
    return IntegerAttr(int(value), i64)


class QuantOp(PlainFormOp):
    """Base of all quant operations with one result."""

    traits = traits_def(Pure())

    @property
    def output(self) -> SSAValue:
        """The result."""
        return self.results[0]

    def infer_shape(self) -> tuple[int, ...] | None:
        """Return the result shape that operands and properties imply, or None where they leave it open."""
        return None

    def infer_result_type(self) -> Attribute:
        """Return the result type: the inferred shape with the element type of the result."""
        result = self.results[0].type
        shape = self.infer_shape()
        if shape is None or not isinstance(result, TensorType):
            return result
        return TensorType(result.element_type, shape)

    def verify_(self) -> None:
        inferred = self.infer_result_type()
        if inferred != self.results[0].type:
            raise VerifyException(f"result type is {self.results[0].type}, expected {inferred}")

    @classmethod
    def make(
        cls,
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Mapping[str, Attribute | None],
        location: Any,
    ) -> Self:
        """Create the operation; properties that are None are left out."""
        present = {name: value for name, value in properties.items() if value is not None}
        return cls.create(operands=list(operands), result_types=[result_type], properties=present, location=location)


class UnaryOp(QuantOp):
    """Base: one operand `x`, one result."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


class SameShapeOp(UnaryOp):
    """Base: the result has the shape of the operand."""

    def infer_shape(self) -> tuple[int, ...] | None:
        return shape_of(self.operands[0])


class BinaryOp(QuantOp):
    """Base: operands `a` and `b` of equal rank with numpy broadcasting, optional fused activation."""

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    result = result_def(TensorType)
    activation = opt_prop_def(TEXT)
    activation_min = opt_prop_def(FLOAT)
    activation_max = opt_prop_def(FLOAT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)

    def infer_shape(self) -> tuple[int, ...] | None:
        return broadcast(shape_of(self.operands[0]), shape_of(self.operands[1]))

    def verify_(self) -> None:
        super().verify_()
        check_activation(self)


def nhwc_of(op: Operation) -> tuple[int, int, int, int]:
    """Return the shape of the first operand; raises VerifyException unless it is an NHWC tensor of rank 4."""
    shape = shape_of(op.operands[0])
    if len(shape) != 4:
        raise VerifyException(f"takes an NHWC tensor of rank 4, not shape {list(shape)}")
    return shape[0], shape[1], shape[2], shape[3]


class VariadicOp(QuantOp):
    """Base: any number of operands, one result."""

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)


def check_activation(op: Operation) -> None:
    """Raise VerifyException unless the fused activation is relu, relu6 or clip (with its bounds)."""
    kind = op.properties.get("activation")
    if kind is None:
        return
    if not isinstance(kind, StringAttr) or kind.data not in ("relu", "relu6", "clip"):
        raise VerifyException('activation is "relu", "relu6" or "clip"')
    if kind.data == "clip" and not {"activation_min", "activation_max"} & set(op.properties):
        raise VerifyException('activation "clip" needs activation_min or activation_max')


__all__ = [
    "BLOB",
    "BOOL",
    "FLOAT",
    "INT",
    "INTS",
    "TEXT",
    "BinaryOp",
    "QuantOp",
    "SameShapeOp",
    "UnaryOp",
    "VariadicOp",
    "check_activation",
    "int_attr",
    "integer",
    "ints",
    "ints_attr",
    "nhwc_of",
    "number",
    "shape_of",
    "text",
]
