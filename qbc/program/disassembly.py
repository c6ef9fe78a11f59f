"""Text of a program: `disassemble` and its inverse `assemble` (identical bytes after a round trip).

```
program "aries-rb" single variant 0
arena dram 640
blob 0 9f2c... int8 2x3x3x2
input "image" f32 0x1.0000000000000p-7 : -1 "nchw" = dram[0x0:1x4x4x2xi8]
output "logits" f32 0x1.0000000000000p-3 : 0 "" = dram[0x40:1x4x4x2xi8]
0000 conv2d dram[0x40:1x4x4x2xi8] = dram[0x0:1x4x4x2xi8] {strides=[1,1], zx=-1, plane=full, weight=#0} ; 0
```
Blobs print as `#index`, addresses in hexadecimal; the number after `;` is the debug row. An output whose channels have
scales of their own lists them (`f32 0x1.0p-3,0x1.8p-4 : 0`). Programs for several cores
name the core (`c2.conv2d`), those for several images the addresses of the further ones (`copies 0x80,0x100,0x180`).
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qbc.errors import QBCompilerError
from qbc.modes import MODE_NAMES, SINGLE
from qbc.program.image import encode_program
from qbc.program.model import AttributeValue, Blob, Command, HostTensor, Operand, Program
from qbc.program.writer import DebugRow

_STRING = r'"(?:[^"\\]|\\.)*"'
_OPERAND = re.compile(r"(const|dram|l2)\[0x([0-9a-f]+):((?:\d+x)*)(i8|i16|i32)\]")
_PROGRAM = re.compile(rf"program ({_STRING}) ({'|'.join(MODE_NAMES)}) variant (\d+)")
_ARENA = re.compile(r"arena (\w+) (\d+)")
_BLOB = re.compile(r"blob \d+ ([0-9a-f]{32}) (int\d+) ((?:\d+x)*\d+|scalar)")
_HOST = re.compile(rf"(input|output) ({_STRING}) (f32|i32|u8) (\S+) : (-?\d+) ({_STRING}) = (\S+)(?: copies (\S+))?")
_RECORD = re.compile(r"[0-9a-f]{4,} (?:c(\d+)\.)?(\w+) (\S+) = ([^{]*) \{(.*)\} ; (\d+)(?: // .*)?")
_ENTRY = re.compile(r"(\w+)=(\[[^\]]*\]|[^,\[]+)(?:, |$)")
_EMPTY = Program("", SINGLE, 0, {}, (), (), (), ())


def disassemble(program: Program, debug: tuple[DebugRow, ...] = ()) -> str:
    """Return the text of a program; with the debug map, the source nodes of each record follow as a comment."""
    lines = [f"program {json.dumps(program.target)} {program.mode} variant {program.variant}"]
    lines += [f"arena {space} {program.arenas[space]}" for space in sorted(program.arenas)]
    lines += [f"blob {i} {blob.key} {blob.dtype} {_extents(blob.shape)}" for i, blob in enumerate(program.blobs)]
    lines += [_host_text("input", tensor) for tensor in program.inputs]
    lines += [_host_text("output", tensor) for tensor in program.outputs]
    for number, command in enumerate(program.commands):
        names = _comment(debug[command.debug]) if command.debug < len(debug) else ""
        core = f"c{command.core}." if program.cores > 1 else ""
        lines.append(f"{number:04x} {core}{_command_text(command)}" + (f" // {names}" if names else ""))
    return "\n".join(lines) + "\n"


def assemble(text: str) -> bytes:
    """Return the packed bytes of a program text; raises PARSE_ERROR with the line number."""
    return encode_program(parse_program(text))


def _comment(row: DebugRow) -> str:
    """Return the source nodes of a record on one line."""
    names = ", ".join(row.nodes)
    return "".join(part if part.isprintable() else part.encode("unicode_escape").decode() for part in names)


def _host_text(what: str, tensor: HostTensor) -> str:
    layout = json.dumps(tensor.source_layout)
    scales = ",".join(float(scale).hex() for scale in tensor.channel_scales or (tensor.scale,))
    encoding = f"{scales} : {tensor.zero_point}"
    copies = f" copies {','.join(map(hex, tensor.copies))}" if tensor.copies else ""
    place = operand_text(tensor.operand) + copies
    return f"{what} {json.dumps(tensor.name)} {tensor.dtype} {encoding} {layout} = {place}"


def operand_text(operand: Operand) -> str:
    """Return `dram[0x40:1x8x8x16xi8]`."""
    shape = "".join(f"{extent}x" for extent in operand.shape)
    return f"{operand.space}[{operand.address:#x}:{shape}{operand.dtype}]"


def _command_text(command: Command) -> str:
    entries = [f"{name}={_value_text(value)}" for name, value in command.attributes.items()]
    entries += [f"{name}=#{index}" for name, index in command.constants.items()]
    inputs = ", ".join(operand_text(operand) for operand in command.inputs)
    return f"{command.kind} {operand_text(command.output)} = {inputs} {{{', '.join(entries)}}} ; {command.debug}"


def _value_text(value: AttributeValue) -> str:
    return f"[{','.join(str(item) for item in value)}]" if isinstance(value, tuple) else str(value)


def _extents(shape: tuple[int, ...]) -> str:
    return "x".join(str(extent) for extent in shape) or "scalar"


class _Lines:
    """What has been read so far; a line whose content has no packed form raises as packing it does."""

    def __init__(self) -> None:
        self.head: tuple[str, str, int] | None = None
        self.arenas: dict[str, int] = {}
        self.blobs: list[Blob] = []
        self.hosts: dict[str, list[HostTensor]] = {"input": [], "output": []}
        self.commands: list[Command] = []

    def program(self, match: re.Match[str]) -> None:
        self.head = (json.loads(match[1]), match[2], int(match[3]))
        _pack(target=self.head[0], variant=self.head[2])

    def arena(self, match: re.Match[str]) -> None:
        if match[1] in self.arenas:
            raise ValueError(match[1])
        self.arenas[match[1]] = int(match[2])
        _pack(arenas=self.arenas)

    def blob(self, match: re.Match[str]) -> None:
        shape = () if match[3] == "scalar" else tuple(int(extent) for extent in match[3].split("x"))
        self.blobs.append(Blob(match[1], match[2], shape))
        _pack(blobs=tuple(self.blobs[-1:]))

    def host(self, match: re.Match[str]) -> None:
        scales = tuple(float.fromhex(text) for text in match[4].split(","))
        encoding = (max(scales), int(match[5]), json.loads(match[6]))
        copies = tuple(int(text, 16) for text in (match[8] or "").split(",") if text)
        place = (_operand(match[7]), copies, scales if "," in match[4] else ())
        self.hosts[match[1]].append(HostTensor(json.loads(match[2]), match[3], *encoding, *place))
        _pack(inputs=tuple(self.hosts[match[1]][-1:]))

    def record(self, match: re.Match[str]) -> None:
        core, kind, output, operands, entries, debug = match.groups()
        inputs = tuple(_operand(text) for text in operands.split(", "))
        attributes: dict[str, AttributeValue] = {}
        constants: dict[str, int] = {}
        found = _ENTRY.findall(entries)
        if len(dict(found)) < len(found) or ", ".join(map("=".join, found)) != entries:
            raise ValueError(entries)
        for name, value in found:
            if value.startswith("#"):
                constants[name] = int(value[1:])
            else:
                attributes[name] = _value(value)
        places = (inputs, _operand(output))
        self.commands.append(Command(kind, *places, attributes, constants, int(debug), int(core or 0)))
        _pack(commands=tuple(self.commands[-1:]))


def _pack(**parts: Any) -> None:
    """Pack a program of these parts alone."""
    encode_program(replace(_EMPTY, **parts))


def parse_program(text: str) -> Program:
    """Read what `disassemble` prints."""
    lines = _Lines()
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], None]], ...] = (
        (_RECORD, lines.record),
        (_BLOB, lines.blob),
        (_HOST, lines.host),
        (_ARENA, lines.arena),
        (_PROGRAM, lines.program),
    )
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if content and not _read_line(content, readers):
            raise QBCompilerError(f"line {number} is not a line of a program: {content[:80]!r}", code="PARSE_ERROR")
    if lines.head is None:
        raise QBCompilerError("the text has no 'program' line", code="PARSE_ERROR")
    target, mode, variant = lines.head
    inputs, outputs = tuple(lines.hosts["input"]), tuple(lines.hosts["output"])
    blobs, commands = tuple(lines.blobs), tuple(lines.commands)
    program = Program(target, mode, variant, lines.arenas, inputs, outputs, blobs, commands)
    if any(len(tensor.operands) != program.images for tensor in (*inputs, *outputs)):
        raise QBCompilerError(f"core mode {mode} needs {program.images} addresses an input", code="PARSE_ERROR")
    return program


def _read_line(content: str, readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], None]], ...]) -> bool:
    for pattern, read in readers:
        match = pattern.fullmatch(content)
        if match is None:
            continue
        try:
            read(match)
        except (ValueError, OverflowError, struct.error, QBCompilerError):
            return False
        return True
    return False


def _operand(text: str) -> Operand:
    match = _OPERAND.fullmatch(text)
    if match is None:
        raise ValueError(text)
    shape = tuple(int(extent) for extent in match[3].split("x") if extent)
    return Operand(match[1], int(match[2], 16), shape, match[4])


def _value(text: str) -> AttributeValue:
    if text.startswith("["):
        return tuple(int(item) for item in text[1:-1].split(",") if item)
    return int(text) if re.fullmatch(r"-?\d+", text) else text
