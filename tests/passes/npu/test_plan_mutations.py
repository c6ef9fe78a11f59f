"""A changed address is either found by the plan verifier or changes no output byte."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64

from qbc.dialects.npu import BufferOp, HostTensorAttr, NpuTensorType, ProgramOp, ReturnOp
from qbc.errors import QBCompilerError
from qbc.passes.npu.npu_verify_plan import NpuVerifyPlan
from qbc.passes.npu.programs import buffers
from qbc.store import BlobStore
from tests.support.npu_lowering import LOWERING, apply, context, random_codes, simulate
from tests.support.npu_ops import KERNEL_OPS, attribute, table


def ladder(rng: np.random.Generator, store: BlobStore) -> ProgramOp:
    """A program of tables and maxima whose values live for different times."""
    from xdsl.ir import Block, SSAValue

    kind = NpuTensorType.of((2, 64), "i8")
    block = Block(arg_types=[kind])
    values: list[SSAValue] = [block.args[0]]
    clamp = {"lo": attribute(-128, store), "hi": attribute(127, store)}
    for index in range(12):
        if index % 3 == 2:
            inputs = [values[-1], values[int(rng.integers(len(values)))]]
            op = KERNEL_OPS["npu.maximum"].build_value(inputs, kind, clamp)
        else:
            codes = np.roll(table(256), index)
            op = KERNEL_OPS["npu.lut"].build_value([values[-1]], kind, {"table": attribute(codes, store)})
        block.add_op(op)
        values.append(op.results[0])
    block.add_op(ReturnOp.build(operands=[[values[-1]]]))
    host = HostTensorAttr.of("x", "f32", 0.5, 0)
    return ProgramOp.make("main", "aries-rb", host_inputs=[host], host_outputs=[host], body=block)


def mutate(rng: random.Random, buffer: BufferOp, addresses: list[int]) -> None:
    choice = rng.choice(["move", "near", "space"])
    if choice == "space":
        other = "dram" if buffer.space is not None and buffer.space.data == "l2" else "l2"
        buffer.properties["space"] = StringAttr(other)
        return
    current = buffer.address.value.data if buffer.address is not None else 0
    moved = rng.choice(addresses) if choice == "move" else max(0, current + rng.choice([-128, -64, -1, 1, 64, 128]))
    buffer.properties["address"] = IntegerAttr(moved, i64)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_addresses(seed: int) -> None:
    store, rng = BlobStore(), random.Random(seed)
    program = ladder(np.random.default_rng(seed), store)
    ctx = context(store)
    apply(program, ctx, LOWERING)
    codes = [random_codes(np.random.default_rng(0), (2, 64), "i8")]
    expected = simulate(program, store, codes)[0]
    addresses = [b.address.value.data for b in buffers(program) if b.address is not None]
    found = 0
    for _ in range(60):
        mutant = program.clone()
        mutate(rng, rng.choice(buffers(mutant)), addresses)
        try:
            NpuVerifyPlan().run(mutant, ctx)
        except QBCompilerError as error:
            assert error.code == "RESOURCE_ERROR"
            found += 1
            continue
        assert np.array_equal(simulate(mutant, store, codes)[0], expected)
    assert found > 5
