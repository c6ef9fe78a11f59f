"""What the `npu` passes share: the pass base, the target, and walks over the commands of a program."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from qbc.dialects.npu import BufferOp, KernelOp, ProgramOp, buffer_root
from qbc.modes import CORE_MODES
from qbc.passes.base import CompileContext, Pass

if TYPE_CHECKING:
    from qbc.targets import Target


class ProgramPass(Pass):
    """A pass over one `npu.program`."""

    anchor = "npu.program"
    needs = ("npu",)

    @abstractmethod
    def run(self, op: ProgramOp, ctx: CompileContext) -> None: ...


def target_of(ctx: CompileContext) -> Target:
    """Return the chosen target, or the default one with a notice."""
    if ctx.target is None:
        from qbc.targets import DEFAULT_TARGET, load_target

        ctx.target = load_target(DEFAULT_TARGET)
        ctx.notice(f"no target device was chosen: {DEFAULT_TARGET} is taken")
    target: Target = ctx.target
    return target


def memory_bytes(target: Target, mode: str) -> dict[str, int]:
    """Return the bytes that a program may plan with.

    A core has its share of the cluster's `l2`, because its neighbours run too; a program on several cores has theirs
    together. One on two clusters has the `l2` of one: both hold the same bytes, every write goes to both.
    """
    per_cluster = target.topology.cores_per_cluster
    share = target.l2.bytes // per_cluster
    return {"l2": share * min(CORE_MODES[mode].cores, per_cluster), "dram": target.dram.bytes}


def commands(program: ProgramOp) -> list[KernelOp]:
    """Return the computing ops in order."""
    return [op for op in program.body.block.ops if isinstance(op, KernelOp)]


def buffers(program: ProgramOp) -> list[BufferOp]:
    """Return the buffers in order."""
    return [op for op in program.body.block.ops if isinstance(op, BufferOp)]


def root_buffer(value: SSAValue) -> BufferOp | None:
    """Return the buffer behind a buffer value, or None for a constant."""
    root, _ = buffer_root(value)
    return root if isinstance(root, BufferOp) else None


def memory_sizes(program: ProgramOp) -> dict[str, int]:
    """Return the bytes of each memory space up to the end of its last placed buffer."""
    sizes: dict[str, int] = {}
    for buffer in buffers(program):
        if buffer.space is not None and buffer.address is not None:
            space, end = buffer.space.data, buffer.address.value.data + buffer.size.value.data
            sizes[space] = max(sizes.get(space, 0), end)
    return sizes
