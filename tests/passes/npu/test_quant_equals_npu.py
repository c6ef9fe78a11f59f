"""The integer run of a quantized network and the simulator of its lowered program give the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import qbcompiler
from qbc.driver.compile import compile_model
from qbc.driver.plan import CompileOptions
from qbc.execute.integer import IntegerProgram
from qbc.pipelines.phases import load_preset
from qbc.pipelines.runner import run_pipeline
from qbc.program import assemble, decode_debug, decode_program, disassemble
from qbc.runtime import Simulator
from qbc.store import BlobStore
from tests.models.tiny import tiny_path

CODE_ARRAYS = (np.uint8, np.int16, np.int32)


def digits() -> Path:
    return Path(qbcompiler.__file__).parent / "data" / "digits.onnx"


@pytest.fixture(scope="module", params=["digits", "kws"])
def lowered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    source = digits() if request.param == "digits" else tiny_path("kws")
    options = CompileOptions(target="aries-rb", random_calibration=True)
    output = tmp_path_factory.mktemp("quant") / "quant.mlir"
    result = compile_model(source, output, options, to="quantize")
    function = next(op for op in result.module.body.block.ops if isinstance(op, FuncOp))
    integer = IntegerProgram(function.clone(), result.ctx.store)
    for phase in ("lower", "encode"):
        run_pipeline(result.module, load_preset("default").pipeline(phase), result.ctx, verify_each=True)
    image = result.ctx.report["images"]["single", 0]
    return integer, image, result.ctx.store


def test_same_bytes(lowered: tuple[IntegerProgram, object, BlobStore]) -> None:
    integer, image, store = lowered
    simulator = Simulator(decode_program(image.code), store)  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)
    for _ in range(3):
        tensors = simulator.program.inputs
        inputs = {t.name: rng.normal(0, 2, t.operand.shape).astype(np.float32) for t in tensors}
        expected, found = integer.run(inputs), simulator.run(inputs)
        assert list(expected) == list(found)
        assert all(np.array_equal(expected[name], found[name]) for name in expected)


def test_no_float_between_the_boundaries(lowered: tuple[IntegerProgram, object, BlobStore]) -> None:
    _, image, store = lowered
    simulator = Simulator(decode_program(image.code), store)  # type: ignore[attr-defined]
    arrays = [array for step in simulator._steps for array in step.arrays]
    assert arrays
    assert {array.dtype.type for array in arrays} <= set(CODE_ARRAYS)
    for number, command in enumerate(simulator.program.commands):
        constants = simulator.kernel_call(command).constants
        assert all(array.dtype.kind == "i" for array in constants.values()), number
    assert all(blob.dtype.startswith("int") for blob in simulator.program.blobs)


def test_records_name_their_source_nodes(lowered: tuple[IntegerProgram, object, BlobStore]) -> None:
    _, image, _ = lowered
    program, rows = decode_program(image.code), decode_debug(image.debug)  # type: ignore[attr-defined]
    assert [command.debug for command in program.commands] == list(range(len(rows)))
    assert all(row.nodes for row in rows)


def test_disassembly_assembles_to_the_same_bytes(lowered: tuple[IntegerProgram, object, BlobStore]) -> None:
    _, image, _ = lowered
    assert assemble(disassemble(decode_program(image.code))) == image.code  # type: ignore[attr-defined]
