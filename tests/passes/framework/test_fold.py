"""framework-fold-shapes and framework-fold-constants against onnxruntime and the outputs of the onnx node cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.dialects.framework import constant_of, read_constant
from qbc.execute.framework_constant import _TABLE as NUMPY_OPERATORS
from qbc.passes.framework.inference import all_static
from qbc.store import BlobStore
from tests.frontends.node_cases import Case, all_cases, same
from tests.frontends.onnx_models import check_round_trip, load, main_of, model, operators, run_passes, value

NUMPY_CASES = 300


def on_constants(case: Case) -> onnx.ModelProto | None:
    """Return the model of a case with its inputs as constants, or None when they are no plain arrays."""
    proto = onnx.ModelProto.FromString(case.model)
    if any(entry.version > 25 for entry in proto.opset_import if entry.domain == ""):
        return None
    if len(proto.graph.node) != 1 or len(proto.graph.input) != len(case.inputs):
        return None
    for item, array in zip(proto.graph.input, case.inputs, strict=True):
        plain = np.asarray(array) if isinstance(array, (np.ndarray, np.generic)) else None
        if plain is None or plain.dtype.kind not in "fiub" or plain.dtype.name in ("bfloat16",):
            return None
        proto.graph.initializer.append(numpy_helper.from_array(plain, item.name))
    return proto


def test_values_equal_those_of_the_node_cases(tmp_path: Path) -> None:
    compared: dict[str, int] = {}
    for case in all_cases():
        proto = on_constants(case)
        if proto is None or proto.graph.node[0].op_type not in NUMPY_OPERATORS:
            continue
        store = BlobStore()
        module = load(proto, tmp_path, store)
        run_passes(module, store, "framework-fold-shapes", "framework-fold-constants")
        terminator = main_of(module).body.block.last_op
        assert terminator is not None
        found = read_constant(store, terminator.operands[0])
        if found is None:
            continue
        assert same(found, case.outputs[0]), case.name
        name = proto.graph.node[0].op_type
        compared[name] = compared.get(name, 0) + 1
    # The cases of these three are above the pinned opset.
    assert set(compared) == set(NUMPY_OPERATORS) - {"Range", "Cast", "Mod"}
    assert sum(compared.values()) > 200


@pytest.mark.parametrize(
    ("op_type", "operands", "attributes"),
    [
        ("Range", [np.int64(3), np.int64(-9), np.int64(-4)], {}),
        ("Range", [np.int32(0), np.int32(7), np.int32(3)], {}),
        ("Range", [np.int64(5), np.int64(0), np.int64(1)], {}),
        ("Mod", [np.array([-7, 7, -7, 7]), np.array([3, -3, -3, 3])], {}),
        ("Mod", [np.array([-7, 7, -7, 7]), np.array([3, -3, -3, 3])], {"fmod": 1}),
        ("Mod", [np.array([-7.5, 7.5], np.float32), np.array([2, -2], np.float32)], {"fmod": 1}),
        ("Cast", [np.array([-1.9, 1.9, 0], np.float32)], {"to": TensorProto.INT32}),
        ("Cast", [np.array([-1, 0, 300])], {"to": TensorProto.UINT8}),
        ("Cast", [np.array([0.0, -0.5], np.float32)], {"to": TensorProto.BOOL}),
        ("Cast", [np.array([1e-7, 65504.0], np.float32)], {"to": TensorProto.FLOAT16}),
        ("Div", [np.array([-7, 7, -7, 7]), np.array([2, -2, -2, 2])], {}),
        ("ConstantOfShape", [np.array([2, 0, 3])], {}),
        ("Size", [np.zeros((2, 3), np.float32)], {}),
    ],
)
def test_values_equal_onnxruntime(op_type: str, operands: list, attributes: dict, tmp_path: Path) -> None:
    constants = {f"c{index}": np.asarray(array) for index, array in enumerate(operands)}
    node = helper.make_node(op_type, list(constants), ["y"], **attributes)
    kind = attributes.get("to", helper.np_dtype_to_tensor_dtype(np.asarray(operands[0]).dtype))
    kind = {"ConstantOfShape": TensorProto.FLOAT, "Size": TensorProto.INT64}.get(op_type, kind)
    proto = model([node], [], [value("y", None, kind)], constants)
    assert operators(check_round_trip(proto, tmp_path, {}, "framework-fold-shapes")) == []


def test_shape_chain_folds_and_types_follow(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Shape", ["r"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "two"], ["a"]),
        helper.make_node("Gather", ["s", "three"], ["b"]),
        helper.make_node("Gather", ["s", "two"], ["c"]),
        helper.make_node("Mul", ["b", "c"], ["m"]),
        helper.make_node("Concat", ["a", "m"], ["t"], axis=0),
        helper.make_node("Reshape", ["r", "t"], ["y"]),
    ]
    constants = {name: np.array([i], np.int64) for name, i in (("zero", 0), ("two", 2), ("three", 3))}
    proto = model(nodes, [value("x", ["N", 4, "H", "W"])], [value("y", None)], constants)
    inputs = {"x": np.random.default_rng(0).normal(size=(2, 4, 3, 5)).astype(np.float32)}
    module = check_round_trip(proto, tmp_path, inputs, "framework-fold-shapes", "framework-eliminate-dead")
    assert operators(module) == ["Relu", "Reshape"]
    assert all_static(main_of(module))
    assert str(main_of(module).function_type.outputs.data[0]) == "tensor<2x4x15xf32>"


def test_known_dimensions_fold_beside_unknown_ones(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["c"]),
        helper.make_node("Concat", ["c", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
        helper.make_node("Gather", ["s", "zero"], ["unknown"]),
    ]
    constants = {name: np.array([i], np.int64) for name, i in (("zero", 0), ("one", 1), ("rest", -1))}
    outputs = [value("y", None), value("unknown", None, TensorProto.INT64)]
    proto = model(nodes, [value("x", ["N", 4, "H"])], outputs, constants)
    store = BlobStore()
    module = load(proto, tmp_path, store)
    run_passes(module, store, "framework-fold-shapes", "framework-eliminate-dead")
    assert operators(module) == ["Shape", "Reshape", "Gather"]
    assert str(main_of(module).function_type.outputs.data[0]) == "tensor<4x?xf32>"


def test_shape_of_an_unknown_dimension_stays(tmp_path: Path) -> None:
    proto = model([helper.make_node("Shape", ["x"], ["y"])], [value("x", ["N"])], [value("y", None, TensorProto.INT64)])
    store = BlobStore()
    module = load(proto, tmp_path, store)
    run_passes(module, store, "framework-fold-shapes", "framework-fold-constants")
    assert operators(module) == ["Shape"]


def test_weights_fold_but_do_not_grow(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
        helper.make_node("Expand", ["w", "sizes"], ["big"]),
    ]
    outputs = [value("y", None), value("big", None)]
    constants = {"w": weight, "sizes": np.array([50, 1, 1], np.int64)}
    module = check_round_trip(
        model(nodes, [value("x", [1, 200])], outputs, constants),
        tmp_path,
        {"x": weight[:1]},
        "framework-fold-constants",
    )
    assert operators(module) == ["MatMul", "Expand"]


@pytest.mark.parametrize("operator", ["QuantizeLinear", "RandomNormalLike"])
def test_what_must_not_fold(tmp_path: Path, operator: str) -> None:
    kind = TensorProto.UINT8 if operator == "QuantizeLinear" else TensorProto.FLOAT
    operands = ["c", "scale"] if operator == "QuantizeLinear" else ["c"]
    constants = {"c": np.ones(4, np.float32), "scale": np.float32(0.5)}
    proto = model([helper.make_node(operator, operands, ["y"])], [], [value("y", [4], kind)], constants)
    store = BlobStore()
    module = load(proto, tmp_path, store)
    run_passes(module, store, "framework-fold-shapes", "framework-fold-constants")
    assert operators(module) == [operator]


def test_integer_overflow_and_division_by_zero_are_left_alone(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Div", ["a", "zero"], ["y"]),
        helper.make_node("Cast", ["huge"], ["z"], to=TensorProto.INT32),
    ]
    constants = {"a": np.array([1], np.int64), "zero": np.array([0], np.int64), "huge": np.array([1e30], np.float32)}
    outputs = [value("y", [1], TensorProto.INT64), value("z", [1], TensorProto.INT32)]
    store = BlobStore()
    module = load(model(nodes, [], outputs, constants), tmp_path, store)
    run_passes(module, store, "framework-fold-shapes")
    assert operators(module) == ["Div", "Cast"]


def test_removed_nodes_have_a_reason(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Identity", ["x"], ["i"], name="copy"),
        helper.make_node("Relu", ["i"], ["y"], name="relu"),
    ]
    store = BlobStore()
    module = load(model(nodes, [value("x", [2])], [value("y", [2])]), tmp_path, store)
    context = run_passes(module, store, "framework-simplify")
    assert context.report["removed"] == {"copy": "Identity changes nothing here"}
    assert constant_of(main_of(module).body.block.args[0]) is None
