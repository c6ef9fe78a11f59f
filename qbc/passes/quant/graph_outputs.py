"""The values behind a graph output: what it shares its codes with, and what makes those codes."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant.base import text
from qbc.passes.quant.legality import quant_ops, tied_values


def output_values(module: ModuleOp) -> list[tuple[quant.DequantizeOp, SSAValue]]:
    """Return (dequantize, value) of every float graph output, in program order."""
    return [(op, op.operands[0]) for op in quant_ops(module) if isinstance(op, quant.DequantizeOp)]


def values_of_one_encoding(value: SSAValue) -> list[SSAValue]:
    """Return all values that must have the encoding of `value`, through any number of operations that move codes."""
    found: dict[SSAValue, None] = {value: None}
    pending = [value]
    while pending:
        current = pending.pop()
        around = [current.owner, *(use.operation for use in current.uses)]
        for op in (op for op in around if isinstance(op, Operation)):
            tied = tied_values(op)
            fresh = [other for other in tied if other not in found] if current in tied else []
            found.update(dict.fromkeys(fresh))
            pending.extend(fresh)
    return list(found)


def is_made_here(value: SSAValue) -> bool:
    """Return whether the codes of a value are computed by its own operation, not moved there."""
    return not isinstance(value.owner, Operation) or value not in tied_values(value.owner)


def inner_readers(values: list[SSAValue]) -> Iterator[Operation]:
    """Yield the operations inside the graph that read values of one encoding, beside those that only move codes."""
    for value in values:
        for use in value.uses:
            op = use.operation
            if not isinstance(op, quant.DequantizeOp) and value not in tied_values(op):
                yield op


def is_probability(op: object) -> bool:
    """Return whether an operation makes numbers from 0 to 1: a softmax, or a sigmoid that nothing was folded into."""
    if isinstance(op, quant.SoftmaxOp):
        return True
    if not isinstance(op, quant.LutOp) or text(op, "function") != "sigmoid":
        return False
    return not {"gain", "offset"} & set(op.properties)
