"""Permuting the channels between two convolutions permutes the codes between them and nothing else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from qbc.program import Blob, Command, Program
from qbc.program.package import read_package
from qbc.runtime.simulator import Simulator
from qbc.store import BlobStore
from tests.support.networks import NETWORKS, compiled


def _readers(program: Program, number: int) -> list[Command]:
    """Commands that read the result of a record before something else is written to its address."""
    output, readers = program.commands[number].output, []
    for command in program.commands[number + 1 :]:
        if output in command.inputs:
            readers.append(command)
        if (command.output.space, command.output.address) == (output.space, output.address):
            break
    return readers


def _pair(program: Program) -> tuple[int, int]:
    """Numbers of a dense convolution and of the dense convolution that alone reads its result, right after it."""
    for number, (first, second) in enumerate(zip(program.commands, program.commands[1:], strict=False)):
        if first.kind != "conv2d" or second.kind != "conv2d" or second.attributes["groups"] != 1:
            continue
        if (
            second.inputs.count(first.output) == 1
            and second.inputs[0] == first.output
            and _readers(program, number) == [second]
        ):
            return number, number + 1
    raise AssertionError("the network has no such pair")


def _permuted(program: Program, store: BlobStore, order: np.ndarray) -> tuple[Program, int]:
    first, second = _pair(program)
    blobs, commands = list(program.blobs), list(program.commands)

    def replace(command: Command, names: tuple[str, ...], axis: int) -> Command:
        constants = dict(command.constants)
        for name in names:
            old = program.blobs[constants[name]]
            array = np.take(store.get(old.key, old.dtype, old.shape), order, axis=axis)
            constants[name] = len(blobs)
            blobs.append(Blob(store.put(array), old.dtype, old.shape))
        return dataclasses.replace(command, constants=constants)

    commands[first] = replace(commands[first], ("weight", "bias", "multiplier", "shift"), 0)
    commands[second] = replace(commands[second], ("weight",), 3)
    return dataclasses.replace(program, blobs=tuple(blobs), commands=tuple(commands)), first


@pytest.mark.parametrize("name", ["digits", "resnet8"])
def test_codes_are_permuted(name: str) -> None:
    package = read_package(compiled(name))
    program = next(iter(package.programs.values()))
    channels = program.commands[_pair(program)[0]].output.shape[-1]
    order = np.random.default_rng(2).permutation(channels)
    other, first = _permuted(program, package.store, order)
    feed = {NETWORKS[name].input_name: NETWORKS[name].inputs(1, 4)[0]}
    seen: list[dict[int, np.ndarray]] = []
    for candidate in (program, other):
        codes: dict[int, np.ndarray] = {}
        Simulator(candidate, package.store).run(
            feed, observe=lambda n, c, out, codes=codes: codes.update({n: out.copy()})
        )
        seen.append(codes)
    assert np.array_equal(seen[0][first][..., order], seen[1][first])
    for number in seen[0]:
        assert number == first or np.array_equal(seen[0][number], seen[1][number])
