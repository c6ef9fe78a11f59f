"""Random graphs under every calibration method: legal after each pass, and close to float at 16 bits."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from qbc.dialects import quant
from qbc.dialects.quant import ParamTable
from qbc.execute.integer import IntegerProgram
from qbc.passes.quant.quant_canonicalize import QuantCanonicalize
from qbc.passes.quant.quant_insert_requant import QuantInsertRequant
from qbc.passes.quant.quant_materialize import QuantMaterialize
from qbc.passes.quant.quant_verify import QuantVerify
from tests.support.quant_graphs import SHAPE, STEPS, convert_and_range, random_graph
from tests.support.quant_single_op import function_of


def is_legal(module: ModuleOp) -> None:
    """Every operation that moves or compares codes has one encoding around it, by hand and not by the verifier."""
    table = ParamTable(module)
    for op in module.walk():
        if isinstance(op, (quant.ConcatOp, quant.MaximumOp, quant.MinimumOp, quant.TransposeOp, quant.SliceOp)):
            assert len({table.encoding(value) for value in (*op.operands, *op.results)}) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_random_graph(steps: list[tuple[str, int, int]], method: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(SHAPE).astype(np.float32)
    g, module = random_graph(steps, x, rng)
    wanted = convert_and_range(g, module, x, method, "i16")
    QuantVerify("created").run(module, g.ctx)
    for transform in (QuantInsertRequant(), QuantCanonicalize()):
        transform.run(module, g.ctx)
        module.verify()
        is_legal(module)
    QuantVerify("ranged").run(module, g.ctx)
    QuantMaterialize().run(module, g.ctx)
    module.verify()
    QuantVerify("materialized").run(module, g.ctx)
    got = IntegerProgram(function_of(module), g.store).run({"x0": x})["y0"]
    assert np.abs(got - wanted).max() < 0.002 * max(np.abs(wanted).max(), 1.0)
