"""`npu-verify-plan`: prove that the memory plan of a program is sound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Operation

from qbc.dialects.npu import BufferOp, KernelOp, ProgramOp
from qbc.dialects.npu.convolution import AccumulateOp
from qbc.modes import CORE_MODES
from qbc.passes.base import CompileContext, VerificationError, Violation, source_names
from qbc.passes.npu.programs import ProgramPass, buffers, commands, memory_bytes, root_buffer, target_of


@dataclass(frozen=True)
class NpuVerifyPlan(ProgramPass):
    """Check a planned program by following who owns which bytes; all violations are listed in one RESOURCE_ERROR.

    - V1: no command writes bytes that another buffer still needs, or that the command itself reads.
    - V2: every buffer lies inside its memory, at an aligned address.
    - V3: no command or output reads a buffer that nothing has written, or only some channels of it.
    - V4: every channel of every buffer is written exactly once; graph inputs are written by the host only.
    - V7: the target allows the core mode.
    - V12: graph inputs are numbered 0, 1, ... in the order of the source, image after image.
    - V13: the core of every command is one of the core mode.
    - V14: where each core has its own image, a buffer is used by one core, and its bytes by no other one.

    The program is not changed.
    """

    name = "npu-verify-plan"
    needs = ("npu.buffers",)

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        target = target_of(ctx)
        problems = list(_interface(op, target.modes))
        problems += _places(op, memory_bytes(target, op.mode.data), target.align.buffer_bytes)
        problems += _cores(op)
        if not problems:
            problems = _Ownership(op).follow()
        if problems:
            subject = f"the memory plan of @{op.sym_name.data} is not sound"
            raise VerificationError(problems, code="RESOURCE_ERROR", subject=subject)


def _problem(op: Operation, message: str) -> Violation:
    return Violation(op, message, is_sentence=True)


def _interface(program: ProgramOp, modes: tuple[str, ...]) -> Iterator[Violation]:
    if program.mode.data not in modes:
        yield _problem(program, f"V7: the target has no core mode {program.mode.data!r}")
    numbers = [buffer.input_number for buffer in buffers(program) if buffer.input is not None]
    if sorted(numbers) != list(range(len(program.host_inputs) * CORE_MODES[program.mode.data].images)):
        yield _problem(program, f"V12: graph inputs are numbered {numbers}")


def _places(program: ProgramOp, capacities: dict[str, int], alignment: int) -> Iterator[Violation]:
    for buffer in buffers(program):
        if buffer.space is None or buffer.address is None:
            yield _problem(buffer, f"V2: {_name(buffer)} has no address")
            continue
        address, space = buffer.address.value.data, buffer.space.data
        end = address + buffer.size.value.data
        if end > capacities[space]:
            yield _problem(buffer, f"V2: {_name(buffer)} ends at {end}, {space} has {capacities[space]} bytes")
        if address % alignment:
            yield _problem(buffer, f"V2: {_name(buffer)} is at {address}, not a multiple of {alignment}")


def _cores(program: ProgramOp) -> Iterator[Violation]:
    mode = CORE_MODES[program.mode.data]
    owners: dict[BufferOp, int] = {}
    for command in commands(program):
        core = command.core_number
        if core >= mode.cores:
            yield _problem(
                command, f"V13: {_command_name(command)} is on core {core}, mode {mode.name} has {mode.cores}"
            )
        if mode.images == 1:
            continue
        for value in (*command.inputs, *command.outs):
            buffer = root_buffer(value)
            if buffer is not None and owners.setdefault(buffer, core) != core:
                yield _problem(
                    command,
                    f"V14: {_command_name(command)} on core {core} uses {_name(buffer)} of core {owners[buffer]}",
                )
    yield from _shared_bytes(owners)


def _shared_bytes(owners: dict[BufferOp, int]) -> Iterator[Violation]:
    placed = [buffer for buffer in owners if buffer.space is not None and buffer.address is not None]
    placed.sort(key=_first_byte)
    ends: dict[tuple[str, int], tuple[int, BufferOp]] = {}  # by space and core: the last byte so far and its buffer
    for buffer in placed:
        (space, start), core = _first_byte(buffer), owners[buffer]
        for (other_space, other), (end, neighbour) in ends.items():
            if other_space == space and other != core and end > start:
                yield _problem(
                    buffer, f"V14: {_name(buffer)} of core {core} overlaps {_name(neighbour)} of core {other}"
                )
        end = start + buffer.size.value.data
        if end > ends.get((space, core), (0, buffer))[0]:
            ends[space, core] = (end, buffer)


def _first_byte(buffer: BufferOp) -> tuple[str, int]:
    assert buffer.space is not None and buffer.address is not None
    return buffer.space.data, buffer.address.value.data


def _name(op: Operation) -> str:
    names = "/".join(source_names(op))
    if isinstance(op, BufferOp) and op.input is not None:
        return f"graph input {op.input_number}"
    return f"the buffer of {names or 'an unnamed op'}"


@dataclass
class _Ownership:
    """Runs the program on owners instead of data."""

    program: ProgramOp
    written: dict[BufferOp, KernelOp | None] = field(default_factory=dict)  # valid buffers and who wrote them
    lost: dict[BufferOp, KernelOp] = field(default_factory=dict)  # overwritten buffers and who did it
    blocks: dict[BufferOp, list[tuple[int, int]]] = field(default_factory=dict)  # channels of buffers written in parts
    problems: list[Violation] = field(default_factory=list)

    def follow(self) -> list[Violation]:
        for buffer in buffers(self.program):
            if buffer.input is not None:
                self._overwrite(buffer, None)
                self.written[buffer] = None
        for command in commands(self.program):
            sources = [root for root in (root_buffer(value) for value in command.inputs) if root is not None]
            for source in sources:
                self._read(source, command, _command_name(command))
            self._write(command, sources)
        hosts = self.program.host_outputs.data
        for number, value in enumerate(self.program.return_op.values):
            host = hosts[number % len(hosts)]
            root = root_buffer(value)
            if root is not None:
                self._read(root, self.program.return_op, f"graph output {host.label.data!r}")
        return self.problems

    def _note(self, op: Operation, message: str) -> None:
        self.problems.append(_problem(op, message))

    def _read(self, buffer: BufferOp, op: Operation, reader: str) -> None:
        if buffer in self.lost:
            culprit = _command_name(self.lost[buffer])
            self._note(op, f"V1: {culprit} overwrites {_name(buffer)} before {reader} reads it")
        elif buffer not in self.written:
            self._note(op, f"V3: {reader} reads {_name(buffer)}, which nothing has written")
        elif buffer in self.blocks and _gap(self.blocks[buffer], buffer.type.shape[-1]) is not None:
            channel = _gap(self.blocks[buffer], buffer.type.shape[-1])
            self._note(op, f"V3: {reader} reads channel {channel} of {_name(buffer)}, which nothing has written")

    def _write(self, command: KernelOp, sources: list[BufferOp]) -> None:
        owner = command.outs[0].owner
        name = _command_name(command)
        if not isinstance(owner, BufferOp):
            self._note(command, f"V4: {name} writes to a view or a constant, not to a whole buffer")
            return
        if owner.input is not None:
            self._note(command, f"V4: {name} writes to graph input {owner.input_number}")
        elif self._is_written(owner, command):
            self._note(command, f"V4: {name} writes {_name(owner)} a second time")
        for source in sources:
            if source is not owner and _overlap(source, owner):
                self._note(command, f"V1: {name} writes over {_name(source)} while it reads it")
        self._overwrite(owner, command)
        self.written[owner] = command

    def _is_written(self, owner: BufferOp, command: KernelOp) -> bool:
        """Return whether something has written the channels of the command before, and note them."""
        block = command.block if isinstance(command, AccumulateOp) and command.channels is not None else None
        if owner not in self.written and owner not in self.lost:
            if block is not None:
                self.blocks[owner] = [block]
            return False
        written = self.blocks.get(owner)
        if written is None or block is None or owner in self.lost:
            return True
        written.append(block)
        return any(block[0] < end and begin < block[1] for begin, end in written[:-1])

    def _overwrite(self, owner: BufferOp, command: KernelOp | None) -> None:
        for other in [buffer for buffer in self.written if buffer is not owner and _overlap(buffer, owner)]:
            del self.written[other]
            if command is not None:
                self.lost[other] = command
            else:
                self._note(owner, f"V1: {_name(owner)} and {_name(other)} overlap")


def _gap(blocks: list[tuple[int, int]], channels: int) -> int | None:
    """Return the first channel that no block covers."""
    position = 0
    for begin, end in sorted(blocks):
        if begin > position:
            return position
        position = max(position, end)
    return position if position < channels else None


def _command_name(command: KernelOp) -> str:
    names = "/".join(source_names(command))
    return f"{command.name} of {names}" if names else command.name


def _overlap(a: BufferOp, b: BufferOp) -> bool:
    if a.space != b.space or a.address is None or b.address is None:
        return False
    first, second = a.address.value.data, b.address.value.data
    return first < second + b.size.value.data and second < first + a.size.value.data
