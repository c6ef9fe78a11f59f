"""Between input quantize and output dequantize nothing is float: every slot and every blob of the running program."""

from __future__ import annotations

import numpy as np
import pytest

from qbc.program import Command
from qbc.program.package import read_package
from qbc.runtime.load import load
from qbc.store import read_container, write_container
from tests.support.networks import CI_NETWORKS, NETWORKS, compiled

CODE_TYPES = {"i8": np.uint8, "i16": np.int16, "i32": np.int32}


@pytest.mark.parametrize("name", CI_NETWORKS)
def test_slots_and_blobs_are_integers(name: str) -> None:
    package = read_package(compiled(name))
    for program in package.programs.values():
        for blob in program.blobs:
            assert blob.dtype in ("int8", "int16", "int32", "int64")
        for command in program.commands:
            for operand in (*command.inputs, command.output):
                assert operand.dtype in CODE_TYPES
            for value in command.attributes.values():
                assert isinstance(value, int | str) or all(type(v) is int for v in value)
    network, simulator = NETWORKS[name], load(compiled(name))
    seen = 0

    def inspect(number: int, command: Command, stored: np.ndarray) -> None:
        nonlocal seen
        seen += 1
        arrays = simulator.arrays(number)
        for array, operand in zip(arrays, (*command.inputs, command.output), strict=True):
            assert array.dtype == CODE_TYPES[operand.dtype]
        for array in simulator.kernel_call(command).constants.values():
            assert array.dtype.kind == "i"

    simulator.run({network.input_name: network.inputs(1, 3)[0]}, observe=inspect)
    assert seen == len(simulator.program.commands)


@pytest.mark.parametrize("name", ["digits", "magika"])
def test_program_runs_without_text_and_manifest(name: str, tmp_path) -> None:
    container = read_container(compiled(name))
    kept = {key: bytes(view) for key, view in container.sections.items() if key not in ("ir", "manifest")}
    assert len(kept) < len(container.sections)
    write_container(tmp_path / "bare.mxq", "MXQ", kept)
    network = NETWORKS[name]
    feed = {network.input_name: network.inputs(1, 3)[0]}
    whole, bare = load(compiled(name)).run(feed), load(tmp_path / "bare.mxq").run(feed)
    assert all(np.array_equal(whole[key], bare[key]) for key in whole)
