"""`npu-assign-order`: a topological order with a small peak of live bytes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from qbc.algorithms.memory_plan import greedy_order, peak_of_order
from qbc.dialects.npu import ConstantOp, KernelOp, ProgramOp, value_type
from qbc.dialects.npu.shape import ReshapeOp
from qbc.passes.base import CompileContext
from qbc.passes.npu.programs import ProgramPass, commands


@dataclass(frozen=True)
class NpuAssignOrder(ProgramPass):
    """Move commands into the order that a greedy search for a small peak of live bytes finds, and number them.

    A reshape shares the bytes of its input. The source order stays where the search does not beat it.

    Before: commands in source order. After: the same commands, each with `order = i`, `i` its position.
    """

    name = "npu-assign-order"
    needs = ("npu.values",)

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        ops = commands(op)
        sizes, reads, kept = _dataflow(op, ops)
        source = list(range(len(ops)))
        order = greedy_order(sizes, reads, kept)
        if peak_of_order(source, sizes, reads, kept) <= peak_of_order(order, sizes, reads, kept):
            order = source
        if order != source:
            ctx.count("moved", sum(a != b for a, b in zip(order, source, strict=True)))
            _move(op, [ops[index] for index in order])
        for position, index in enumerate(order):
            ops[index].properties["order"] = IntegerAttr(position, i64)


def _dataflow(program: ProgramOp, ops: list[KernelOp]) -> tuple[list[int], list[list[int]], set[int]]:
    """Return, per command, the bytes of its output and the commands it reads, and the commands that the host reads."""
    number: dict[SSAValue, int] = {op.output[0]: index for index, op in enumerate(ops)}
    sizes = [0 if isinstance(op, ReshapeOp) else value_type(op.output[0]).nbytes for op in ops]
    reads = [[number[value] for value in op.inputs if value in number] for op in ops]
    kept = {number[value] for value in program.return_op.values if value in number}
    return sizes, reads, kept


def _move(program: ProgramOp, ordered: list[KernelOp]) -> None:
    block = program.body.block
    constants = [op for op in block.ops if isinstance(op, ConstantOp)]
    terminator = program.return_op
    for op in (*constants, *ordered, terminator):
        block.detach_op(op)
    block.add_ops([*constants, *ordered, terminator])
