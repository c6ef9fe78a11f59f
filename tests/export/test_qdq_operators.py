"""QDQ export of single operators: in onnxruntime within one step of the integer program on the same codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qbcompiler import mblt_compile
from tests.export.test_qdq import Steps
from tests.models.graph import GraphWriter

SHAPE = (1, 4, 6, 8)
Build = Callable[[GraphWriter], str]


def unary(kind: str, **attributes: object) -> Build:
    return lambda graph: graph.node(kind, ["x"], kind.lower(), **attributes)


def on_positive(kind: str, **attributes: object) -> Build:
    """The operator on values away from zero."""

    def build(graph: GraphWriter) -> str:
        above = graph.node("Add", [graph.node("Sigmoid", ["x"]), graph.constant(np.float32([0.5]), "half")])
        return graph.node(kind, [above], kind.lower(), **attributes)

    return build


def binary(kind: str) -> Build:
    def build(graph: GraphWriter) -> str:
        other = graph.node("Add", [graph.node("Sigmoid", ["x"]), graph.constant(np.float32([0.5]), "half")])
        return graph.node(kind, ["x", other], kind.lower())

    return build


def reduction(kind: str, axes: list[int], keep: int = 1) -> Build:
    return lambda graph: graph.node(
        kind, ["x", graph.constant(np.array(axes, np.int64), "axes")], kind.lower(), keepdims=keep
    )


def with_vectors(kind: str, **vectors: list[int]) -> Build:
    return lambda graph: graph.node(
        kind,
        ["x", *(graph.constant(np.array(values, np.int64), name) for name, values in vectors.items())],
        kind.lower(),
    )


def padded(mode: str) -> Build:
    return lambda graph: graph.node(
        "Pad", ["x", graph.constant(np.array([0, 0, 1, 2, 0, 0, 0, 1], np.int64), "pads")], "pad", mode=mode
    )


def selected(graph: GraphWriter) -> str:
    above = graph.node("Greater", ["x", graph.node("Neg", ["x"])])
    return graph.node("Where", [above, graph.node("Tanh", ["x"]), "x"], "where")


def mixed_scales(graph: GraphWriter) -> str:
    wide = graph.node("Mul", ["x", graph.constant(np.float32([7.0]), "seven")])
    return graph.node("Concat", [graph.node("Sigmoid", ["x"]), wide], "joined", axis=1)


def enlarged(graph: GraphWriter) -> str:
    scales = graph.constant(np.array([1, 1, 2, 2], np.float32), "scales")
    return graph.node("Resize", ["x", "", scales], "enlarge", mode="nearest")


def prelu(graph: GraphWriter) -> str:
    return graph.node(
        "PRelu", ["x", graph.constant(np.float32([0.1, 0.2, 0.3, 0.5]).reshape(4, 1, 1), "slope")], "prelu"
    )


CASES: dict[str, Build] = {
    **{kind: unary(kind) for kind in ("Relu", "Abs", "Neg", "Erf", "Softplus", "Mish", "Exp", "Sin", "Cos", "Gelu")},
    **{kind: on_positive(kind) for kind in ("Sqrt", "Reciprocal", "Log")},
    **{kind: binary(kind) for kind in ("Sub", "Div", "Max", "Min", "Mul")},
    **{kind: reduction(kind, [2, 3]) for kind in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceL2", "ReduceMean")},
    "ReduceMax of channels": reduction("ReduceMax", [1], keep=0),
    "LeakyRelu": unary("LeakyRelu", alpha=0.1),
    "Elu": unary("Elu", alpha=1.0),
    "PRelu": prelu,
    "LogSoftmax": unary("LogSoftmax", axis=1),
    "Softmax": unary("Softmax", axis=3),
    "Transpose": unary("Transpose", perm=[0, 2, 1, 3]),
    "Pad constant": padded("constant"),
    "Pad reflect": padded("reflect"),
    "Pad edge": padded("edge"),
    "Tile": with_vectors("Tile", repeats=[1, 2, 1, 3]),
    "Expand": lambda graph: graph.node(
        "Expand",
        [graph.node("GlobalAveragePool", ["x"]), graph.constant(np.array([1, 4, 3, 5], np.int64), "shape")],
        "expand",
    ),
    "Gather": lambda graph: graph.node(
        "Gather", ["x", graph.constant(np.array([2, 0, 2], np.int64), "rows")], "gather", axis=2
    ),
    "Slice": with_vectors("Slice", starts=[1], ends=[8], axes=[3], steps=[2]),
    "Where": selected,
    "Concat of two scales": mixed_scales,
    "Resize nearest": enlarged,
    "AveragePool": unary("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    "MaxPool": unary("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_is_within_one_step(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    graph = GraphWriter()
    output = CASES[name](graph)
    model = graph.save(tmp_path / "m.onnx", {"x": SHAPE}, {output: ()}, opset=20)
    mblt_compile(model, tmp_path / "m.mblt")
    samples = tmp_path / "samples"
    samples.mkdir()
    for index in range(3):
        np.save(samples / f"{index}.npy", rng.standard_normal(SHAPE).astype(np.float32))
    steps = Steps(tmp_path / "m.mblt", samples, {"x": rng.standard_normal(SHAPE).astype(np.float32)})
    worst = steps.differences()
    assert len(worst) >= 2 and max(worst.values()) <= 1, worst
