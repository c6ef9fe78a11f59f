"""Gives every quantized value of a new module its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qbc.algorithms.disjoint_sets import DisjointSets
from qbc.dialects import quant
from qbc.dialects.common.graph import division_factor
from qbc.dialects.quant import ParamTable, quantized_element, quantized_values
from qbc.dialects.quant.base import text
from qbc.passes.quant.graph_outputs import is_probability
from qbc.passes.quant.legality import SHARED_BY_MOVEMENT, is_movement, quant_ops, ties_at_creation

HEAD_ENCODING = ("i8", 1.0 / 255.0, -128)


def assign_rows(module: ModuleOp, method: int) -> None:
    """Add one row for each set of tied values, in program order, and fix encodings that need no calibration.

    Those are the encodings of uint8 inputs, of pixels interpolated between their pixels, and of probability heads.
    """
    groups = _tied_sets(module, method)
    separated = [_separate_bytes(members) for members in groups]
    if any(separated):
        groups = _tied_sets(module, method)
    table = ParamTable(module)
    for members in groups:
        row = table.new_row()
        for value in members:
            table.assign(value, row)
        encoding = _byte_encoding(members) or (HEAD_ENCODING if _is_probability_head(members) else None)
        if encoding is not None:
            table.set_encoding(row, *encoding)
            row.properties["fixed"] = UnitAttr()


def _tied_sets(module: ModuleOp, method: int) -> list[list[SSAValue]]:
    sets = DisjointSets(quantized_values(module))
    for op in quant_ops(module):
        tied = ties_at_creation(op, method)
        if tied:
            sets.union(tied)
        if _interpolates_bytes(op):
            sets.union((op.operands[0], op.results[0]))
    return list(sets.groups().values())


def _byte_encoding(members: Sequence[SSAValue]) -> tuple[str, float, int] | None:
    """Return the encoding that a uint8 graph input among the members dictates: the code is the byte minus 128."""
    factors = {factor for value in members if (factor := _byte_factor(value)) is not None}
    return ("i8", 1.0 / factors.pop(), -128) if factors else None


def _byte_factor(value: SSAValue) -> float | None:
    """Return the division factor where a value is a uint8 graph input that was just quantized."""
    if not isinstance(value.owner, quant.QuantizeOp):
        return None
    argument = value.owner.operands[0]
    if not isinstance(argument, BlockArgument) or not isinstance(function := argument.owner.parent_op(), FuncOp):
        return None
    return division_factor(function, argument.index)


def _interpolates_bytes(op: object) -> bool:
    """Return whether `op` takes pixels between the pixels of a uint8 input: they are bytes again, to half a level."""
    if not _is_linear_resize(op):
        return False
    source = cast("Operation", op).operands[0]
    while isinstance(owner := source.owner, SHARED_BY_MOVEMENT) or _is_linear_resize(owner):
        source = cast("Operation", owner).operands[0]
    return _byte_factor(source) is not None


def _is_linear_resize(op: object) -> bool:
    return isinstance(op, quant.ResizeOp) and text(op, "mode") == "linear"


def _separate_bytes(members: Sequence[SSAValue]) -> bool:
    """Put a requantize behind uint8 inputs that are tied to values of another origin; return whether there were any."""
    bytes_ = [value for value in members if _byte_factor(value) is not None]
    others = [v for v in members if v not in bytes_ and not _is_moved(v) and not _interpolates_bytes(v.owner)]
    if not bytes_ or (not others and len({_byte_factor(value) for value in bytes_}) == 1):
        return False
    for value in bytes_:
        quantize = cast("quant.QuantizeOp", value.owner)
        copy = quant.RequantizeOp.make([value], value.type, {}, quantize.location)
        value.replace_all_uses_with(copy.results[0])
        copy.operands[0] = value
        Rewriter.insert_op(copy, InsertPoint.after(quantize))
    return True


def _is_probability_head(members: Sequence[SSAValue]) -> bool:
    """Return whether all members are results of sigmoid or softmax, moved or not, and one of them leaves the graph."""
    if not any(isinstance(use.operation, quant.DequantizeOp) for value in members for use in value.uses):
        return False
    return all(is_probability(owner) for owner in _sources(members))


def _sources(members: Sequence[SSAValue]) -> list[Operation | Block]:
    """Return what makes the values, behind data movement also where that reads other rows (a concatenation may)."""
    pending = list(members)
    seen = set(pending)
    found: list[Operation | Block] = []
    while pending:
        value = pending.pop()
        owner = value.owner
        if not isinstance(owner, Operation) or not _is_moved(value):
            found.append(owner)
            continue
        before = [operand for operand in owner.operands if quantized_element(operand) and operand not in seen]
        seen.update(before)
        pending.extend(before)
    return found


def _is_moved(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, quant.ConcatOp) or (isinstance(owner, Operation) and is_movement(owner))
