"""Lowering of a program in value form, and its meaning by the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from qbc.dialects.blob import read_blob
from qbc.dialects.npu import ConstantOp, KernelOp, ProgramOp
from qbc.driver.context import make_context
from qbc.kernels.storage import load_codes, store_codes
from qbc.passes.base import CompileContext, Pass
from qbc.passes.npu.npu_assign_address import NpuAssignAddress
from qbc.passes.npu.npu_assign_buffers import NpuAssignBuffers
from qbc.passes.npu.npu_assign_core import NpuAssignCore
from qbc.passes.npu.npu_assign_mode import NpuAssignMode
from qbc.passes.npu.npu_assign_order import NpuAssignOrder
from qbc.passes.npu.npu_emit import program_image
from qbc.passes.npu.npu_fuse import NpuFuse
from qbc.passes.npu.npu_legalize import NpuLegalize
from qbc.passes.npu.npu_split_planes import NpuSplitPlanes
from qbc.passes.npu.npu_verify_plan import NpuVerifyPlan
from qbc.program import decode_program
from qbc.runtime import Simulator
from qbc.store import BlobStore
from tests.oracle import CODE_RANGES, run

PLANNING: tuple[Pass, ...] = (
    *(NpuAssignOrder(), NpuAssignBuffers(), NpuAssignAddress(), NpuAssignCore(), NpuVerifyPlan()),
)
LOWERING: tuple[Pass, ...] = (NpuLegalize(), NpuFuse(), NpuSplitPlanes(), NpuAssignMode(), *PLANNING)


def lowering(mode: str) -> tuple[Pass, ...]:
    """The passes of `LOWERING` for a core mode."""
    return tuple(NpuAssignMode(mode) if isinstance(step, NpuAssignMode) else step for step in LOWERING)


def context(store: BlobStore, target: str = "aries-rb") -> CompileContext:
    """A compile context on a target."""
    return make_context(store=store, target=target)


def apply(program: ProgramOp, ctx: CompileContext, passes: Sequence[Pass]) -> None:
    """Run passes, verifying after each."""
    for step in passes:
        step.run(program, ctx)
        program.verify()


def simulate(program: ProgramOp, store: BlobStore, codes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Pack, decode and run a planned program on input codes; returns output codes."""
    return run_codes(Simulator(decode_program(program_image(program, store).code), store), codes)


def run_codes(simulator: Simulator, codes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a simulator on the codes of one image; returns output codes."""
    types = [tensor.operand.dtype for tensor in simulator.program.inputs]
    stored = [store_codes(array, dtype) for array, dtype in zip(codes, types, strict=True)]
    return [load_codes(view).copy() for view in simulator.run_stored(stored)]


def meaning(program: ProgramOp, store: BlobStore, codes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Evaluate a program in value form op by op with the oracle."""
    values: dict[SSAValue, np.ndarray] = dict(zip(program.body.block.args, codes, strict=True))
    for op in program.body.block.ops:
        if isinstance(op, ConstantOp):
            values[op.result] = read_blob(store, op.value)
        elif isinstance(op, KernelOp):
            values[op.output[0]] = _evaluate(op, store, values)
    return [values[value] for value in program.return_op.values]


def _evaluate(op: KernelOp, store: BlobStore, values: Mapping[SSAValue, np.ndarray]) -> np.ndarray:
    constants = {name: read_blob(store, blob) for name, blob in op.call_constants().items()}
    inputs = [values[value].astype(np.int64) for value in op.inputs]
    result = op.output_type
    return run(op.KIND, inputs, op.call_attributes(), constants, result.shape, result.element)


def random_codes(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> np.ndarray:
    """Random codes of a type; small numbers for indices."""
    low, high = CODE_RANGES.get(element, (0, 6))
    return rng.integers(low, high + 1, shape).astype({"i8": np.int8, "i16": np.int16, "i32": np.int32}[element])
