"""`npu-emit`: planned programs become packed records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from qbc.dialects.blob import BlobAttr, read_blob, write_blob
from qbc.dialects.npu import BufferOp, ConstantOp, HostTensorAttr, KernelOp, ProgramOp, ViewOp, buffer_root, value_type
from qbc.modes import CORE_MODES
from qbc.passes.base import CompileContext, pass_error, source_names
from qbc.passes.npu.programs import ProgramPass, commands, memory_sizes, root_buffer

if TYPE_CHECKING:
    from qbc.program import HostTensor, Operand, ProgramImage, ProgramWriter
    from qbc.store import BlobStore


@dataclass(frozen=True)
class NpuEmit(ProgramPass):
    """Pack a program whose buffers have addresses.

    The image goes to `ctx.report["images"][mode, variant]`; the program gets its bytes and the debug map as blobs:
    `attributes {code = #blob.ref<...>, debug = #blob.ref<...>}`.
    """

    name = "npu-emit"
    needs = ("npu.buffers",)

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        import numpy as np

        image = program_image(op, ctx.store)
        ctx.report.setdefault("images", {})[op.mode.data, op.variant.value.data] = image
        op.properties["code"] = write_blob(ctx.store, np.frombuffer(image.code, dtype=np.uint8))
        op.properties["debug"] = write_blob(ctx.store, np.frombuffer(image.debug, dtype=np.uint8))
        ctx.count("records", len(commands(op)))
        ctx.count("bytes", len(image.code))


def program_image(program: ProgramOp, store: BlobStore) -> ProgramImage:
    """Return the packed form of a planned program; raises VERIFY_ERROR when a buffer has no address."""
    return _Emitter(program, store).emit()


class _Emitter:
    def __init__(self, program: ProgramOp, store: BlobStore) -> None:
        from qbc.program import ProgramWriter

        self.program = program
        self.store = store
        self.writer: ProgramWriter = ProgramWriter(
            program.target.data, program.mode.data, program.variant.value.data, memory_sizes(program)
        )

    def emit(self) -> ProgramImage:
        program = self.program
        self.writer.inputs.extend(self._hosts(program.host_inputs, program.input_values))
        self.writer.outputs.extend(self._hosts(program.host_outputs, list(program.return_op.values)))
        views = _view_names(self.program)
        for command in commands(self.program):
            self._emit_command(command, views.get(command, ()))
        return self.writer.image()

    def _emit_command(self, command: KernelOp, view_names: Sequence[str]) -> None:
        from qbc.program import DebugRow

        constants = {name: self._blob(blob) for name, blob in command.call_constants().items()}
        self.writer.command(
            command.KIND,
            [self._operand(value) for value in command.inputs],
            self._operand(command.outs[0]),
            command.call_attributes(),
            constants,
            DebugRow(command.name, tuple(dict.fromkeys((*source_names(command), *view_names)))),
            command.core_number,
        )

    def _hosts(self, hosts: ArrayAttr[HostTensorAttr], values: Sequence[SSAValue]) -> list[HostTensor]:
        images = CORE_MODES[self.program.mode.data].images
        if len(values) != len(hosts) * images:
            raise pass_error(
                self.program, f"has no inputs and outputs of {images} images", hint="run npu-assign-core before it"
            )
        return [self._host(host, values[number :: len(hosts)]) for number, host in enumerate(hosts)]

    def _host(self, host: HostTensorAttr, images: Sequence[SSAValue]) -> HostTensor:
        from qbc.program import HostTensor

        first, *others = (self._operand(value) for value in images)
        return HostTensor(
            host.label.data,
            host.dtype.data,
            max(host.scales),
            host.zero_point.value.data,
            host.source_layout.data,
            first,
            tuple(other.address for other in others),
            host.scales if host.is_per_channel else (),
        )

    def _operand(self, value: SSAValue) -> Operand:
        from qbc.program import Operand

        tensor = value_type(value)
        root, offset = buffer_root(value)
        if isinstance(root, ConstantOp):
            return Operand("const", self._blob(root.value), tensor.shape, tensor.element)
        address, space = _place(root)
        return Operand(space, address + offset, tensor.shape, tensor.element)

    def _blob(self, blob: BlobAttr) -> int:
        from qbc.dialects.blob import BlobRefAttr

        reference = blob if isinstance(blob, BlobRefAttr) else write_blob(self.store, read_blob(self.store, blob))
        return self.writer.blob(reference.key.data, reference.dtype, reference.shape)


def _place(buffer: BufferOp) -> tuple[int, str]:
    if buffer.address is None or buffer.space is None:
        raise pass_error(buffer, "has no address", hint="run npu-assign-address before npu-emit")
    return buffer.address.value.data, buffer.space.data


def _view_names(program: ProgramOp) -> dict[KernelOp, list[str]]:
    """Return the source nodes that became views, by the command that writes their bytes, else reads them first."""
    writers = {root_buffer(command.outs[0]): command for command in commands(program)}
    readers: dict[SSAValue, KernelOp] = {}
    for command in commands(program):
        for value in command.inputs:
            readers.setdefault(value, command)
    names: dict[KernelOp, list[str]] = {}
    for view in program.body.block.ops:
        if not isinstance(view, ViewOp):
            continue
        owner = writers.get(root_buffer(view.buffer)) or readers.get(view.buffer)
        if owner is not None:
            names.setdefault(owner, []).extend(source_names(view))
    return names
