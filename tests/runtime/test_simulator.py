"""The simulator on hand-made programs: bits, layouts, dtypes, errors, damaged files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from qbc.errors import QBCompilerError
from qbc.program import DebugRow, assemble, decode_program, disassemble
from qbc.runtime import RuntimeStatusError, Simulator, load, open_model
from qbc.store import read_container, write_container
from tests.support.npu_programs import MAX_POOL, ProgramBuilder, conv_program, conv_reference


@pytest.fixture
def conv(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    builder, constants = conv_program(np.random.default_rng(3))
    builder.save(tmp_path / "conv.mxq")
    return tmp_path / "conv.mxq", constants


def quantize(x: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(x / np.float32(0.5)) + 3, -128, 127).astype(np.int8)


def test_bits_and_layouts(conv: tuple[Path, dict[str, np.ndarray]]) -> None:
    path, constants = conv
    simulator = load(path)
    x = np.random.default_rng(0).normal(0, 20, (1, 6, 8, 4)).astype(np.float32)
    codes = conv_reference(quantize(x), constants)
    expected = (codes.astype(np.float32) + 7) * np.float32(0.25)
    assert np.array_equal(simulator.run({"x": x})["y"], expected)
    assert np.array_equal(simulator.run({"x": x[0]})["y"], expected[0])
    source = simulator.run({"x": x.transpose(0, 3, 1, 2)})["y"]
    assert np.array_equal(source, expected.transpose(0, 3, 1, 2))
    assert np.array_equal(simulator.run({"x": quantize(x)})["y"], codes)
    stored = (quantize(x).astype(np.int16) + 128).astype(np.uint8)
    assert np.array_equal(simulator.run({"x": stored})["y"], (codes.astype(np.int16) + 128).astype(np.uint8))


def test_every_record_is_observed(conv: tuple[Path, dict[str, np.ndarray]]) -> None:
    model = open_model(conv[0])
    seen: list[tuple[int, str]] = []

    def observe(number: int, command: object, stored: np.ndarray) -> None:
        assert not stored.flags.writeable
        seen.append((number, model.debug()[number].op))

    model.simulator().run({"x": np.zeros((6, 8, 4), np.float32)}, observe=observe)
    assert seen == [(0, "npu.conv2d"), (1, "npu.max_pool2d")]
    assert model.debug()[0] == DebugRow("npu.conv2d", ("node_conv2d",))


def test_threads_do_not_change_bytes(conv: tuple[Path, dict[str, np.ndarray]]) -> None:
    x = np.random.default_rng(1).normal(0, 20, (1, 6, 8, 4)).astype(np.float32)
    results = [load(conv[0], threads=threads).run({"x": x})["y"] for threads in (1, 2)]
    assert np.array_equal(*results)


@pytest.mark.parametrize("shape", [(6, 8, 5), (8, 6, 4), (2, 6, 8, 4), (192,)])
def test_wrong_shape(conv: tuple[Path, dict[str, np.ndarray]], shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeStatusError, match="Input shape is invalid") as error:
        load(conv[0]).run({"x": np.zeros(shape, np.float32)})
    assert (error.value.status, error.value.status_name) == (21, "Model_ShapeMismatched")


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.complex64, bool])
def test_wrong_dtype(conv: tuple[Path, dict[str, np.ndarray]], dtype: type) -> None:
    with pytest.raises(RuntimeStatusError) as error:
        load(conv[0]).run({"x": np.zeros((6, 8, 4), dtype)})
    assert error.value.status == 22


def test_wrong_names(conv: tuple[Path, dict[str, np.ndarray]]) -> None:
    with pytest.raises(QBCompilerError, match="'image'"):
        load(conv[0]).run({"image": np.zeros((6, 8, 4), np.float32)})


def test_both_layouts_fit_means_channel_last() -> None:
    builder = ProgramBuilder()
    image, out = builder.value((1, 4, 4, 4)), builder.value((1, 2, 2, 4))
    builder.input(image, 1.0, 0, "nchw")
    builder.output(out, 1.0, 0, "nchw")
    builder.command("max_pool2d", [image], out, MAX_POOL)
    x = np.arange(64, dtype=np.float32).reshape(4, 4, 4) - 30
    simulator = Simulator(builder.writer.program(), builder.store)
    assert np.array_equal(simulator.run({"x": x})["y"], x[1::2, 1::2])
    source = simulator.run({"x": x}, layout="source")["y"]
    assert np.array_equal(source, x[:, 1::2, 1::2])


def test_constants_and_indices() -> None:
    builder = ProgramBuilder()
    table = np.arange(12, dtype=np.int8).reshape(6, 2)
    indices, out = builder.value((3,), "i32"), builder.value((3, 2))
    data = builder.value((6, 2))
    const = type(data)("const", builder.blob(table), (6, 2), "i8")
    builder.input(indices, 1.0, 0, name="ids")
    builder.output(out, 1.0, 0)
    builder.command("gather", [const, indices], out, {"axis": 0})
    simulator = Simulator(builder.writer.program(), builder.store)
    assert np.array_equal(simulator.run({"ids": np.array([5, -1, 0])})["y"], table[[5, -1, 0]].astype(np.float32))
    for wrong in ([6, 0, 0], [0, -7, 0]):
        with pytest.raises(QBCompilerError, match="-6..5") as error:
            simulator.run({"ids": np.array(wrong)})
        assert error.value.code == "INVALID_INPUT"
    for array, status in ((np.array([1 << 40, 0, 0]), None), (np.zeros(3, np.float32), 22)):
        with pytest.raises(QBCompilerError) as error:
            simulator.run({"ids": array})
        assert error.value.code == "INVALID_INPUT"
        assert getattr(error.value, "status", None) == status


def test_indices_in_the_place_of_an_input_do_not_bound_it() -> None:
    """The memory of an index input is free after its last use; a computed index of a smaller table may lie there."""
    builder = ProgramBuilder()
    ids, table, small, scores = (
        builder.value(s, t) for s, t in (((2,), "i32"), ((9, 4), "i8"), ((3, 4), "i8"), ((2, 3), "i8"))
    )
    rows, best = builder.value((2, 4)), builder.value((2, 4))
    for name, operand in (("ids", ids), ("table", table), ("small", small), ("scores", scores)):
        builder.input(operand, 1.0, 0, name=name)
    builder.output(rows, 1.0, 0, name="rows")
    builder.output(best, 1.0, 0, name="best")
    builder.command("gather", [table, ids], rows, {"axis": 0})
    builder.command("arg_max", [scores], ids, {"axis": 1})
    builder.command("gather", [small, ids], best, {"axis": 0})
    simulator = Simulator(builder.writer.program(), builder.store)
    assert simulator.index_limit(0) == 9
    rng = np.random.default_rng(0)
    x = {name: rng.integers(-9, 9, s).astype(np.float32) for name, s in (("table", (9, 4)), ("small", (3, 4)))}
    given = np.array([[0, 5, 1], [2, 1, 7]], np.float32)
    outputs = simulator.run({"ids": np.array([8, -9]), "scores": given, **x})
    assert np.array_equal(outputs["rows"], x["table"][[8, 0]])
    assert np.array_equal(outputs["best"], x["small"][[1, 2]])


def test_stored_inputs_must_fit(conv: tuple[Path, dict[str, np.ndarray]]) -> None:
    simulator = load(conv[0])
    fitting = np.zeros((1, 6, 8, 4), np.uint8)
    for wrong in ([], [fitting, fitting], [fitting[0]], [fitting.astype(np.int8)], [np.uint8(3)]):
        with pytest.raises(QBCompilerError) as error:
            simulator.run_stored(wrong)
        assert error.value.code == "INVALID_INPUT"
    with pytest.raises(QBCompilerError, match="threads is 0"):
        load(conv[0], threads=0)


def test_a_program_larger_than_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = ProgramBuilder()
    x, y = builder.value((4,)), builder.value((4,))
    builder.input(x, 1.0, 0)
    builder.output(y, 1.0, 0)
    builder.command("reshape", [x], y, {})

    def no_memory(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("qbc.runtime.simulator.np.zeros", no_memory)
    with pytest.raises(QBCompilerError, match="more memory") as error:
        Simulator(builder.writer.program(), builder.store)
    assert error.value.code == "RESOURCE_ERROR"


def test_special_floats_saturate(conv: tuple[Path, dict[str, np.ndarray]]) -> None:
    path, constants = conv
    x = np.zeros((1, 6, 8, 4), np.float32)
    x[0, 0, 0] = [np.nan, np.inf, -np.inf, 1e30]
    codes = np.full((1, 6, 8, 4), 3, np.int8)
    codes[0, 0, 0] = [3, 127, -128, 127]
    expected = (conv_reference(codes, constants).astype(np.float32) + 7) * np.float32(0.25)
    assert np.array_equal(load(path).run({"x": x})["y"], expected)


def test_resigned_mutations_are_one_error_or_run(conv: tuple[Path, dict[str, np.ndarray]], tmp_path: Path) -> None:
    container = read_container(conv[0], "MXQ")
    sections = {name: bytes(section) for name, section in container.sections.items()}
    rng, target = random.Random(11), tmp_path / "mutated.mxq"
    for _ in range(150):
        name = rng.choice(sorted(sections))
        damaged = bytearray(sections[name])
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        write_container(target, "MXQ", sections | {name: bytes(damaged)})
        try:
            simulator = load(target)
            shapes = {tensor.name: tensor.operand.shape for tensor in simulator.program.inputs}
            simulator.run({name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
        except QBCompilerError as error:
            assert error.code != "INTERNAL_ERROR"


def test_missing_programs(conv: tuple[Path, dict[str, np.ndarray]], tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError, match="it has: single 0") as error:
        load(conv[0], mode="multi")
    assert error.value.code == "RUNTIME_ERROR"
    container = read_container(conv[0], "MXQ")
    kept = {name: bytes(part) for name, part in container.sections.items() if "single" not in name}
    write_container(tmp_path / "empty.mxq", "MXQ", kept)
    with pytest.raises(QBCompilerError, match="no program"):
        load(tmp_path / "empty.mxq")


def test_disassembly_of_a_file_runs_equally(conv: tuple[Path, dict[str, np.ndarray]]) -> None:
    model = open_model(conv[0])
    again = decode_program(assemble(disassemble(model.program())))
    x = np.random.default_rng(5).normal(0, 20, (1, 6, 8, 4)).astype(np.float32)
    assert np.array_equal(
        Simulator(again, model.package.store).run({"x": x})["y"], model.simulator().run({"x": x})["y"]
    )
