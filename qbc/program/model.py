"""What a decoded program is made of: plain data, no arithmetic and no IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qbc.errors import QBCompilerError
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
    """One operation: inputs, output, integer attributes, constants as indices of the blob table, debug row."""

    kind: str
    inputs: tuple[Operand, ...]
    output: Operand
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    debug: int = 0


@dataclass(frozen=True)
class Blob:
    """A constant array in the blob store."""

    key: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class HostTensor:
    """A graph input or output as the host sees it, and where its codes lie.

    `dtype` is `f32` (converted with scale and zero point at the boundary) or `i32` (passed unchanged).
    """

    name: str
    dtype: str
    scale: float
    zero_point: int
    source_layout: str
    operand: Operand


@dataclass(frozen=True)
class Program:
    """One program: a target, mode and variant, arena sizes, host tensors, constants and commands."""

    target: str
    mode: str
    variant: int
    arenas: Mapping[str, int]
    inputs: tuple[HostTensor, ...]
    outputs: tuple[HostTensor, ...]
    blobs: tuple[Blob, ...]
    commands: tuple[Command, ...]


def invalid_program(message: str) -> QBCompilerError:
    """Return the error of a damaged program section."""
    return QBCompilerError(
        f"the program section is damaged: {message}",
        code="INVALID_SNAPSHOT",
        hint="build the file again from its source",
    )
