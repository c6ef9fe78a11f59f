"""`npu-assign-buffers`: from values to buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from qbc.dialects.npu import BufferOp, BufferType, ConstantOp, KernelOp, ProgramOp, ReturnOp, ViewOp, value_type
from qbc.dialects.npu.shape import ReshapeOp
from qbc.passes.base import CompileContext
from qbc.passes.npu.programs import ProgramPass


@dataclass(frozen=True)
class NpuAssignBuffers(ProgramPass):
    """Give every value a buffer; a reshape becomes a view of the buffer it reads.

    Before:
    ```mlir
    npu.program @main(%x: !npu.t<1x4xi8>) ... {
      %0 = npu.lut %x {...} : !npu.t<1x4xi8> -> !npu.t<1x4xi8>
      npu.return %0 : !npu.t<1x4xi8>
    }
    ```
    After:
    ```mlir
    npu.program @main ... {
      %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, input = 0} : !npu.buffer
      %0 = npu.buffer {type = !npu.t<1x4xi8>, size = 4} : !npu.buffer
      npu.lut ins(%x) outs(%0) {...}
      npu.return %0 : !npu.buffer
    }
    ```
    """

    name = "npu-assign-buffers"
    needs = ("npu.values",)

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        old = op.body.block
        builder = _Builder()
        for number, argument in enumerate(old.args):
            builder.add_buffer(argument, BufferOp.make(value_type(argument), input_number=number), None)
        for inner in old.ops:
            builder.convert(inner)
        region = Region(builder.finish())
        op.detach_region(op.regions[0]).erase()
        op.add_region(region)


class _Builder:
    def __init__(self) -> None:
        self.places: list[Operation] = []
        self.body: list[Operation] = []
        self.values: dict[SSAValue, SSAValue] = {}

    def add_buffer(self, value: SSAValue, buffer: BufferOp, source: Operation | None) -> None:
        if source is not None:
            buffer.location = source.location
        buffer.buffer.name_hint = value.name_hint or None
        self.places.append(buffer)
        self.values[value] = buffer.buffer

    def convert(self, op: Operation) -> None:
        if isinstance(op, ConstantOp):
            new = ConstantOp.build(properties={"value": op.value}, result_types=[BufferType()])
            new.location = op.location
            new.result.name_hint = op.result.name_hint or None
            self.places.append(new)
            self.values[op.result] = new.result
        elif isinstance(op, ReshapeOp):
            view = ViewOp.make(self.values[op.inputs[0]], value_type(op.output[0]))
            view.location = op.location
            view.buffer.name_hint = op.output[0].name_hint or None
            self.body.append(view)
            self.values[op.output[0]] = view.buffer
        elif isinstance(op, KernelOp):
            self.add_buffer(op.output[0], BufferOp.make(value_type(op.output[0])), op)
            properties = {name: value for name, value in op.properties.items() if name != "operandSegmentSizes"}
            inputs = [self.values[value] for value in op.inputs]
            command = type(op).build_buffer(inputs, self.values[op.output[0]], properties)
            command.location = op.location
            self.body.append(command)
        elif isinstance(op, ReturnOp):
            returned = ReturnOp.build(operands=[[self.values[value] for value in op.values]])
            returned.location = op.location
            self.body.append(returned)
        else:
            self.body.append(op.clone())

    def finish(self) -> Block:
        return Block([*self.places, *self.body])
