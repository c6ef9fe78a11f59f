"""What an `.mxq` runs: packed records with host descriptors and a blob table; encode, decode, disassemble."""

from qbc.program.disassembly import assemble, disassemble
from qbc.program.image import decode_program, encode_program
from qbc.program.model import Blob, Command, HostTensor, Operand, Program
from qbc.program.sections import debug_section, program_section
from qbc.program.writer import DebugRow, ProgramImage, ProgramWriter, decode_debug

__all__ = [
    "Blob",
    "Command",
    "DebugRow",
    "HostTensor",
    "Operand",
    "Program",
    "ProgramImage",
    "ProgramWriter",
    "assemble",
    "debug_section",
    "decode_debug",
    "decode_program",
    "disassemble",
    "encode_program",
    "program_section",
]
