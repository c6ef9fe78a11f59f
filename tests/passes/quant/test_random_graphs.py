"""Random graphs under every calibration method: legal after each pass, and close to float at 16 bits."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qbc.dialects import mblt, quant
from qbc.dialects.quant import ParamTable
from qbc.execute.float_torch import FloatProgram
from qbc.execute.integer import IntegerProgram
from qbc.passes.quant.convert_mblt_to_quant import ConvertMbltToQuant
from qbc.passes.quant.lift import lift
from qbc.passes.quant.quant_canonicalize import QuantCanonicalize
from qbc.passes.quant.quant_insert_requant import QuantInsertRequant
from qbc.passes.quant.quant_materialize import QuantMaterialize
from qbc.passes.quant.quant_verify import QuantVerify
from tests.support.quant_single_op import Graph, encoding_for, function_of, grid_weights

SHAPE = (1, 4, 4, 4)


def add_operation(g: Graph, kind: str, a: SSAValue, b: SSAValue, rng: np.random.Generator) -> SSAValue:
    """Add one operation that keeps the shape."""
    if kind == "conv":
        weight = g.blob(grid_weights(rng, 4, 1, 1, 4, exponent=-8))
        return g.add(mblt.Conv2dOp.of(a, weight=weight, kernel=[1, 1]))
    if kind == "concat":
        joined = g.add(mblt.ConcatOp.of(a, b, axis=3))
        return g.add(mblt.SliceOp.of(joined, starts=[0, 0, 0, 2], ends=[1, 4, 4, 6], steps=[1, 1, 1, 1]))
    if kind == "transpose":
        return g.add(mblt.TransposeOp.of(a, permutation=[0, 2, 1, 3]))
    if kind == "clip":
        return g.add(mblt.ClipOp.of(a, min=-0.5, max=0.75))
    binary = {"add": mblt.AddOp, "sub": mblt.SubOp, "maximum": mblt.MaximumOp, "minimum": mblt.MinimumOp}
    if kind in binary:
        return g.add(binary[kind].of(a, b))
    return g.add({"relu": mblt.ReluOp, "sigmoid": mblt.SigmoidOp, "tanh": mblt.TanhOp}[kind].of(a))


KINDS = ("conv", "concat", "transpose", "clip", "add", "sub", "maximum", "minimum", "relu", "sigmoid", "tanh")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=9)


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
    g = Graph([x])
    values = [g.args[0]]
    for kind, a, b in steps:
        values.append(add_operation(g, kind, values[-1 - a % len(values)], values[-1 - b % len(values)], rng))
    module = g.module(values[-1])
    ConvertMbltToQuant(method).run(module, g.ctx)
    QuantVerify("created").run(module, g.ctx)
    reference = lift(function_of(module))
    seen: dict[SSAValue, np.ndarray] = {reference.function.body.block.args[0]: x}
    watch = {value: lambda data, value=value: seen.update({value: data}) for value in reference.values.values()}
    wanted = FloatProgram(reference.function, g.store, "float64").run({"x0": x}, watch)["y0"]
    table = ParamTable(module)
    for row in table:
        members = [seen[reference.values[value]] for value in table.members(row)]
        low, high = min(float(m.min()) for m in members), max(float(m.max()) for m in members)
        table.set_encoding(row, *encoding_for(low, high, "i16"))
    for transform in (QuantInsertRequant(), QuantCanonicalize()):
        transform.run(module, g.ctx)
        module.verify()
        is_legal(module)
    QuantVerify("ranged").run(module, g.ctx)
    QuantMaterialize().run(module, g.ctx)
    module.verify()
    QuantVerify("materialized").run(module, g.ctx)
    got = IntegerProgram(function_of(module), g.store).run({"x0": x})["y0"]
    # A fixed sigmoid head has 8 bits; everything else 16.
    assert np.abs(got - wanted).max() < max(0.002 * np.abs(wanted).max(), 0.003)
