"""What a decoded program is made of: plain data, no arithmetic and no IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from qbc.errors import QBCompilerError
from qbc.modes import CORE_MODES
from qbc.program.opcodes import ELEMENT_BYTES

AttributeValue = int | str | tuple[int, ...]

MAX_RANK = 8
MAX_ELEMENTS = 1 << 40


@dataclass(frozen=True)
class Operand:
    """A tensor in a memory space: byte address (blob index in space `const`), shape and element type."""

    space: str
    address: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the stored codes."""
        return self.size * ELEMENT_BYTES[self.dtype]


@dataclass(frozen=True)
class Command:
    """One operation: inputs, output, integer attributes, constants as indices of the blob table, debug row, core."""

    kind: str
    inputs: tuple[Operand, ...]
    output: Operand
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    debug: int = 0
    core: int = 0


@dataclass(frozen=True)
class Blob:
    """A constant array in the blob store."""

    key: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class HostTensor:
    """A graph input or output as the host sees it, and where its codes lie.

    `dtype` is `f32` (converted with scale and zero point at the boundary), `u8` (an input whose bytes are stored as
    they are) or `i32` (passed unchanged). A program that takes several images has the codes of the first at `operand`,
    those of the others at the addresses `copies`. An output whose channels (of the last axis) have scales of their own
    lists them in `channel_scales`; `scale` is the largest of them.
    """

    name: str
    dtype: str
    scale: float
    zero_point: int
    source_layout: str
    operand: Operand
    copies: tuple[int, ...] = ()
    channel_scales: tuple[float, ...] = ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Where the codes of each image lie."""
        return (self.operand, *(replace(self.operand, address=address) for address in self.copies))


@dataclass(frozen=True)
class Program:
    """One program: a target, mode and variant, arena sizes, host tensors, constants and commands.

    Commands are in program order. One that reads or overwrites what another core wrote or read waits for it; apart
    from that the cores run on their own.
    """

    target: str
    mode: str
    variant: int
    arenas: Mapping[str, int]
    inputs: tuple[HostTensor, ...]
    outputs: tuple[HostTensor, ...]
    blobs: tuple[Blob, ...]
    commands: tuple[Command, ...]

    @property
    def images(self) -> int:
        """Number of images of one run."""
        return CORE_MODES[self.mode].images

    @property
    def cores(self) -> int:
        """Number of cores that the program is for."""
        return CORE_MODES[self.mode].cores


def invalid_program(message: str) -> QBCompilerError:
    """Return the error of a damaged program section."""
    return QBCompilerError(
        f"the program section is damaged: {message}",
        code="INVALID_SNAPSHOT",
        hint="build the file again from its source",
    )
