"""Overflow proofs, multiplier widths, scale guards and refusals of `quant-materialize`."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import SSAValue

from qbc.dialects import mblt, quant
from qbc.dialects.blob import read_blob
from qbc.dialects.quant.base import int_attr
from qbc.errors import QBCompilerError
from tests.support.quant_single_op import Array, Graph, Outcome, run_both

RNG = np.random.default_rng(11)


def linear(weight: Array, bias: Array | None, x: Array, storage: str = "i8", **options: str) -> tuple[Outcome, Graph]:
    """Run one linear operation."""
    graphs: list[Graph] = []

    def build(g: Graph) -> SSAValue:
        graphs.append(g)
        blob = None if bias is None else g.blob(bias)
        return g.add(mblt.LinearOp.of(g.args[0], weight=g.blob(weight), bias=blob), "fc")

    return run_both(build, [x], storage=storage, **options), graphs[0]


def constant(outcome: Outcome, graph: Graph, name: str) -> Array:
    """Return a constant of the linear operation."""
    op = next(op for op in outcome.module.walk() if isinstance(op, quant.LinearOp))
    return read_blob(graph.store, op.properties[name])


def test_a_sum_beyond_the_accumulator_names_the_channel() -> None:
    weight = np.full((2, 140_000), 0.01)
    weight[0, 100:] = 0.0
    with pytest.raises(QBCompilerError, match="output channel 1: the sum can reach") as caught:
        linear(weight, None, RNG.standard_normal((1, 140_000)))
    assert caught.value.code == "QUANTIZATION_ERROR"
    assert caught.value.node == "fc"


def test_the_short_form_is_used_only_where_31_bits_are_not_proved() -> None:
    weight = np.full((2, 600), 0.5)
    weight[0, 10:] = 0.0
    outcome, graph = linear(weight, None, RNG.standard_normal((3, 600)), "i16", out_storage="i8")
    multiplier = constant(outcome, graph, "multiplier")
    assert 1 << 30 <= multiplier[0] < 1 << 31
    assert 1 << 14 <= multiplier[1] < 1 << 15
    assert outcome.worst() < 0.52


def test_a_channel_that_is_tiny_beside_its_bias_gets_a_coarser_grid() -> None:
    weight = np.array([[1e-12, -1e-12], [0.5, 0.25]])
    outcome, graph = linear(weight, np.array([3.0, 0.5]), RNG.standard_normal((4, 2)))
    assert np.abs(constant(outcome, graph, "bias")).max() < 1 << 31
    assert outcome.worst() < 0.55
    assert any("tiny beside their bias" in notice for notice in graph.ctx.notices)


def test_a_dead_channel_keeps_its_bias() -> None:
    weight = np.array([[0.0, 0.0], [0.5, 0.25]])
    outcome, graph = linear(weight, np.array([0.75, -0.5]), RNG.standard_normal((4, 2)))
    assert not constant(outcome, graph, "weight")[0].any()
    assert outcome.worst() < 0.55


def test_bias_includes_the_input_zero_point() -> None:
    x = np.abs(RNG.standard_normal((4, 3)))  # zero point -128
    weight = np.array([[127.0, 1.0, -3.0]]) / 127
    outcome, graph = linear(weight, None, x)
    codes = constant(outcome, graph, "weight").astype(np.int64)
    assert constant(outcome, graph, "bias").tolist() == (128 * codes.sum(axis=1)).tolist()


@pytest.mark.parametrize(("name", "row"), [("weight", 1), ("bias", 0)])
def test_constants_that_are_not_finite_are_refused(name: str, row: int) -> None:
    weight, bias = np.ones((2, 3)), np.ones(2)
    (weight if name == "weight" else bias)[row] = np.nan
    graph_error = pytest.raises(QBCompilerError, match=f"{name} that is not finite in output channel {row}")
    with graph_error, np.errstate(all="ignore"):
        linear_with_finite_ranges(weight, bias)


def linear_with_finite_ranges(weight: Array, bias: Array) -> None:
    """Materialize a linear operation whose ranges are given, because float results are not finite."""
    from qbc.dialects.quant import ParamTable
    from qbc.passes.quant.convert_mblt_to_quant import ConvertMbltToQuant
    from qbc.passes.quant.quant_materialize import QuantMaterialize

    g = Graph([np.zeros((1, 3), dtype=np.float32)])
    module = g.module(g.add(mblt.LinearOp.of(g.args[0], weight=g.blob(weight), bias=g.blob(bias)), "fc"))
    ConvertMbltToQuant().run(module, g.ctx)
    table = ParamTable(module)
    for row in table:
        table.set_encoding(row, "i8", 0.1, 0)
    QuantMaterialize().run(module, g.ctx)


def test_a_ratio_that_no_multiplier_holds_names_the_node() -> None:
    from qbc.dialects.quant import ParamTable
    from qbc.passes.quant.convert_mblt_to_quant import ConvertMbltToQuant
    from qbc.passes.quant.quant_materialize import QuantMaterialize

    g = Graph([np.zeros((1, 3), dtype=np.float32)])
    module = g.module(g.add(mblt.AddOp.of(g.args[0], g.args[0]), "sum"))
    ConvertMbltToQuant().run(module, g.ctx)
    table = ParamTable(module)
    table.set_encoding(table.rows["r0"], "i8", 1e20, 0)
    table.set_encoding(table.rows["r1"], "i8", 1e-20, 0)
    with pytest.raises(QBCompilerError) as caught:
        QuantMaterialize().run(module, g.ctx)
    assert (caught.value.code, caught.value.node) == ("QUANTIZATION_ERROR", "sum")


def test_a_constant_beyond_64_bits_is_one_error() -> None:
    assert int_attr((1 << 63) - 1).value.data == (1 << 63) - 1
    with pytest.raises(QBCompilerError) as caught:
        int_attr(1 << 100)
    assert caught.value.code == "QUANTIZATION_ERROR"
    assert "2^100" in caught.value.message
