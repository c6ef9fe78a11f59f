"""Core modes: random programs give the oracle's codes on any number of cores, and damaged distributions are found."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import int_list
from qbc.dialects.npu import ProgramOp
from qbc.dialects.npu.convolution import AccumulateOp
from qbc.errors import QBCompilerError
from qbc.kernels.storage import load_codes, store_codes
from qbc.passes.npu.npu_assign_mode import NpuAssignMode
from qbc.passes.npu.npu_emit import program_image
from qbc.passes.npu.npu_verify_plan import NpuVerifyPlan
from qbc.passes.npu.programs import buffers, commands
from qbc.program import decode_program
from qbc.runtime import Simulator
from qbc.store import BlobStore
from tests.passes.npu.test_npu_lowering import Graph
from tests.support.npu_lowering import apply, context, lowering, meaning, random_codes

MODES = ("single", "multi", "global4", "global8")


def grown(seed: int, element: str) -> tuple[Graph, ProgramOp]:
    graph = Graph(np.random.default_rng(seed), element)
    while len(graph.values) < 14:
        graph.grow()
    return graph, graph.program()


def run(program: ProgramOp, store: BlobStore, images: list[np.ndarray]) -> list[list[np.ndarray]]:
    simulator = Simulator(decode_program(program_image(program, store).code), store)
    dtype = simulator.program.inputs[0].operand.dtype
    at_once, found = simulator.program.images, []
    for start in range(0, len(images), at_once):
        stored = [[store_codes(image, dtype)] for image in images[start : start + at_once]]
        found += [[load_codes(view).copy() for view in views] for views in simulator.run_images(stored)]
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("element", ["i8", "i16"])
@pytest.mark.parametrize("seed", range(5))
def test_random_programs(seed: int, element: str, mode: str) -> None:
    graph, program = grown(seed, element)
    rng = np.random.default_rng(seed + 100)
    images = [random_codes(rng, graph.input.shape, element) for _ in range(5)]
    wanted = [meaning(program, graph.store, [image]) for image in images]
    apply(program, context(graph.store), lowering(mode))
    for found, expected in zip(run(program, graph.store, images), wanted, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def mutate(rng: random.Random, program: ProgramOp) -> None:
    """Change the core or the block of a command, take a command away, or move a buffer."""
    command = rng.choice(commands(program))
    choice = rng.randrange(4)
    if choice == 0:
        command.properties["core"] = IntegerAttr(rng.randrange(9), i64)
    elif choice == 1 and isinstance(command, AccumulateOp) and command.channels is not None:
        begin, end = command.block
        shifted = (begin + rng.choice([-1, 0, 1]), end + rng.choice([-1, 0, 1]))
        command.properties["channels"] = int_list(list(shifted))
    elif choice == 2:
        command.detach()
    else:
        buffer = rng.choice(buffers(program))
        places = [b.address.value.data for b in buffers(program) if b.address is not None]
        buffer.properties["address"] = IntegerAttr(rng.choice(places), i64)


@pytest.mark.parametrize("mode", ["multi", "global4"])
@pytest.mark.parametrize("seed", range(3))
def test_damaged_distributions_are_found_or_change_nothing(seed: int, mode: str) -> None:
    graph, program = grown(seed, "i8")
    ctx = context(graph.store)
    apply(program, ctx, lowering(mode))
    images = [random_codes(np.random.default_rng(3), graph.input.shape, "i8") for _ in range(4)]
    wanted = run(program, graph.store, images)
    rng, found = random.Random(seed), 0
    for _ in range(60):
        mutant = program.clone()
        mutate(rng, mutant)
        try:
            mutant.verify()
            NpuVerifyPlan().run(mutant, ctx)
        except (QBCompilerError, VerifyException):
            found += 1
            continue
        same = run(mutant, graph.store, images)
        assert all(np.array_equal(a, b) for x, y in zip(same, wanted, strict=True) for a, b in zip(x, y, strict=True))
    assert found > 5


def test_all_makes_one_program_for_each_mode_and_shares_constants() -> None:
    graph, program = grown(1, "i8")
    module, ctx = ModuleOp([program]), context(graph.store)
    NpuAssignMode("all").run(program, ctx)
    programs = [op for op in module.ops if isinstance(op, ProgramOp)]
    assert [op.mode.data for op in programs] == list(MODES)
    assert len({op.sym_name.data for op in programs}) == 4
    keys = []
    for op in programs:
        apply(op, ctx, [step for step in lowering("single") if not isinstance(step, NpuAssignMode)])
        assert op.location == program.location
        keys.append(set(program_image(op, graph.store).blob_keys))
    assert all(key == keys[0] for key in keys)
    assert any("does not load in core mode Auto" in notice for notice in ctx.notices)


def test_all_needs_a_module() -> None:
    graph, program = grown(1, "i8")
    with pytest.raises(QBCompilerError, match="inside a module"):
        NpuAssignMode("all").run(program, context(graph.store))
