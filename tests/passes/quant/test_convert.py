"""`convert-mblt-to-quant`: rows, ties, fixed encodings, fusion of clamps, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from qbc.dialects import mblt, quant
from qbc.dialects.quant import ParamTable
from qbc.driver.context import make_context
from qbc.errors import QBCompilerError
from qbc.passes.base import source_names
from qbc.passes.quant.convert_mblt_to_quant import ConvertMbltToQuant
from tests.support.quant_single_op import Graph, function_of

X = np.zeros((1, 6, 6, 4), dtype=np.float32)


def convert(build: Callable[[Graph], SSAValue], method: int = 3, inputs: int = 1) -> ModuleOp:
    """Convert what `build` adds to a graph with inputs of shape 1x6x6x4."""
    graph = Graph([X] * inputs)
    module = graph.module(build(graph))
    ConvertMbltToQuant(method).run(module, graph.ctx)
    module.verify()
    return module


def ops_of(module: ModuleOp) -> list[str]:
    """Return the mnemonics of the function without the boundary."""
    names = [op.name.partition(".")[2] for op in function_of(module).body.block.ops]
    return [name for name in names if name not in ("quantize", "dequantize", "return")]


def rows_of(module: ModuleOp) -> list[str | None]:
    """Return the row name of every quant result in program order."""
    table = ParamTable(module)
    rows = [table.row_of(op.results[0]) for op in module.walk() if isinstance(op, quant.QuantOp)]
    return [row.row_name if row else None for row in rows]


def conv(g: Graph, x: SSAValue, name: str = "conv") -> SSAValue:
    """Add a 1x1 convolution."""
    return g.add(mblt.Conv2dOp.of(x, weight=g.blob(np.ones((4, 1, 1, 4))), kernel=[1, 1]), name)


def test_movement_shares_the_row_and_arithmetic_does_not() -> None:
    def build(g: Graph) -> SSAValue:
        x = conv(g, g.args[0])
        x = g.add(mblt.MaxPool2dOp.of(x, kernel=[2, 2], strides=[2, 2]))
        x = g.add(mblt.TransposeOp.of(x, permutation=[0, 3, 1, 2]))
        return g.add(mblt.AddOp.of(x, x))

    assert rows_of(convert(build)) == ["r0", "r1", "r1", "r1", "r2", None]


@pytest.mark.parametrize(("method", "rows"), [(0, 3), (1, 1), (2, 3), (3, 1)])
def test_concat_ties_its_branches_under_group_methods(method: int, rows: int) -> None:
    module = convert(lambda g: g.add(mblt.ConcatOp.of(*g.args, axis=3)), method, inputs=2)
    assert len(list(ParamTable(module))) == rows


def test_relu_becomes_the_clamp_of_its_only_producer() -> None:
    module = convert(lambda g: g.add(mblt.ReluOp.of(conv(g, g.args[0])), "relu"))
    assert ops_of(module) == ["conv2d"]
    op = next(op for op in module.walk() if isinstance(op, quant.Conv2dOp))
    assert op.properties["activation"].data == "relu"
    assert source_names(op) == ("conv", "relu")


def test_relu_of_a_value_with_other_users_or_of_a_pool_is_a_requantize() -> None:
    def shared(g: Graph) -> SSAValue:
        x = conv(g, g.args[0])
        return g.add(mblt.AddOp.of(x, g.add(mblt.ReluOp.of(x))))

    def pooled(g: Graph) -> SSAValue:
        return g.add(mblt.ClipOp.of(g.add(mblt.MaxPool2dOp.of(g.args[0], kernel=[2, 2])), min=-1.0, max=1.0))

    assert ops_of(convert(shared)) == ["conv2d", "requantize", "add"]
    assert ops_of(convert(pooled)) == ["max_pool2d", "requantize"]


@pytest.mark.parametrize("method", [0, 3])
def test_probability_heads_have_a_fixed_encoding(method: int) -> None:
    def head(g: Graph) -> SSAValue:
        x = g.add(mblt.SigmoidOp.of(conv(g, g.args[0])))
        return g.add(mblt.ReshapeOp.of(x, result_type=TensorType(f32, [1, 144])))

    def inside(g: Graph) -> SSAValue:
        return conv(g, g.add(mblt.SigmoidOp.of(g.args[0])))

    fixed = [row for row in ParamTable(convert(head, method)) if row.is_fixed]
    assert [row.encoding for row in fixed] == [("i8", np.float32(1 / 255), -128)]
    assert not [row for row in ParamTable(convert(inside, method)) if row.is_fixed]


@pytest.mark.parametrize("alias", ["tile", "pad", "cast"])
def test_relu_of_a_value_that_stands_for_two_is_a_requantize(alias: str) -> None:
    """What changes nothing has no operation of its own; the clamp must not reach the readers of its operand."""
    from qbc.execute.float_torch import FloatProgram
    from qbc.passes.quant.lift import lift

    x = np.random.default_rng(1).standard_normal(X.shape).astype(np.float32)
    graph = Graph([x])
    value = conv(graph, graph.args[0])
    same = {
        "tile": lambda: mblt.TileOp.of(value, repeats=[1, 1, 1, 1]),
        "pad": lambda: mblt.PadOp.of(value, before=[0] * 4, after=[0] * 4, mode="edge"),
        "cast": lambda: mblt.CastOp.of(value, result_type=value.type),
    }[alias]()
    module = graph.module(value, graph.add(mblt.ReluOp.of(graph.add(same))))
    ConvertMbltToQuant().run(module, graph.ctx)
    assert ops_of(module) == ["conv2d", "requantize"]
    results = FloatProgram(lift(function_of(module)).function, graph.store).run({"x0": x})
    wanted = np.repeat(x.sum(-1, keepdims=True), 4, -1)
    np.testing.assert_allclose(results["y0"], wanted, atol=1e-5)
    np.testing.assert_allclose(results["y1"], np.maximum(wanted, 0), atol=1e-5)


def test_functions_keep_their_parameters() -> None:
    module = convert(lambda g: g.add(mblt.HardSigmoidOp.of(g.args[0], alpha=0.25, beta=0.5)))
    op = next(op for op in module.walk() if isinstance(op, quant.LutOp))
    assert {name: getattr(value, "data", None) or value.value.data for name, value in op.properties.items()} == {
        "function": "hard_sigmoid",
        "alpha": 0.25,
        "beta": 0.5,
    }


def test_indices_become_i32_without_an_encoding() -> None:
    block = Block(arg_types=[TensorType(f32, [7, 3]), TensorType(i64, [2])])
    gather = mblt.GatherOp.of(*block.args, axis=0)
    block.add_ops([gather, ReturnOp(gather.results[0])])
    types = [value.type for value in block.args]
    module = ModuleOp([FuncOp("main", (types, [gather.results[0].type]), Region([block]))])
    ConvertMbltToQuant().run(module, make_context())
    module.verify()
    assert function_of(module).body.block.args[1].type == TensorType(i32, [2])


def test_every_operation_without_an_integer_form_is_listed() -> None:
    def build(g: Graph) -> SSAValue:
        index = g.add(mblt.CastOp.of(g.args[0], result_type=TensorType(i32, X.shape)), "cast")
        total = g.add(mblt.AddOp.of(index, index), "sum")
        return g.add(
            mblt.AddOp.of(g.add(mblt.CastOp.of(total, result_type=TensorType(f32, X.shape))), g.args[1]), "fine"
        )

    with pytest.raises(QBCompilerError) as caught:
        convert(build, inputs=2)
    assert caught.value.code == "UNSUPPORTED_OP"
    assert "cast: cast: conversion" in caught.value.message
    assert "sum: add: arithmetic on integer values" in caught.value.message
    assert "fine" not in caught.value.message


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_weights_of_other_float_types_become_float32(dtype: str) -> None:
    from qbc.dialects.blob import write_blob

    def build(g: Graph) -> SSAValue:
        weight = write_blob(g.store, np.eye(4, dtype=dtype).reshape(4, 1, 1, 4))
        return g.add(mblt.Conv2dOp.of(g.args[0], weight=weight, kernel=[1, 1]))

    op = next(op for op in convert(build).walk() if isinstance(op, quant.Conv2dOp))
    assert op.properties["weight"].dtype == "float32"


def test_a_dynamic_shape_is_refused() -> None:
    block = Block(arg_types=[TensorType(f32, [-1, 4])])
    relu = mblt.ReluOp.of(block.args[0])
    block.add_ops([relu, ReturnOp(relu.results[0])])
    module = ModuleOp([FuncOp("main", ([block.args[0].type], [relu.results[0].type]), Region([block]))])
    with pytest.raises(QBCompilerError, match="not fixed") as caught:
        ConvertMbltToQuant().run(module, make_context())
    assert caught.value.code == "SHAPE_ERROR"
