"""Core modes at run time: programs made by hand for several cores and images, and the choice of a mode."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qbc.errors import QBCompilerError
from qbc.kernels import prepare
from qbc.kernels.storage import load_codes, store_codes
from qbc.modes import CORE_MODES
from qbc.program import (
    Command,
    HostTensor,
    Program,
    assemble,
    decode_program,
    disassemble,
    encode_program,
    package_sections,
)
from qbc.runtime import Simulator
from qbc.runtime.golden import golden_vectors, replay
from qbc.runtime.load import load
from qbc.store import read_container, write_container
from qbcompiler.runtime import Accelerator, Model, ModelConfig
from tests.oracle import run
from tests.oracle_checks.calls import CASES
from tests.support.npu_programs import conv_program

MODES = tuple(CORE_MODES)
X = np.random.default_rng(0).normal(0, 20, (6, 8, 4)).astype(np.float32)


def blocks_of(call, count: int) -> list[tuple[int, int]]:
    """Split the output channels into at most `count` blocks of whole groups."""
    total, groups = call.output.shape[-1], int(call.attributes.get("groups", 1))
    unit = total // groups if groups > 1 else 1
    edges = sorted({unit * (total // unit * part // count) for part in range(count + 1)})
    return list(zip(edges, edges[1:], strict=False))


@pytest.mark.parametrize("kind", ["conv2d", "transpose_conv2d", "linear"])
@pytest.mark.parametrize("seed", range(20))
def test_blocks_together_equal_the_oracle(kind: str, seed: int) -> None:
    call, inputs = CASES[kind](np.random.default_rng(seed))
    expected = run(kind, inputs, dict(call.attributes), dict(call.constants), call.output.shape, call.output.dtype)
    stored = [store_codes(array, spec.dtype) for array, spec in zip(inputs, call.inputs, strict=True)]
    out = store_codes(np.full(call.output.shape, 77), call.output.dtype)
    for begin, end in blocks_of(call, 3):
        untouched = load_codes(out).copy()
        prepare(replace(call, attributes={**call.attributes, "channels": (begin, end)}))(*stored, out)
        untouched[..., begin:end] = expected[..., begin:end]
        assert np.array_equal(load_codes(out), untouched)
    assert np.array_equal(load_codes(out), expected)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("linear", {"channels": (0, 99)}, "outside"),
        ("linear", {"channels": (2, 2)}, "is empty"),
        ("linear", {"channels": (0,)}, "is not a list of 2"),
        ("add", {"channels": (0, 1)}, "has no blocks"),
        ("conv2d", {"channels": (0, 1), "groups": 2}, "splits a group"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(kind: str, change: dict[str, object], message: str) -> None:
    cases = (CASES[kind](np.random.default_rng(seed))[0] for seed in range(100))
    groups = change.get("groups")
    call = next(
        call
        for call in cases
        if groups is None or (call.attributes["groups"] == groups and call.output.shape[-1] > 2 * int(groups))
    )
    with pytest.raises(QBCompilerError, match=message) as caught:
        prepare(replace(call, attributes={**call.attributes, **change}))
    assert caught.value.code == "INVALID_SNAPSHOT"


def in_mode(program: Program, mode: str) -> Program:
    """A program of core mode single as one of another mode, made by hand."""
    if mode == "single":
        return program
    conv, pool = program.commands
    if mode == "multi":
        size = -(-program.arenas["dram"] // 64) * 64
        return replace(
            program,
            mode=mode,
            arenas={"dram": 4 * size},
            inputs=tuple(with_copies(tensor, size) for tensor in program.inputs),
            outputs=tuple(with_copies(tensor, size) for tensor in program.outputs),
            commands=tuple(moved(command, image, size) for command in (conv, pool) for image in range(4)),
        )
    last = CORE_MODES[mode].cores - 1
    blocks = [(0, 2, 0), (2, 5, last)]
    parts = [replace(conv, attributes={**conv.attributes, "channels": (a, b)}, core=core) for a, b, core in blocks]
    return replace(program, mode=mode, commands=(*parts, pool))


def with_copies(tensor: HostTensor, size: int) -> HostTensor:
    return replace(tensor, copies=tuple(tensor.operand.address + size * image for image in (1, 2, 3)))


def moved(command: Command, image: int, size: int) -> Command:
    inputs, output = (
        [replace(operand, address=operand.address + size * image) for operand in operands]
        for operands in (command.inputs, [command.output])
    )
    return replace(command, inputs=tuple(inputs), output=output[0], core=image)


def save(path: Path, *modes: str) -> Path:
    """Write a file that holds the program in each of the modes."""
    builder, _ = conv_program(np.random.default_rng(3))
    image = builder.writer.image()
    single = decode_program(image.code)
    images = {(mode, 0): replace(image, code=encode_program(in_mode(single, mode))) for mode in modes}
    write_container(path, "MXQ", package_sections(images, builder.store))
    return path


def config_for(mode: str) -> ModelConfig:
    config = ModelConfig()
    assert getattr(config, f"set_{mode}_core_mode")()
    return config


def launched(path: Path, mode: str) -> Model:
    model = Model(path, config_for(mode))
    model.launch(Accelerator())
    return model


@pytest.mark.parametrize("mode", MODES)
def test_modes_give_equal_results(tmp_path: Path, mode: str) -> None:
    path = save(tmp_path / "all.mxq", *MODES)
    batch = np.stack([X, -X, X / 2, X + 1, X - 3, X * 0])
    wanted = launched(path, "single").infer(batch)[0]
    model = launched(path, mode)
    assert model.get_core_mode().value == mode
    assert len(model.get_target_cores()) == CORE_MODES[mode].cores
    assert model.get_model_input_shape() == [(6, 8, 4)]
    for count in (6, 4, 3, 2):
        assert np.array_equal(model.infer(batch[:count])[0], wanted[:count])
    assert np.array_equal(model.infer(X)[0], wanted[0])
    assert np.array_equal(model.infer(X[None])[0], wanted[:1])


@pytest.mark.parametrize(
    ("modes", "chosen", "works"),
    [
        (("single",), "auto", True),
        (("global8",), "auto", True),
        (("multi",), "multi", True),
        (("single", "multi"), "auto", False),
        (("single", "multi"), "multi", True),
        (("single", "multi"), "global4", False),
        (("single",), "global8", False),
    ],
)
def test_choice_of_a_mode(tmp_path: Path, modes: tuple[str, ...], chosen: str, works: bool) -> None:
    path = save(tmp_path / "m.mxq", *modes)
    if works:
        model = Model(path, config_for(chosen))
        assert model.get_core_mode().value == (modes[0] if chosen == "auto" else chosen)
        return
    with pytest.raises(QBCompilerError, match="Model_MXQAndModelConfigNotMatch") as caught:
        Model(path, config_for(chosen))
    assert caught.value.status == 16  # type: ignore[attr-defined]
    assert all(mode in caught.value.message for mode in modes)


def test_without_a_name_single_is_loaded_else_the_first(tmp_path: Path) -> None:
    assert load(save(tmp_path / "a.mxq", "global8", "single")).program.mode == "single"
    assert load(save(tmp_path / "b.mxq", "global8")).program.mode == "global8"
    with pytest.raises(QBCompilerError, match="no program for mode 'multi'"):
        load(tmp_path / "b.mxq", mode="multi")


@pytest.mark.parametrize("mode", ["multi", "global4", "global8"])
def test_every_core_is_needed(mode: str) -> None:
    builder, _ = conv_program(np.random.default_rng(3))
    program = in_mode(builder.writer.program(), mode)
    images = [{"x": X + step} for step in range(program.images)]
    wanted = Simulator(program, builder.store).run_batch(images)
    for core in {command.core for command in program.commands}:
        fewer = replace(program, commands=tuple(c for c in program.commands if c.core != core))
        found = Simulator(fewer, builder.store).run_batch(images)
        assert any(not np.array_equal(a["y"], b["y"]) for a, b in zip(found, wanted, strict=True))


def test_number_of_images_of_a_run() -> None:
    builder, _ = conv_program(np.random.default_rng(3))
    simulator = Simulator(in_mode(builder.writer.program(), "multi"), builder.store)
    for count in (0, 5):
        with pytest.raises(QBCompilerError, match="takes 1 to 4"):
            simulator.run_batch([{"x": X}] * count)


def test_golden_vectors_of_several_images() -> None:
    builder, _ = conv_program(np.random.default_rng(3))
    program = in_mode(builder.writer.program(), "multi")
    vectors = golden_vectors(Simulator(program, builder.store))
    assert replay(Simulator(program, builder.store), vectors).passed
    wrong = replace(program, commands=program.commands[:7])
    with pytest.raises(QBCompilerError, match="another program"):
        replay(Simulator(wrong, builder.store), vectors)


def test_cores_beyond_the_mode_are_refused() -> None:
    builder, _ = conv_program(np.random.default_rng(3))
    program = in_mode(builder.writer.program(), "global8")
    with pytest.raises(QBCompilerError, match="core 7 is not one of 4") as caught:
        decode_program(encode_program(replace(program, mode="global4")))
    assert caught.value.code == "INVALID_SNAPSHOT"


@pytest.mark.parametrize("mode", ["multi", "global8"])
def test_damaged_programs_are_one_error_or_run(tmp_path: Path, mode: str) -> None:
    path = save(tmp_path / "m.mxq", mode)
    sections = {name: bytes(part) for name, part in read_container(path, "MXQ").sections.items()}
    rng, name = random.Random(5), f"program/{mode}/0"
    for _ in range(150):
        damaged = bytearray(sections[name])
        for _ in range(rng.randint(1, 3)):
            place = 4 * rng.randrange(len(damaged) // 4)
            word = rng.choice([0, 1, 2, 5, 6, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.randrange(1 << 32)])
            damaged[place : place + 4] = word.to_bytes(4, "little")
        write_container(path, "MXQ", sections | {name: bytes(damaged)})
        try:
            simulator = load(path)
            zeros = {t.name: np.zeros(t.operand.shape, np.float32) for t in simulator.program.inputs}
            simulator.run_batch([zeros] * simulator.program.images)
        except QBCompilerError as error:
            assert error.code != "INTERNAL_ERROR"


def test_version_and_mode_belong_together() -> None:
    builder, _ = conv_program(np.random.default_rng(3))
    for mode, version in (("single", 2), ("global4", 1)):
        data = bytearray(encode_program(in_mode(builder.writer.program(), mode)))
        data[4:8] = version.to_bytes(4, "little")
        with pytest.raises(QBCompilerError, match=f"a program of version {version} has core mode"):
            decode_program(bytes(data))


@pytest.mark.parametrize("mode", MODES)
def test_text_of_a_program(mode: str) -> None:
    builder, _ = conv_program(np.random.default_rng(3))
    program = in_mode(builder.writer.program(), mode)
    text = disassemble(program)
    assert assemble(text) == encode_program(program)
    assert ("c3." in text) == (mode in ("multi", "global4"))
    assert ("copies 0x" in text) == (mode == "multi")
