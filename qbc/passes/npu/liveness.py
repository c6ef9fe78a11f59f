"""Lifetimes of buffers: the command that writes a buffer first and the one that reads it last."""

from __future__ import annotations

from qbc.algorithms.memory_plan import Interval
from qbc.dialects.npu import BufferOp, ProgramOp
from qbc.passes.npu.programs import buffers, commands, root_buffer


def lifetimes(program: ProgramOp, alignment_bytes: int) -> dict[BufferOp, Interval]:
    """Return the interval of each buffer, sizes rounded up to the alignment.

    Graph inputs live from before the first command on, graph outputs until after the last one.
    """
    order = commands(program)
    first: dict[BufferOp, int] = {}
    last: dict[BufferOp, int] = {}
    for position, command in enumerate(order):
        for value in (*command.outs, *command.inputs):
            buffer = root_buffer(value)
            if buffer is None:
                continue
            first.setdefault(buffer, position)
            last[buffer] = position
    for value in program.return_op.values:
        buffer = root_buffer(value)
        if buffer is not None:
            first.setdefault(buffer, -1)
            last[buffer] = len(order)
    intervals = {}
    for buffer in buffers(program):
        begin = -1 if buffer.input is not None else first.get(buffer, 0)
        size = -(-buffer.size.value.data // alignment_bytes) * alignment_bytes
        intervals[buffer] = Interval(begin, max(last.get(buffer, begin), begin), size)
    return intervals
