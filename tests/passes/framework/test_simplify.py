"""framework-simplify and framework-eliminate-dead: what goes, what stays, and equal results in onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.frontends.onnx_models import check_round_trip, model, operators, value

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
PASSES = ("framework-fold-shapes", "framework-simplify", "framework-eliminate-dead")


def single(op_type: str, constants: dict[str, Any] | None = None, **attributes: Any) -> onnx.ModelProto:
    operands = ["x", *(constants or {})]
    arrays = {name: np.asarray(data) for name, data in (constants or {}).items()}
    nodes = [helper.make_node(op_type, operands, ["z"], **attributes), helper.make_node("Neg", ["z"], ["y"])]
    return model(nodes, [value("x", X.shape)], [value("y", None)], arrays)


GONE = {
    "identity": single("Identity"),
    "cast": single("Cast", to=TensorProto.FLOAT),
    "dropout": single("Dropout"),
    "dropout with flag": single("Dropout", {"ratio": np.float32(0.5), "training": np.array(False)}),
    "reshape": single("Reshape", {"s": np.array([2, 3, -1])}),
    "expand": single("Expand", {"s": np.array([1, 3, 1])}),
    "transpose": single("Transpose", perm=[0, 1, 2]),
    "concat": single("Concat", axis=1),
    "sum": single("Sum"),
    "clip": single("Clip"),
    "pad": single("Pad", {"p": np.zeros(6, np.int64)}),
    "tile": single("Tile", {"r": np.ones(3, np.int64)}),
    "slice": single("Slice", {"a": np.array([0]), "b": np.array([2**40]), "c": np.array([1])}),
    "mul": single("Mul", {"c": np.ones((1, 1), np.float32)}),
    "div": single("Div", {"c": np.float32(1)}),
    "pow": single("Pow", {"c": np.float32(1)}),
    "split": single("Split", num_outputs=1),
}
STAYS = {
    "cast": (single("Cast", to=TensorProto.DOUBLE), ["Cast", "Neg"]),
    "expand": (single("Expand", {"s": np.array([2, 1, 1, 1])}), ["Expand", "Neg"]),
    "transpose": (single("Transpose"), ["Transpose", "Neg"]),
    "pad and crop": (single("Pad", {"p": np.array([1, 0, 0, -1, 0, 0])}), ["Pad", "Neg"]),
    "reversed slice": (
        single("Slice", {"a": np.array([-1]), "b": np.array([-(2**40)]), "c": np.array([1]), "d": np.array([-1])}),
        ["Slice", "Neg"],
    ),
    "mul that widens": (single("Mul", {"c": np.ones((5, 1, 1, 1), np.float32)}), ["Mul", "Neg"]),
    "mul": (single("Mul", {"c": np.float32(1.0000001)}), ["Mul", "Neg"]),
    "reshape": (single("Reshape", {"s": np.array([6, 4])}), ["Reshape", "Neg"]),
}


@pytest.mark.parametrize("name", GONE)
def test_operators_that_change_nothing_go(name: str, tmp_path: Path) -> None:
    assert operators(check_round_trip(GONE[name], tmp_path, {"x": X}, *PASSES)) == ["Neg"]


@pytest.mark.parametrize("name", STAYS)
def test_similar_operators_stay(name: str, tmp_path: Path) -> None:
    proto, wanted = STAYS[name]
    if name == "cast":
        proto.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    assert operators(check_round_trip(proto, tmp_path, {"x": X}, *PASSES)) == wanted


def test_training_dropout_stays(tmp_path: Path) -> None:
    from qbc.store import BlobStore
    from tests.frontends.onnx_models import load, run_passes

    store = BlobStore()
    proto = single("Dropout", {"ratio": np.float32(0.5), "training": np.array(True)})
    module = load(proto, tmp_path, store)
    run_passes(module, store, *PASSES)
    assert operators(module) == ["Dropout", "Neg"]


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [((0, 2, 1), (0, 2, 1), []), ((1, 2, 0), (2, 0, 1), []), ((1, 2, 0), (1, 2, 0), ["Transpose"])],
)
def test_transposes_merge(first: tuple[int, ...], second: tuple[int, ...], wanted: list[str], tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=first),
        helper.make_node("Transpose", ["a"], ["b"], perm=second),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    module = check_round_trip(model(nodes, [value("x", X.shape)], [value("y", None)]), tmp_path, {"x": X}, *PASSES)
    assert operators(module) == [*wanted, "Neg"]


@pytest.mark.parametrize(
    ("last", "wanted"),
    [([2, 3, 4], []), ([4, 6], ["Reshape"]), ([0, -1, 2], ["Flatten", "Unsqueeze", "Reshape"])],
)
def test_views_merge(last: list[int], wanted: list[str], tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Flatten", ["x"], ["a"], axis=2),
        helper.make_node("Unsqueeze", ["a", "axes"], ["b"]),
        helper.make_node("Reshape", ["b", "s"], ["c"]),
        helper.make_node("Neg", ["c"], ["y"]),
    ]
    constants = {"axes": np.array([0]), "s": np.array(last)}
    proto = model(nodes, [value("x", X.shape)], [value("y", None)], constants)
    module = check_round_trip(proto, tmp_path, {"x": X}, *PASSES)
    assert operators(module) == [*wanted, "Neg"]


@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_softmax_between_views(axis: int, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Flatten", ["x"], ["a"], axis=2),
        helper.make_node("Softmax", ["a"], ["b"], axis=axis),
        helper.make_node("Reshape", ["b", "s"], ["y"]),
    ]
    proto = model(nodes, [value("x", X.shape)], [value("y", None)], {"s": np.array(X.shape)})
    module = check_round_trip(proto, tmp_path, {"x": X}, *PASSES)
    assert operators(module) == (["Softmax"] if axis else ["Flatten", "Softmax", "Reshape"])


@pytest.mark.parametrize("flag", [True, False])
def test_constant_condition_takes_its_branch(flag: bool, tmp_path: Path) -> None:
    def branch(name: str, op_type: str) -> onnx.GraphProto:
        nodes = [helper.make_node(op_type, ["x"], [f"{name}_a"]), helper.make_node("Neg", [f"{name}_a"], [f"{name}_b"])]
        return helper.make_graph(nodes, name, [], [value(f"{name}_b", X.shape)])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("then", "Relu"), else_branch=branch("else", "Abs"))
    proto = model([node], [value("x", X.shape)], [value("y", X.shape)], {"c": np.array(flag)})
    module = check_round_trip(proto, tmp_path, {"x": X}, *PASSES)
    assert operators(module) == ["Relu" if flag else "Abs", "Neg"]


def test_dead_operators_go_in_bodies_too(tmp_path: Path) -> None:
    def branch(name: str) -> onnx.GraphProto:
        nodes = [helper.make_node("Exp", ["unused"], [f"{name}_dead"]), helper.make_node("Neg", ["x"], [f"{name}_b"])]
        return helper.make_graph(nodes, name, [], [value(f"{name}_b", X.shape)])

    nodes = [
        helper.make_node("Sin", ["x"], ["unused"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("then"), else_branch=branch("else")),
    ]
    proto = model(nodes, [value("x", X.shape), value("c", [], TensorProto.BOOL)], [value("y", X.shape)])
    module = check_round_trip(proto, tmp_path, {"x": X, "c": np.array(True)}, "framework-eliminate-dead")
    assert operators(module) == ["If", "Neg", "Neg"]
