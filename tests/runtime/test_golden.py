"""Golden vectors: recorded at compile time, equal on replay, and sensitive to every constant and input."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from qbc.errors import QBCompilerError
from qbc.program import Blob
from qbc.program.package import GOLDEN, read_package
from qbc.runtime.golden import golden_vectors, replay, synthetic_inputs
from qbc.runtime.simulator import Simulator
from tests.support.networks import compiled


@pytest.fixture(scope="module")
def package():
    return read_package(compiled("digits"))


def test_compiled_file_replays(package) -> None:
    vectors = package.container.section(f"{GOLDEN}/single/0")
    program = package.programs["single", 0]
    result = replay(Simulator(program, package.store), vectors)
    assert result.passed and result.records == len(program.commands)
    assert bytes(vectors) == golden_vectors(Simulator(program, package.store))


def test_a_changed_constant_is_noticed(package) -> None:
    program, store = package.programs["single", 0], package.store
    vectors = golden_vectors(Simulator(program, store))
    number, command = next((i, c) for i, c in enumerate(program.commands) if c.kind == "conv2d")
    old = program.blobs[command.constants["weight"]]
    weight = store.get(old.key, old.dtype, old.shape).copy()
    weight.reshape(-1)[np.abs(weight.reshape(-1)).argmax()] //= 2
    changed = {**command.constants, "weight": len(program.blobs)}
    commands = list(program.commands)
    commands[number] = dataclasses.replace(command, constants=changed)
    blobs = (*program.blobs, Blob(store.put(weight), old.dtype, old.shape))
    result = replay(Simulator(dataclasses.replace(program, commands=tuple(commands), blobs=blobs), store), vectors)
    assert result.first_difference == number and not result.passed


def test_synthetic_inputs_cover_the_codes(package) -> None:
    codes = synthetic_inputs(Simulator(package.programs["single", 0], package.store), 0)[0]
    assert codes.dtype == np.uint8 and codes.min() < 16 and codes.max() > 240


@pytest.mark.parametrize("vectors", [b"", b"[]", b'{"version":1}', b'{"version":0,"seed":0,"records":[],"outputs":[]}'])
def test_damaged_vectors_are_refused(package, vectors: bytes) -> None:
    with pytest.raises(QBCompilerError) as caught:
        replay(Simulator(package.programs["single", 0], package.store), vectors)
    assert caught.value.code == "INVALID_SNAPSHOT"


def test_vectors_hold_no_input_data(package) -> None:
    table = json.loads(bytes(package.container.section(f"{GOLDEN}/single/0")))
    assert set(table) == {"version", "seed", "records", "outputs"}
