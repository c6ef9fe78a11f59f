"""Random graphs: integer execution, the oracle and the simulator of the lowered program give the same codes."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qbc.dialects import quant
from qbc.dialects.npu import ProgramOp
from qbc.execute.integer import IntegerProgram
from qbc.passes.npu.convert_quant_to_npu import ConvertQuantToNpu
from qbc.passes.quant.quant_canonicalize import QuantCanonicalize
from qbc.passes.quant.quant_insert_requant import QuantInsertRequant
from qbc.passes.quant.quant_materialize import QuantMaterialize
from tests.support.npu_lowering import LOWERING, apply, context, meaning, simulate
from tests.support.quant_graphs import SHAPE, STEPS, convert_and_range, random_graph
from tests.support.quant_single_op import function_of


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, st.integers(0, 3), st.sampled_from(["i8", "i16"]), st.integers(0, 2**32 - 1))
def test_same_codes(steps: list[tuple[str, int, int]], method: int, storage: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(SHAPE).astype(np.float32)
    g, module = random_graph(steps, x, rng)
    convert_and_range(g, module, x, method, storage)
    for transform in (QuantInsertRequant(), QuantCanonicalize(), QuantMaterialize()):
        transform.run(module, g.ctx)
    function = function_of(module)
    ops = list(function.body.block.ops)
    entry = next((op.results[0] for op in ops if isinstance(op, quant.QuantizeOp)), None)
    leave = next(op.operands[0] for op in ops if isinstance(op, quant.DequantizeOp))
    seen: dict[str, np.ndarray] = {}
    observe = {leave: lambda codes: seen.update(leave=codes.copy())}
    if entry is not None and entry is not leave:
        observe[entry] = lambda codes: seen.update(entry=codes.copy())
    IntegerProgram(function, g.store).run({"x0": x}, observe)
    if "entry" not in seen:
        return  # the graph only moves its input, or does not read it
    ctx = context(g.store)
    ConvertQuantToNpu().run(module, ctx)
    program = next(op for op in module.body.block.ops if isinstance(op, ProgramOp))
    assert np.array_equal(meaning(program, g.store, [seen["entry"]])[0], seen["leave"])
    apply(program, ctx, LOWERING)
    assert np.array_equal(simulate(program, g.store, [seen["entry"]])[0], seen["leave"])
