"""Which values of a quant operation must share one encoding.

| operations | rule |
| --- | --- |
| reshape, transpose, slice, expand, pad, gather (data), max_pool2d, reduce_max, reduce_min, nearest resize | `=`: operand and result |
| concat, maximum, minimum, where (values) | `U`: all operands and the result |
| equal, greater, less | `U` from the start: the operands; the result is a mask |
| everything else | free: the operation rescales |

`=` holds from the start. `U` holds from the start with calibration methods 1 and 3; with 0 and 2 every operand keeps
its own encoding and `quant-insert-requant` rescales those that differ.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant import quantized_element
from qbc.dialects.quant.base import text

SHARED_BY_MOVEMENT: tuple[type[Operation], ...] = (
    quant.ReshapeOp,
    quant.TransposeOp,
    quant.SliceOp,
    quant.ExpandOp,
    quant.PadOp,
    quant.MaxPool2dOp,
    quant.ReduceMaxOp,
    quant.ReduceMinOp,
    quant.ResizeNearestOp,
)
SHARED_BY_UNION: tuple[type[Operation], ...] = (quant.ConcatOp, quant.MaximumOp, quant.MinimumOp, quant.WhereOp)
CLAMPING: tuple[type[Operation], ...] = (
    quant.Conv2dOp,
    quant.TransposeConv2dOp,
    quant.LinearOp,
    quant.AddOp,
    quant.SubOp,
    quant.MulOp,
    quant.DivOp,
)  # take a relu or clip that follows as the clamp of their result
GROUP_METHODS = (1, 3)
ZERO_POINT_METHODS = (2, 3)


def is_movement(op: Operation) -> bool:
    """Return whether codes pass through unchanged (`=`)."""
    if isinstance(op, (*SHARED_BY_MOVEMENT, quant.GatherOp)):
        return True
    return isinstance(op, quant.ResizeOp) and text(op, "mode") == "nearest"


def tied_values(op: Operation) -> Sequence[SSAValue]:
    """Return the quantized values around `op` that must have one encoding when it runs; empty where there is no tie."""
    if isinstance(op, quant.GatherOp):
        values: Iterable[SSAValue] = (op.operands[0], op.results[0])
    elif is_movement(op) or isinstance(op, (*SHARED_BY_UNION, quant.MaskOp)):
        values = (*op.operands, *op.results)
    else:
        return ()
    tied = tuple(value for value in values if quantized_element(value) is not None)
    return tied if len(tied) > 1 else ()


def ties_at_creation(op: Operation, method: int) -> Sequence[SSAValue]:
    """Return the values around `op` that share a row from the start under a calibration method (0 to 3)."""
    if isinstance(op, SHARED_BY_UNION) and method not in GROUP_METHODS:
        return ()
    return tied_values(op)


def quant_ops(module: ModuleOp) -> list[quant.QuantOp]:
    """Return all quant operations with a result, in program order."""
    return [op for op in module.walk() if isinstance(op, quant.QuantOp)]


def activation_bounds(op: Operation) -> tuple[float | None, float | None]:
    """Return the real bounds (low, high) of the fused activation; None where open."""
    kind = text(op, "activation")
    if kind == "relu":
        return 0.0, None
    if kind == "relu6":
        return 0.0, 6.0
    if kind == "clip":
        return _bound(op, "activation_min"), _bound(op, "activation_max")
    return None, None


def _bound(op: Operation, name: str) -> float | None:
    attribute = op.properties.get(name)
    if not isinstance(attribute, FloatAttr):
        return None
    value = float(attribute.value.data)
    return value if abs(value) < 3.0e38 else None
