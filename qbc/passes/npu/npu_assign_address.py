"""`npu-assign-address`: a static memory plan of whole buffers, on chip where they fit."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64

from qbc.algorithms.memory_plan import Interval, Plan, peak_live, plan_addresses
from qbc.dialects.npu import BufferOp, ProgramOp
from qbc.errors import QBCompilerError
from qbc.modes import CORE_MODES
from qbc.passes.base import CompileContext, source_names
from qbc.passes.npu.liveness import lifetimes
from qbc.passes.npu.programs import ProgramPass, memory_bytes, root_buffer, target_of


@dataclass(frozen=True)
class NpuAssignAddress(ProgramPass):
    """Give every buffer a space and an address.

    Graph inputs and outputs lie in DRAM, where the host finds them. All others lie in the on-chip memory `l2` as far as
    they fit into the share of the cores that compute an image: while the plan is too large, the buffer with most bytes
    times lifetime among those alive at the peak moves to DRAM. Addresses come from five first-fit orders, the smallest
    plan is kept; too little DRAM is a RESOURCE_ERROR.

    Before: `npu.buffer {type = !npu.t<1x4xi8>, size = 4}`, after:
    `npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "l2", address = 0}`.
    """

    name = "npu-assign-address"
    needs = ("npu.buffers",)
    on_chip: bool = True

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        target = target_of(ctx)
        intervals = lifetimes(op, target.align.buffer_bytes)
        host = {root_buffer(value) for value in (*op.input_values, *op.return_op.values)}
        images = CORE_MODES[op.mode.data].images
        memory = {space: size // images for space, size in memory_bytes(target, op.mode.data).items()}
        capacity = memory["l2"] if self.on_chip else 0
        chip = [buffer for buffer in intervals if buffer not in host and intervals[buffer].size <= capacity]
        chip, plan = _fit(chip, intervals, capacity)
        on_chip = set(chip)
        rest = [buffer for buffer in intervals if buffer not in on_chip]
        dram = plan_addresses([intervals[buffer] for buffer in rest])
        if dram.size > memory["dram"]:
            raise _too_large(rest, intervals, dram.size, memory["dram"])
        for space, placed, addresses in (("l2", chip, plan.addresses), ("dram", rest, dram.addresses)):
            for buffer, address in zip(placed, addresses, strict=True):
                buffer.properties["space"] = StringAttr(space)
                buffer.properties["address"] = IntegerAttr(address, i64)
        sizes = {"l2": plan.size, "dram": dram.size, "l2_peak_live": peak_live([intervals[b] for b in chip])[0]}
        ctx.report.setdefault("memory", {})[op.sym_name.data] = sizes
        ctx.count("on_chip", len(chip))
        ctx.count("dram", len(rest))


def _fit(chip: list[BufferOp], intervals: dict[BufferOp, Interval], capacity: int) -> tuple[list[BufferOp], Plan]:
    """Return the buffers that stay on chip and their plan."""
    while True:
        live = [intervals[buffer] for buffer in chip]
        bound, position = peak_live(live)
        if bound <= capacity:
            plan = plan_addresses(live)
            if plan.size <= capacity:
                return chip, plan
        victim = max(
            (buffer for buffer in chip if intervals[buffer].first <= position <= intervals[buffer].last),
            key=lambda buffer: intervals[buffer].size * (intervals[buffer].last - intervals[buffer].first + 1),
        )
        chip = [buffer for buffer in chip if buffer is not victim]


def _too_large(
    placed: list[BufferOp], intervals: dict[BufferOp, Interval], needed: int, available: int
) -> QBCompilerError:
    _, position = peak_live([intervals[buffer] for buffer in placed])
    alive = [buffer for buffer in placed if intervals[buffer].first <= position <= intervals[buffer].last]
    alive.sort(key=lambda buffer: -intervals[buffer].size)
    names = ", ".join(f"{'/'.join(source_names(b)) or 'input'} ({intervals[b].size} bytes)" for b in alive[:8])
    return QBCompilerError(
        f"the buffers need {needed} bytes of DRAM, the target has {available}; alive at the peak: {names}",
        code="RESOURCE_ERROR",
        hint="compile a smaller input size",
    )
