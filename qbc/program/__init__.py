"""What an `.mxq` runs: packed records with host descriptors and a blob table; encode, decode, disassemble."""

from qbc.program.disassembly import assemble, disassemble
from qbc.program.image import decode_program, encode_program
from qbc.program.model import Blob, Command, HostTensor, Operand, Program
from qbc.program.package import Package, package_sections, read_package
from qbc.program.writer import DebugRow, ProgramImage, ProgramWriter, decode_debug

__all__ = [
    "Blob",
    "Command",
    "DebugRow",
    "HostTensor",
    "Operand",
    "Package",
    "Program",
    "ProgramImage",
    "ProgramWriter",
    "assemble",
    "decode_debug",
    "decode_program",
    "disassemble",
    "encode_program",
    "package_sections",
    "read_package",
]
