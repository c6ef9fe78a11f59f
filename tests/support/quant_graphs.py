"""Random mblt graphs of operations that keep one shape."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qbc.dialects import mblt
from qbc.dialects.quant import ParamTable
from qbc.execute.float_torch import FloatProgram
from qbc.passes.quant.convert_mblt_to_quant import ConvertMbltToQuant
from qbc.passes.quant.lift import lift
from tests.support.quant_single_op import Array, Graph, encoding_for, function_of, grid_weights

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


def random_graph(steps: list[tuple[str, int, int]], x: Array, rng: np.random.Generator) -> tuple[Graph, ModuleOp]:
    """Return a graph that applies the steps to its values."""
    g = Graph([x])
    values = [g.args[0]]
    for kind, a, b in steps:
        values.append(add_operation(g, kind, values[-1 - a % len(values)], values[-1 - b % len(values)], rng))
    return g, g.module(values[-1])


def convert_and_range(g: Graph, module: ModuleOp, x: Array, method: int, storage: str) -> Array:
    """Convert, set every encoding from a float64 run on `x`, and return the float64 result."""
    ConvertMbltToQuant(method).run(module, g.ctx)
    reference = lift(function_of(module))
    seen: dict[SSAValue, Array] = {reference.function.body.block.args[0]: x}
    watch = {value: lambda data, value=value: seen.update({value: data}) for value in reference.values.values()}
    wanted = FloatProgram(reference.function, g.store, "float64").run({"x0": x}, watch)["y0"]
    table = ParamTable(module)
    for row in table:
        if row.is_fixed and storage == "i8":
            continue
        members = [seen[reference.values[value]] for value in table.members(row)]
        low, high = min(float(m.min()) for m in members), max(float(m.max()) for m in members)
        table.set_encoding(row, *encoding_for(low, high, storage))
    return wanted
