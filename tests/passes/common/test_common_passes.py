"""canonicalize, cse and symbol-dce."""

from __future__ import annotations

import math

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr, TensorType, f32
from xdsl.dialects.func import CallOp, FuncOp

from qbc.dialects import mblt
from qbc.passes.base import source_names
from qbc.pipelines.registry import pass_class
from tests.support.mblt_graphs import MbltGraph
from tests.support.mblt_passes import check_pass

SHAPE = (2, 3, 4, 5)


def _const(g: MbltGraph, value: float):
    return g.constant(np.full((1, 1, 1, 1), value))


NO_OPS = {
    "reshape": lambda g, x: g.op(mblt.ReshapeOp, x, result_type=x.type),
    "expand": lambda g, x: g.op(mblt.ExpandOp, x, result_type=x.type),
    "cast": lambda g, x: g.op(mblt.CastOp, x, result_type=x.type),
    "transpose": lambda g, x: g.op(mblt.TransposeOp, x, permutation=[0, 1, 2, 3]),
    "concat": lambda g, x: g.op(mblt.ConcatOp, x, axis=1),
    "slice": lambda g, x: g.op(mblt.SliceOp, x, starts=[0] * 4, ends=list(SHAPE), steps=[1] * 4),
    "pad": lambda g, x: g.op(mblt.PadOp, x, before=[0] * 4, after=[0] * 4),
    "tile": lambda g, x: g.op(mblt.TileOp, x, repeats=[1] * 4),
    "add": lambda g, x: g.op(mblt.AddOp, x, _const(g, 0.0)),
    "sub": lambda g, x: g.op(mblt.SubOp, x, _const(g, 0.0)),
    "mul": lambda g, x: g.op(mblt.MulOp, x, _const(g, 1.0)),
    "div": lambda g, x: g.op(mblt.DivOp, x, _const(g, 1.0)),
}


@pytest.mark.parametrize("case", NO_OPS)
def test_no_ops_go_and_are_named(case: str) -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.TanhOp, NO_OPS[case](g, g.input(SHAPE))))
    assert check_pass(g, func, "canonicalize") == ["tanh"]
    assert [name.partition("_")[0] for name in g.context.report["removed"]] == [case]


KEPT = {
    "transpose": lambda g, x: g.op(mblt.TransposeOp, x, permutation=[0, 2, 1, 3]),
    "slice": lambda g, x: g.op(mblt.SliceOp, x, starts=[0] * 4, ends=list(SHAPE), steps=[1, 1, 1, 2]),
    "add": lambda g, x: g.op(mblt.AddOp, x, _const(g, 0.1)),
    "sub": lambda g, x: g.op(mblt.SubOp, _const(g, 0.0), x),
    "mul": lambda g, x: g.op(mblt.MulOp, x, _const(g, 1.0), activation="relu"),
}


@pytest.mark.parametrize("case", KEPT)
def test_ops_that_change_something_stay(case: str) -> None:
    g = MbltGraph()
    func = g.finish(KEPT[case](g, g.input((2, 3, 3, 5) if case == "transpose" else SHAPE)))
    assert check_pass(g, func, "canonicalize") == [case]


def test_movements_in_a_row_merge() -> None:
    g = MbltGraph()
    x = g.op(mblt.TransposeOp, g.input(SHAPE), permutation=[0, 2, 3, 1])
    x = g.op(mblt.TransposeOp, x, permutation=[3, 0, 1, 2])
    x = g.op(
        mblt.ReshapeOp,
        g.op(mblt.ReshapeOp, x, result_type=TensorType(f32, [6, 20])),
        result_type=TensorType(f32, [12, 10]),
    )
    x = g.op(mblt.SliceOp, x, starts=[2, 1], ends=[12, 10], steps=[2, 2])
    x = g.op(mblt.SliceOp, x, starts=[1, 0], ends=[5, 5], steps=[2, 3])
    func = g.finish(x)
    assert check_pass(g, func, "canonicalize") == ["transpose", "reshape", "slice"]
    assert len(source_names(list(func.body.block.ops)[2])) == 2


def test_transposes_that_cancel_vanish() -> None:
    g = MbltGraph()
    x = g.op(mblt.TransposeOp, g.input(SHAPE), permutation=[0, 2, 3, 1])
    func = g.finish(g.op(mblt.TanhOp, g.op(mblt.TransposeOp, x, permutation=[0, 3, 1, 2])))
    assert check_pass(g, func, "canonicalize") == ["tanh"]


def test_clamps_merge_and_powers_get_their_names() -> None:
    g = MbltGraph()
    x = g.op(mblt.ClipOp, g.input(SHAPE), min=0.0, max=math.inf)
    x = g.op(mblt.TanhOp, g.op(mblt.ClipOp, x, min=-1.0, max=0.5))
    y = g.op(mblt.PowOp, g.op(mblt.MulOp, x, x), _const(g, 2.0))
    func = g.finish(g.op(mblt.PowOp, y, _const(g, 0.5)), g.op(mblt.PowOp, y, _const(g, 3.0)))
    assert check_pass(g, func, "canonicalize") == ["clip", "tanh", "square", "square", "sqrt", "pow"]


def test_dead_ops_go() -> None:
    g = MbltGraph()
    x = g.input(SHAPE)
    g.op(mblt.ExpOp, g.op(mblt.TanhOp, x))
    assert check_pass(g, g.finish(g.op(mblt.ReluOp, x)), "canonicalize") == ["relu"]


def test_cse_merges_equal_ops_only() -> None:
    g = MbltGraph()
    x = g.input(SHAPE)
    first, second = (g.op(mblt.LeakyReluOp, x, alpha=0.1) for _ in range(2))
    other = g.op(mblt.LeakyReluOp, x, alpha=0.2)
    constants = [g.op(mblt.AddOp, x, _const(g, 0.5)) for _ in range(2)]
    func = g.finish(g.op(mblt.AddOp, first, second), other, *constants)
    assert check_pass(g, func, "cse") == ["leaky_relu", "leaky_relu", "add", "add"]
    assert source_names(next(iter(func.body.block.ops))) == ("leaky_relu_0", "leaky_relu_1")


def test_symbol_dce_erases_what_is_private_and_unreferenced() -> None:
    g = MbltGraph()
    g.finish(g.op(mblt.ReluOp, g.input(SHAPE)))
    kind = ((TensorType(f32, [1]),), (TensorType(f32, [1]),))
    for name in ("used", "through", "unused", "loop"):
        g.module.body.block.add_op(FuncOp(name, kind, visibility=StringAttr("private")))
    public = FuncOp("public", kind)
    for func, callee in ((public, "used"),):
        block = func.body.block
        block.add_op(CallOp(callee, [block.args[0]], [TensorType(f32, [1])]))
    g.module.body.block.add_op(public)
    holder = FuncOp("holder", kind, visibility=StringAttr("private"))
    holder.body.block.add_op(CallOp("holder", [holder.body.block.args[0]], [TensorType(f32, [1])]))
    g.module.body.block.add_op(holder)
    pass_class("symbol-dce")().run(g.module, g.context)
    assert [op.sym_name.data for op in g.module.ops] == ["main", "used", "public"]
