"""Damaged and wrong ONNX files end in one documented error, or import; nothing else."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from qbc.errors import QBCompilerError
from qbc.export.onnx_framework import framework_to_onnx
from qbc.frontends.onnx import import_onnx
from qbc.store import BlobStore
from tests.frontends.mutations import KINDS
from tests.frontends.onnx_models import model, run_passes, value

PASSES = ("framework-fold-shapes", "framework-fold-constants", "framework-simplify", "framework-eliminate-dead")
MUTATIONS = 120


@cache
def bases() -> tuple[bytes, ...]:
    """Return one CNN with shape arithmetic at an old opset, and one model with bodies, a function and external data."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.normal(size=(16, 3, 3, 3)).astype(np.float32),
        "v": rng.normal(size=(64, 10)).astype(np.float32),
        "scales": np.array([1, 1, 2, 2], np.float32),
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "rest": np.array([-1], np.int64),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2], group=1),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Upsample", ["b", "scales"], ["c"], mode="nearest"),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Shape", ["d"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["d", "t"], ["e"]),
        helper.make_node("MatMul", ["e", "v"], ["f"]),
        helper.make_node("Softmax", ["f"], ["y"], axis=1),
    ]
    cnn = model(nodes, [value("x", [1, 3, 8, 8])], [value("y", ["N", 10])], constants, opset=9, ir_version=4)
    return cnn.SerializeToString(), _model_with_bodies().SerializeToString()


def _model_with_bodies() -> onnx.ModelProto:
    boolean = TensorProto.BOOL
    branch = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["t"])], "then", [], [value("t", [3])])
    other = helper.make_graph([helper.make_node("Twice", ["x"], ["u"], domain="local")], "else", [], [value("u", [3])])
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "r"], ["next"]), helper.make_node("Identity", ["going"], ["go"])],
        "body",
        [value("i", [], TensorProto.INT64), value("going", [], boolean), value("state", [3])],
        [value("go", [], boolean), value("next", [3])],
    )
    nodes = [
        helper.make_node("If", ["condition"], ["r"], then_branch=branch, else_branch=other),
        helper.make_node("Loop", ["count", "", "r"], ["y"], body=body),
    ]
    inputs = [value("condition", [], boolean), value("x", [3])]
    constants = {"k": np.ones(3, np.float32), "count": np.int64(2)}
    proto = model(nodes, inputs, [value("y", [3])], constants, opset=17, ir_version=8, domains=["local"])
    add = helper.make_node("Add", ["a", "a"], ["b"])
    proto.functions.append(helper.make_function("local", "Twice", ["a"], ["b"], [add], [helper.make_opsetid("", 17)]))
    return proto


def attempt(path: Path) -> str:
    """Import, fold and export a file; return the error code, or `ok`."""
    store = BlobStore()
    try:
        module = import_onnx(path, store)
        module.verify()
        run_passes(module, store, *PASSES)
        framework_to_onnx(module, store)
    except QBCompilerError as error:
        assert len(str(error)) < 2000
        return error.code
    return "ok"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_mutations_end_in_one_error(kind, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    codes: Counter[str] = Counter()
    for seed in range(MUTATIONS):
        rng = random.Random(seed)
        path.write_bytes(kind(rng, rng.choice(bases())))
        codes[attempt(path)] += 1
    assert codes["INTERNAL_ERROR"] == 0
    assert codes["INVALID_MODEL"] > MUTATIONS // 3
    assert set(codes) <= {"ok", "INVALID_MODEL", "UNSUPPORTED_OPSET", "MISSING_EXTERNAL_DATA", "SHAPE_ERROR"}


def test_bases_are_valid(tmp_path: Path) -> None:
    for data in bases():
        (tmp_path / "model.onnx").write_bytes(data)
        assert attempt(tmp_path / "model.onnx") == "ok"


@pytest.mark.parametrize("data", [b"", b"\0", b"not a model at all", b"\x7fELF" + bytes(100), b"\x3a\x02\x08"])
def test_other_files(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(data)
    assert attempt(tmp_path / "model.onnx") == "INVALID_MODEL"


def test_a_directory(tmp_path: Path) -> None:
    assert attempt(tmp_path) == "INVALID_MODEL"


def test_tensor_that_claims_to_be_huge(tmp_path: Path) -> None:
    proto = onnx.ModelProto.FromString(bases()[0])
    proto.graph.initializer[0].dims[0] = 1 << 60
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    assert attempt(tmp_path / "model.onnx") == "INVALID_MODEL"


def test_folding_does_not_build_huge_tensors(tmp_path: Path) -> None:
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["c"]), helper.make_node("ReduceSum", ["c"], ["y"])]
    proto = model(nodes, [], [value("y", None)], {"s": np.array([1 << 20, 1 << 16], np.int64)})
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    assert attempt(tmp_path / "model.onnx") == "ok"


def test_names_that_are_no_text(tmp_path: Path) -> None:
    proto = model([helper.make_node("Relu", ["x"], ["yyyy"], name="abcdef")], [value("x", [2])], [value("yyyy", [2])])
    for name in (b"abcdef", b"yyyy"):
        (tmp_path / "model.onnx").write_bytes(proto.SerializeToString().replace(name, b"\xff" * len(name)))
        assert attempt(tmp_path / "model.onnx") == "INVALID_MODEL"


def test_functions_that_double_at_every_level(tmp_path: Path) -> None:
    proto = model(
        [helper.make_node("F0", ["x"], ["y"], domain="local")], [value("x", [2])], [value("y", [2])], domains=["local"]
    )
    opsets = [helper.make_opsetid("", 25), helper.make_opsetid("local", 1)]
    for level in range(40):
        inner = {"op_type": f"F{level + 1}", "domain": "local"} if level < 39 else {"op_type": "Relu"}
        nodes = [
            helper.make_node(inputs=["a"], outputs=["m"], **inner),
            helper.make_node(inputs=["m"], outputs=["b"], **inner),
        ]
        proto.functions.append(helper.make_function("local", f"F{level}", ["a"], ["b"], nodes, opsets))
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    assert attempt(tmp_path / "model.onnx") == "INVALID_MODEL"


def test_function_that_calls_itself(tmp_path: Path) -> None:
    node = helper.make_node("F", ["x"], ["y"], domain="local")
    proto = model([node], [value("x", [2])], [value("y", [2])], domains=["local"])
    opsets = [helper.make_opsetid("", 25), helper.make_opsetid("local", 1)]
    proto.functions.append(helper.make_function("local", "F", ["x"], ["y"], [node], opsets))
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    assert attempt(tmp_path / "model.onnx") == "INVALID_MODEL"
