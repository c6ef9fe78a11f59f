"""What the framework passes share: constants in place of results, and the record of nodes that went away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qbc.dialects.framework import ConstantOp, tensor_attr
from qbc.passes.base import CompileContext, source_names
from qbc.passes.framework.inference import says_more

if TYPE_CHECKING:
    import numpy.typing as npt

NO_EVALUATION = frozenset({"DequantizeLinear", "QuantizeLinear", "DynamicQuantizeLinear"})


def record_removed(ctx: CompileContext, op: Operation, reason: str) -> None:
    """Note in `ctx.report["removed"]` why no operation stands for the source nodes of `op` and its bodies any more."""
    table = ctx.report.setdefault("removed", {})
    for inner in op.walk():
        if inner is op or not isinstance(inner, ConstantOp):
            table.update(dict.fromkeys(source_names(inner), reason))


def replace_with_constants(ctx: CompileContext, op: Operation, arrays: list[npt.NDArray[Any]], reason: str) -> None:
    """Replace all results of `op` by constants that keep its location, and erase it."""
    constants = []
    for array in arrays:
        constant = ConstantOp.of(tensor_attr(ctx.store, array))
        constant.location = op.location
        constants.append(constant)
    record_removed(ctx, op, reason)
    Rewriter.insert_op(constants, InsertPoint.before(op))
    Rewriter.replace_op(op, [], [constant.output for constant in constants])


def replace_with_value(ctx: CompileContext, op: Operation, value: SSAValue, reason: str) -> None:
    """Replace the only used result of `op` (the first) by an existing value and erase it; the more exact type stays."""
    record_removed(ctx, op, reason)
    kind = op.results[0].type
    if isinstance(value, OpResult) and says_more(kind, value.type):
        value = Rewriter.replace_value_with_new_type(value, kind)
    op.results[0].replace_all_uses_with(value)
    Rewriter.erase_op(op)
