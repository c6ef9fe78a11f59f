"""Gives every quantized value of a new module its row."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant import ParamTable, quantized_values
from qbc.dialects.quant.base import text
from qbc.passes.quant.legality import UnionFind, is_movement, quant_ops, ties_at_creation

HEAD_ENCODING = ("i8", 1.0 / 255.0, -128)


def assign_rows(module: ModuleOp, method: int) -> None:
    """Add one row for each set of tied values, in program order, and fix the encodings of probability heads."""
    sets = UnionFind(quantized_values(module))
    for op in quant_ops(module):
        tied = ties_at_creation(op, method)
        if tied:
            sets.union(tied)
    table = ParamTable(module)
    for members in sets.groups().values():
        row = table.new_row()
        for value in members:
            table.assign(value, row)
        if _is_probability_head(members):
            table.set_encoding(row, *HEAD_ENCODING)
            row.properties["fixed"] = UnitAttr()


def _is_probability_head(members: Sequence[SSAValue]) -> bool:
    """Return whether all members are results of sigmoid or softmax, moved or not, and one of them leaves the graph."""
    sources = [value.owner for value in members if not _is_moved(value)]
    if not all(_is_probability(owner) for owner in sources):
        return False
    return any(isinstance(use.operation, quant.DequantizeOp) for value in members for use in value.uses)


def _is_moved(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, quant.ConcatOp) or (isinstance(owner, Operation) and is_movement(owner))


def _is_probability(owner: object) -> bool:
    if isinstance(owner, quant.SoftmaxOp):
        return True
    return isinstance(owner, quant.LutOp) and text(owner, "function") == "sigmoid"
