"""`npu-assign-core`: distribute the commands of a program over the cores of its mode."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from qbc.dialects.common.properties import int_list
from qbc.dialects.npu import BufferOp, ConstantOp, KernelOp, ProgramOp, ReturnOp
from qbc.dialects.npu.convolution import AccumulateOp
from qbc.errors import QBCompilerError
from qbc.modes import CORE_MODES
from qbc.passes.base import CompileContext
from qbc.passes.npu.programs import ProgramPass, buffers, commands, memory_sizes, target_of


@dataclass(frozen=True)
class NpuAssignCore(ProgramPass):
    """Give every command a core.

    - `single`: nothing changes, everything runs on core 0.
    - `global4`, `global8`: convolutions and linear layers become one command for each core, which computes a block of
      output channels of the shared buffer. Where there are enough channels, blocks are multiples of what the MAC array
      computes at once; with groups they are whole groups. All other commands run on core 0.
    - `multi`: the program is repeated for four images, image i on core i with its own memory, planned as that of the
      first one; constants are shared.

    Before (global4, 64 channels): `npu.conv2d ins(%x) outs(%y) {...}`. After:
    ```mlir
    npu.conv2d ins(%x) outs(%y) {..., channels = [0, 16], core = 0}
    npu.conv2d ins(%x) outs(%y) {..., channels = [16, 32], core = 1}
    npu.conv2d ins(%x) outs(%y) {..., channels = [32, 48], core = 2}
    npu.conv2d ins(%x) outs(%y) {..., channels = [48, 64], core = 3}
    ```
    """

    name = "npu-assign-core"
    needs = ("npu.buffers",)

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        mode = CORE_MODES[op.mode.data]
        if mode.cores == 1:
            return
        if op.body.block.args or any(buffer.address is None for buffer in buffers(op)):
            raise QBCompilerError(
                "npu-assign-core works on buffers with addresses",
                code="PIPELINE_ERROR",
                hint="run npu-assign-buffers and npu-assign-address before it",
            )
        if any("core" in command.properties for command in commands(op)):
            raise QBCompilerError(f"the program @{op.sym_name.data} has its cores already", code="PIPELINE_ERROR")
        if mode.images > 1:
            _repeat(op, mode.images, target_of(ctx).align.buffer_bytes)
            ctx.count("images", mode.images)
            return
        for command in commands(op):
            blocks = _blocks(command, mode.cores, target_of(ctx).align.channels)
            _distribute(command, blocks)
            ctx.count("split", int(len(blocks) > 1))


# --- one image on several cores ---


def _blocks(command: KernelOp, cores: int, alignment: int) -> list[tuple[int, int]]:
    """Return the blocks of output channels, one for each core that gets work; empty for commands without blocks."""
    if not isinstance(command, AccumulateOp):
        return []
    channels = command.output_type.shape[-1]
    unit = command.outputs_per_group
    if channels >= cores * alignment:
        unit *= -(-alignment // unit)
    units = -(-channels // unit)
    edges = [min(-(-units * core // cores) * unit, channels) for core in range(cores + 1)]
    return [(begin, end) for begin, end in zip(edges, edges[1:], strict=False) if begin < end]


def _distribute(command: KernelOp, blocks: list[tuple[int, int]]) -> None:
    if len(blocks) < 2:
        command.properties["core"] = IntegerAttr(0, i64)
        return
    parts = []
    for core, block in enumerate(blocks):
        part = command.clone()
        part.properties |= {"channels": int_list(list(block)), "core": IntegerAttr(core, i64)}
        parts.append(part)
    Rewriter.replace_op(command, parts, [])


# --- several images ---


def _repeat(program: ProgramOp, images: int, alignment: int) -> None:
    """Repeat everything but constants for each image, command by command."""
    values: list[dict[SSAValue, SSAValue]] = [{} for _ in range(images)]
    inputs = sum(buffer.input is not None for buffer in buffers(program))
    strides = {space: -(-size // alignment) * alignment for space, size in memory_sizes(program).items()}
    old = program.body.block
    repeated: list[Operation] = []
    for op in old.ops:
        if isinstance(op, ConstantOp):
            shared = op.clone()
            repeated.append(shared)
            for table in values:
                table[op.result] = shared.result
        elif isinstance(op, ReturnOp):
            returned = ReturnOp.build(operands=[[table[value] for table in values for value in op.values]])
            returned.location = op.location
            repeated.append(returned)
        else:
            copies = [op.clone(table) for table in values]
            for image, copy in enumerate(copies):
                _give_to(image, copy, inputs, strides)
            repeated.extend(copies)
    region = Region(Block(repeated))
    program.detach_region(program.regions[0]).erase()
    program.add_region(region)


def _give_to(image: int, copy: Operation, inputs: int, strides: dict[str, int]) -> None:
    """Give a command or a buffer to the core of an image."""
    if isinstance(copy, KernelOp):
        copy.properties["core"] = IntegerAttr(image, i64)
    if not isinstance(copy, BufferOp):
        return
    if copy.input is not None:
        copy.properties["input"] = IntegerAttr(image * inputs + copy.input_number, i64)
    if copy.space is not None and copy.address is not None:
        address = copy.address.value.data + image * strides[copy.space.data]
        copy.properties["address"] = IntegerAttr(address, i64)
