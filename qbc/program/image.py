"""The program section: header, blob table, host tensors and records as one stream of words.

Magic "QBCP", version (1 for core mode single, 2 for the others), mode, variant, target; then, each after its count:
arenas as (space, bytes), blobs as (key, dtype, shape), host tensors of the inputs, of the outputs, and records. All
little-endian; nothing depends on time, path or machine. A host tensor is its name, a word of dtype, layout and flags,
scale, zero point, place and the addresses of further images; with the flag for scales of channels, those follow.
"""

from __future__ import annotations

import math

from qbc.modes import CORE_MODES, MODE_NAMES, SINGLE
from qbc.program.model import MAX_ELEMENTS, MAX_RANK, Blob, HostTensor, Operand, Program, invalid_program
from qbc.program.opcodes import ARENAS, BLOB_DTYPES
from qbc.program.records import RecordScope, decode_record, encode_record, read_operand, write_operand
from qbc.program.words import WordReader, WordWriter
from qbc.store.container import newer_version

MAGIC = int.from_bytes(b"QBCP", "little")
PROGRAM_VERSION = 2
_SINGLE_VERSION = 1
HOST_DTYPES: tuple[str, ...] = ("f32", "i32", "u8")
SOURCE_LAYOUTS: tuple[str, ...] = ("", "ncw", "nchw", "ncdhw")
MAX_ARENA_BYTES = 1 << 34
_KEY_DIGITS = 32
_CHANNEL_SCALES = 1 << 16  # flag of a host word
_ZERO_POINTS = (-(1 << 15), (1 << 15) - 1)


def encode_program(program: Program) -> bytes:
    """Pack a program; equal programs give equal bytes."""
    writer = WordWriter()
    version = _SINGLE_VERSION if program.mode == SINGLE else PROGRAM_VERSION
    for word in (MAGIC, version, MODE_NAMES.index(program.mode), program.variant):
        writer.word(word)
    writer.text(program.target)
    writer.word(len(program.arenas))
    for space in sorted(program.arenas):
        writer.word(ARENAS.index(space))
        writer.long(program.arenas[space])
    writer.word(len(program.blobs))
    for blob in program.blobs:
        _write_blob(writer, blob)
    for tensors in (program.inputs, program.outputs):
        writer.word(len(tensors))
        for tensor in tensors:
            _write_host(writer, tensor)
    writer.word(len(program.commands))
    for command in program.commands:
        writer.raw(encode_record(command))
    return writer.data()


def decode_program(data: bytes | memoryview) -> Program:
    """Unpack and check a program; raises INVALID_SNAPSHOT for anything that `encode_program` cannot have written."""
    reader = WordReader(data)
    if reader.word() != MAGIC:
        raise invalid_program("the magic number is missing")
    version = reader.word()
    if version > PROGRAM_VERSION:
        raise newer_version(f"the program has version {version}", PROGRAM_VERSION)
    mode = MODE_NAMES[reader.index(len(MODE_NAMES), "mode")]
    if version != (_SINGLE_VERSION if mode == SINGLE else PROGRAM_VERSION):
        raise invalid_program(f"a program of version {version} has core mode {mode!r}")
    variant = reader.word()
    target = reader.text()
    spaces = [_read_arena(reader) for _ in range(reader.count(3))]
    arenas = dict(spaces)
    if len(arenas) < len(spaces):
        raise invalid_program("a memory space is given twice")
    blobs = tuple(_read_blob(reader) for _ in range(reader.count(3)))
    shared = CORE_MODES[mode]
    scope = RecordScope({space: arenas.get(space, 0) for space in ARENAS}, blobs, shared.cores)
    inputs = tuple(_read_host(reader, scope, shared.images) for _ in range(reader.count(6)))
    outputs = tuple(_read_host(reader, scope, shared.images) for _ in range(reader.count(6)))
    commands = tuple(decode_record(reader, scope) for _ in range(reader.count(3)))
    if reader.remaining:
        raise invalid_program(f"{reader.remaining} words follow the last record")
    _check_interface(inputs, outputs)
    if any(command.output.space == "const" for command in commands):
        raise invalid_program("a command writes to a constant")
    return Program(target, mode, variant, arenas, inputs, outputs, blobs, commands)


def _check_interface(inputs: tuple[HostTensor, ...], outputs: tuple[HostTensor, ...]) -> None:
    for tensors in (inputs, outputs):
        if len({tensor.name for tensor in tensors}) != len(tensors):
            raise invalid_program("graph inputs or outputs have equal names")
    if any(tensor.operand.space == "const" for tensor in inputs):
        raise invalid_program("a graph input is a constant")
    if any(tensor.dtype == "u8" for tensor in outputs):
        raise invalid_program("a graph output is u8 at the host")
    if any(tensor.channel_scales for tensor in inputs):
        raise invalid_program("a graph input has scales of channels")


def _read_arena(reader: WordReader) -> tuple[str, int]:
    space = ARENAS[reader.index(len(ARENAS), "space")]
    size = reader.long()
    if not 0 <= size <= MAX_ARENA_BYTES:
        raise invalid_program(f"an arena of {size} bytes is not possible")
    return space, size


def _write_blob(writer: WordWriter, blob: Blob) -> None:
    writer.raw(bytes.fromhex(blob.key))
    writer.word(BLOB_DTYPES.index(blob.dtype) | len(blob.shape) << 8)
    for extent in blob.shape:
        writer.word(extent)


def _read_blob(reader: WordReader) -> Blob:
    key = bytes(reader.raw(_KEY_DIGITS // 2)).hex()
    head = reader.word()
    dtype, rank = head & 0xFF, head >> 8
    if dtype >= len(BLOB_DTYPES) or rank > MAX_RANK:
        raise invalid_program(f"blob word {head:#x} is not valid")
    shape = tuple(reader.word() for _ in range(rank))
    if any(extent < 1 for extent in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise invalid_program(f"blob shape {list(shape)} is not valid")
    return Blob(key, BLOB_DTYPES[dtype], shape)


def _write_host(writer: WordWriter, tensor: HostTensor) -> None:
    writer.text(tensor.name)
    flags = _CHANNEL_SCALES if tensor.channel_scales else 0
    writer.word(HOST_DTYPES.index(tensor.dtype) | SOURCE_LAYOUTS.index(tensor.source_layout) << 8 | flags)
    writer.single(tensor.scale)
    writer.signed(tensor.zero_point)
    write_operand(writer, tensor.operand)
    for address in tensor.copies:
        writer.long(address)
    for scale in tensor.channel_scales:
        writer.single(scale)


def _read_host(reader: WordReader, scope: RecordScope, images: int) -> HostTensor:
    name = reader.text()
    head = reader.word()
    dtype, layout = head & 0xFF, (head & ~_CHANNEL_SCALES) >> 8
    if dtype >= len(HOST_DTYPES) or layout >= len(SOURCE_LAYOUTS):
        raise invalid_program(f"host word {head:#x} is not valid")
    scale, zero_point = reader.single(), reader.signed()
    operand = read_operand(reader, scope)
    if not (0.0 < scale < math.inf) or not _ZERO_POINTS[0] <= zero_point <= _ZERO_POINTS[1]:
        raise invalid_program(f"encoding {scale} : {zero_point} of {name!r} is not valid")
    copies = tuple(reader.long() for _ in range(images - 1))
    scales = _read_channel_scales(reader, name, operand) if head & _CHANNEL_SCALES else ()
    if scales and (HOST_DTYPES[dtype] != "f32" or scale != max(scales)):
        raise invalid_program(f"the scales of the channels of {name!r} are not valid")
    tensor = HostTensor(name, HOST_DTYPES[dtype], scale, zero_point, SOURCE_LAYOUTS[layout], operand, copies, scales)
    for place in tensor.operands:
        scope.check(place)
    _check_host(tensor, operand)
    return tensor


def _read_channel_scales(reader: WordReader, name: str, operand: Operand) -> tuple[float, ...]:
    channels = operand.shape[-1] if operand.shape else 0
    if not 2 <= channels <= reader.remaining:
        raise invalid_program(f"{name!r} has no scales for {channels} channels")
    scales = tuple(reader.single() for _ in range(channels))
    if not all(0.0 < scale < math.inf for scale in scales):
        raise invalid_program(f"a scale of the channels of {name!r} is not positive and finite")
    return scales


def _check_host(tensor: HostTensor, operand: Operand) -> None:
    if (tensor.dtype == "i32") != (operand.dtype == "i32"):
        raise invalid_program(f"{tensor.name!r} is {tensor.dtype} at the host and {operand.dtype} on the device")
    if tensor.dtype == "u8" and operand.dtype != "i8":
        raise invalid_program(f"{tensor.name!r} is u8 at the host and {operand.dtype} on the device")
    ranks = {"ncw": 3, "nchw": 4, "ncdhw": 5}
    if tensor.source_layout and len(operand.shape) != ranks[tensor.source_layout]:
        raise invalid_program(f"layout {tensor.source_layout} of {tensor.name!r} does not fit {list(operand.shape)}")
