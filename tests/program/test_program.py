"""Packed programs: round trips by property, damaged data as one error."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from qbc.errors import QBCompilerError
from qbc.program import (
    Command,
    DebugRow,
    HostTensor,
    Operand,
    Program,
    ProgramWriter,
    assemble,
    decode_debug,
    decode_program,
    disassemble,
    encode_program,
)
from qbc.program.documentation import opcode_table
from qbc.program.opcodes import OPCODES
from tests.support.packed_programs import programs

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SETTINGS
@given(programs())
def test_decode_inverts_encode(program: Program) -> None:
    assert decode_program(encode_program(program)) == program


@SETTINGS
@given(programs())
def test_assemble_inverts_disassemble(program: Program) -> None:
    data = encode_program(program)
    debug = (DebugRow("npu.conv2d", ("/a // b ; 3", "c")),)
    assert assemble(disassemble(decode_program(data))) == data
    assert assemble(disassemble(decode_program(data), debug)) == data


def test_opcode_numbers_are_unique() -> None:
    assert len({opcode.number for opcode in OPCODES}) == len({opcode.kind for opcode in OPCODES}) == len(OPCODES)
    for opcode in OPCODES:
        names = [field.name for field in opcode.fields]
        assert len(set(names)) == len(names) <= 32


def sample() -> bytes:
    writer = ProgramWriter("aries-rb", "single", 0, {"dram": 256, "l2": 128})
    table = writer.blob("0" * 32, "int8", (256,))
    image, mid, out = (Operand(space, at, (1, 4, 4, 2), "i8") for space, at in (("dram", 0), ("l2", 64), ("dram", 64)))
    writer.inputs.append(HostTensor("image", "f32", 0.5, -1, "nchw", image))
    writer.outputs.append(HostTensor("y", "f32", 0.25, 0, "", out, (), (0.25, 0.125)))
    pool = {"kernel": (3, 3), "strides": (1, 1), "padding": (1, 1, 1, 1), "dilations": (1, 1)}
    writer.command("max_pool2d", [image], mid, pool, {}, DebugRow("npu.max_pool2d", ("pool",)))
    writer.command("lut", [mid], out, {}, {"table": table}, DebugRow("npu.lut", ("act",)))
    image_bytes = writer.image()
    assert image_bytes.blob_keys == ("0" * 32,)
    assert decode_debug(image_bytes.debug) == (DebugRow("npu.max_pool2d", ("pool",)), DebugRow("npu.lut", ("act",)))
    return image_bytes.code


def test_every_truncation_is_one_error() -> None:
    data = sample()
    for size in range(len(data)):
        with pytest.raises(QBCompilerError) as error:
            decode_program(data[:size])
        assert error.value.code == "INVALID_SNAPSHOT"


def test_mutations_decode_or_are_one_error() -> None:
    data, rng = sample(), random.Random(7)
    for _ in range(3000):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        try:
            decode_program(bytes(damaged))
        except QBCompilerError as error:
            assert error.code in ("INVALID_SNAPSHOT", "UNSUPPORTED_VERSION")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("dram[0x0:1x4x4x2xi8]", "dram[0xf0:1x4x4x2xi8]"),  # leaves the arena
        ("arena l2 128", "arena l2 64"),
        ("dram[0x40:1x4x4x2xi8] = l2", "const[0x0:1x4x4x2xi8] = l2"),  # a command writes to a constant
        ("table=#0", "table=#1"),
        ("0x1.0000000000000p-2,0x1.0000000000000p-3", "0x1.0000000000000p-2,0x0.0p+0"),  # a scale of a channel is 0
        ("0x1.0000000000000p-2,0x1.0000000000000p-3", "0x1.0p-2,0x1.0p-3,0x1.0p-3"),  # three scales of two channels
        ("0x1.0000000000000p-1 : -1", "0x1.0p-1,0x1.0p-1 : -1"),  # inputs have one scale
    ],
)
def test_broken_rules_are_found(before: str, after: str) -> None:
    text = disassemble(decode_program(sample()))
    assert before in text
    with pytest.raises(QBCompilerError) as error:
        decode_program(assemble(text.replace(before, after)))
    assert error.value.code == "INVALID_SNAPSHOT"


def test_newer_version_is_named() -> None:
    data = bytearray(sample())
    data[4] = 9
    with pytest.raises(QBCompilerError) as error:
        decode_program(bytes(data))
    assert error.value.code == "UNSUPPORTED_VERSION"


def test_unreadable_text_names_the_line() -> None:
    with pytest.raises(QBCompilerError, match="line 2") as error:
        assemble('program "x" single variant 0\nnonsense\n')
    assert error.value.code == "PARSE_ERROR"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("lut", "conv9"),
        ("int8 256", "int9 256"),
        ("arena dram", "arena sram"),
        ("arena l2", "arena dram"),  # twice
        ("arena l2 128", "arena l2 99999999999999999999"),
        ('"nchw"', '"hwc"'),
        ("variant 0", "variant 99999999999"),
        ('"aries-rb"', '"\\ud800"'),
        (": -1", ": -99999999999"),
        ("0x1.0000000000000p-1 : -1", "0x1.0p2000 : -1"),
        ("dram[0x0:1x4x4x2xi8]", "dram[0x0:99999999999x4x4x2xi8]"),
        ("strides=[1,1]", "strides=1"),
        ("strides=[1,1]", "strides=[1,1], strides=[1,1]"),
        ("strides=[1,1]", "strides=[1,1] "),
        ("strides=[1,1]", "strides=[99999999999,1]"),
        ("table=#0", "tabel=#0"),
        ("; 0", "; 99999999999"),
    ],
)
def test_text_without_a_packed_form_names_the_line(before: str, after: str) -> None:
    text = disassemble(decode_program(sample()))
    assert before in text
    number = text[: text.index(before)].count("\n") + 1
    with pytest.raises(QBCompilerError, match=f"line {number} is") as error:
        assemble(text.replace(before, after, 1))
    assert error.value.code == "PARSE_ERROR"


def test_names_of_any_characters_stay_on_their_lines() -> None:
    program = decode_program(sample())
    odd = 'a ; 1 // b\n\u2028\x85"\\'
    program = replace(program, inputs=tuple(replace(tensor, name=odd) for tensor in program.inputs[:1]))
    rows = tuple(DebugRow("npu.x", (odd, f"{number} // {odd}")) for number in range(9))
    text = disassemble(program, rows)
    assert len(text.splitlines()) == len(disassemble(program).splitlines())
    assert assemble(text) == encode_program(program)


def test_hosts_that_cannot_be() -> None:
    program = decode_program(sample())
    pixels = replace(program.inputs[0], dtype="u8")
    assert decode_program(encode_program(replace(program, inputs=(pixels,)))).inputs == (pixels,)
    wide = replace(pixels, operand=replace(pixels.operand, dtype="i16"))
    output = replace(program.outputs[0], dtype="u8", channel_scales=())
    for broken in (replace(program, inputs=(wide,)), replace(program, outputs=(output,))):
        with pytest.raises(QBCompilerError, match="u8") as error:
            decode_program(encode_program(broken))
        assert error.value.code == "INVALID_SNAPSHOT"


def test_wrong_commands_are_defects() -> None:
    operand = Operand("dram", 0, (4,), "i8")
    for command in (
        Command("conv9", (operand,), operand),
        Command("add", (operand,), operand),
        Command("reshape", (operand,), operand, {"axis": 1}),
        Command("concat", (operand,), operand, {"axis": 1 << 70}),
        Command("lut", (operand,), operand),
    ):
        with pytest.raises(QBCompilerError) as error:
            encode_program(Program("t", "single", 0, {"dram": 64}, (), (), (), (command,)))
        assert error.value.code == "INTERNAL_ERROR"


def test_damaged_debug_map() -> None:
    for data in (b"", b"[]", b'{"records": [[1, []]]}', b'{"records": [["a"]]}', b"[" * 5000):
        with pytest.raises(QBCompilerError) as error:
            decode_debug(data)
        assert error.value.code == "INVALID_SNAPSHOT"


def test_the_format_page_has_the_table_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "program_format.md").read_text(encoding="utf-8")
    assert opcode_table() in page


def test_the_format_page_has_a_real_record() -> None:
    page = (Path(__file__).parents[2] / "docs" / "program_format.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("0000 "))
    blobs = [f"blob {i} {i:032x} int8 4" for i in range(4)]
    text = "\n".join(['program "aries-rb" single variant 0', "arena dram 64", "arena l2 512", *blobs, line])
    program = decode_program(assemble(text))
    assert disassemble(program, (DebugRow("npu.conv2d", ("stem/conv", "stem/relu")),)).splitlines()[-1] == line
