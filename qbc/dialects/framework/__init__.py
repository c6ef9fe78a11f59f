"""The `framework` dialect: an exact image of ONNX at opset 25.

Every operator is `framework.<OnnxOperator>`, custom operators are `framework.opaque`, constants `framework.Constant`.
The module attribute `framework.opset` is always 25; graph names live in the `framework.name` attributes of `@main`.
"""

from qbc.dialects.framework.access import (
    attribute,
    build,
    constant_of,
    operand,
    operands_by_position,
    operator,
    read_constant,
    read_tensor,
    results_by_position,
    tensor_attr,
)
from qbc.dialects.framework.ops import OPS_BY_NAME, ConstantOp, FrameworkDialect, OpaqueOp, YieldOp
from qbc.dialects.framework.signature import ML_DOMAIN, ML_OPSET, OPSET
from qbc.dialects.framework.types import OptionalType, RawAttr, RawTypeAttr, SequenceType, StringType, UnknownType

Framework = FrameworkDialect(
    "framework",
    [OpaqueOp, YieldOp],
    [StringType, UnknownType, SequenceType, OptionalType, RawTypeAttr, RawAttr],
)

__all__ = [
    "ML_DOMAIN",
    "ML_OPSET",
    "OPSET",
    "OPS_BY_NAME",
    "ConstantOp",
    "Framework",
    "OpaqueOp",
    "OptionalType",
    "RawAttr",
    "RawTypeAttr",
    "SequenceType",
    "StringType",
    "UnknownType",
    "YieldOp",
    "attribute",
    "build",
    "constant_of",
    "operand",
    "operands_by_position",
    "operator",
    "read_constant",
    "read_tensor",
    "results_by_position",
    "tensor_attr",
]
