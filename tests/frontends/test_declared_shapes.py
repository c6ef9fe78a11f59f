"""What a model states about its outputs, and about itself, comes through import, conversion and export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.driver.context import make_context
from qbc.export.onnx import framework_to_onnx
from qbc.frontends.onnx import import_onnx
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.runner import run_pipeline
from qbc.store import BlobStore
from qbcompiler.cli import main


def _value(name: str, shape: Any) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: list[Any] = ()) -> Path:
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(constants), doc_string="text of the graph")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.domain, model.model_version, model.doc_string = "org.example", 7, "text of the model"
    helper.set_model_props(model, {"author": "somebody", "task": "detect"})
    onnx.save(model, path)
    return path


def _shapes(model: Any) -> dict[str, list[Any]]:
    values = [*model.graph.input, *model.graph.output]
    return {v.name: [d.dim_param or d.dim_value or "?" for d in v.type.tensor_type.shape.dim] for v in values}


@pytest.fixture
def named(tmp_path: Path) -> Path:
    nodes = [
        helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Concat", ["x", "x2"], ["c"], axis=0),
        helper.make_node("Relu", ["y"], ["nameless"]),
    ]
    inputs = [_value("x", ["N", 3, "H", "W"]), _value("x2", ["M", 3, "H", "W"])]
    outputs = [_value("y", ["N", 3, "Ho", "Wo"]), _value("c", ["NM", 3, "H", "W"]), _value("nameless", None)]
    return _save(tmp_path / "named.onnx", nodes, inputs, outputs)


def test_names_of_dimensions(named: Path) -> None:
    store = BlobStore()
    found = _shapes(framework_to_onnx(import_onnx(named, store), store))
    stated = _shapes(onnx.load(named))
    assert {**found, "nameless": []} == {**stated, "nameless": []}
    assert found["nameless"] == ["N", 3, "?", "?"]  # no name that inference makes


def test_bound_names_are_no_names_any_more(named: Path) -> None:
    store = BlobStore()
    found = _shapes(framework_to_onnx(import_onnx(named, store, input_shapes={"x": (2, 3, 8, 6)}), store))
    assert found["x"] == [2, 3, 8, 6] and found["x2"] == ["M", 3, 8, 6]
    assert found["y"] == [2, 3, 4, 3] and found["c"] == ["NM", 3, 8, 6]


@pytest.mark.parametrize("layout", ["source", "mblt"])
def test_export_keeps_names_and_metadata(layout: str, named: Path, tmp_path: Path) -> None:
    mblt, exported = tmp_path / "m.mblt", tmp_path / "e.onnx"
    assert main(["parse", "--model", str(named), "--output", str(mblt)]) == 0
    assert main(["export", "--mblt", str(mblt), "--output", str(exported), "--layout", layout]) == 0
    model = onnx.load(exported)
    shapes, stated = _shapes(model), _shapes(onnx.load(named))
    for name in ("x", "x2", "y", "c"):
        assert sorted(map(str, shapes[name])) == sorted(map(str, stated[name]))
        assert layout == "mblt" or shapes[name] == stated[name]
    _check_header(model)


def test_quantized_export_keeps_metadata(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones((2, 3, 1, 1), np.float32), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    source = _save(tmp_path / "m.onnx", [node], [_value("x", [1, 3, 4, 4])], [_value("y", [1, 2, 4, 4])], [weight])
    mblt, exported = tmp_path / "m.mblt", tmp_path / "q.onnx"
    assert main(["parse", "--model", str(source), "--output", str(mblt)]) == 0
    assert main(["export", "--qdq", "--mblt", str(mblt), "--output", str(exported), "--use-random-calib"]) == 0
    _check_header(onnx.load(exported))


def test_the_way_back_keeps_metadata(named: Path) -> None:
    store = BlobStore()
    _check_header(framework_to_onnx(import_onnx(named, store), store))


def _check_header(model: Any) -> None:
    assert (model.domain, model.model_version, model.doc_string) == ("org.example", 7, "text of the model")
    assert (model.graph.name, model.graph.doc_string) == ("net", "text of the graph")
    assert {entry.key: entry.value for entry in model.metadata_props} == {"author": "somebody", "task": "detect"}


def _loop(path: Path, declared: Any, batch: Any = 1) -> Path:
    body = helper.make_graph(
        [helper.make_node("Relu", ["v"], ["w"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            _value("v", None),
        ],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []), _value("w", None)],
    )
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)]
    count = numpy_helper.from_array(np.array(2, np.int64), "n")
    return _save(path, nodes, [_value("x", [batch, 3, 8, 8])], [_value("y", declared)], [count])


def test_stated_sizes_complete_what_inference_does_not_find(tmp_path: Path) -> None:
    store = BlobStore()
    module = import_onnx(_loop(tmp_path / "m.onnx", [1, 3, 8, 8]), store)
    assert _shapes(framework_to_onnx(module, store))["y"] == [1, 3, 8, 8]
    run_pipeline(module, parse_pipeline("func.func(framework-fold-shapes)"), make_context(store=store))
    assert next(iter(module.ops)).function_type.outputs.data[0].get_shape() == (1, 3, 8, 8)
    dynamic = _loop(tmp_path / "d.onnx", [1, 3, 8, 8], "N")
    bound = import_onnx(dynamic, store, input_shapes={"x": (4, 3, 8, 8)})
    assert _shapes(framework_to_onnx(bound, store))["y"] == ["?", "?", "?", "?"]  # the sizes may follow from N


def test_inferred_sizes_and_names_win_over_stated_sizes(tmp_path: Path) -> None:
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    path = _save(tmp_path / "m.onnx", [node], [_value("x", ["N", 3, 8, 8])], [_value("y", [1, 3, 9, 9])])
    store = BlobStore()
    assert _shapes(framework_to_onnx(import_onnx(path, store), store))["y"] == ["N", 3, 4, 4]


@pytest.mark.parametrize("stated", [[1, 3, 64], ["N", 3, 64], [4, 192], ["N", "M"], None])
def test_folding_corrects_what_is_stale(stated: Any, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "two"], ["t"]),
        helper.make_node("Concat", ["t", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(np.array(numbers, np.int64), name)
        for name, numbers in (("zero", [0]), ("two", [2]), ("rest", [-1]))
    ]
    path = _save(tmp_path / "m.onnx", nodes, [_value("x", [4, 3, 8, 8])], [_value("y", stated)], constants)
    assert main(["parse", "--model", str(path), "--output", str(tmp_path / "m.mblt")]) == 0
    assert main(["export", "--mblt", str(tmp_path / "m.mblt"), "--output", str(tmp_path / "e.onnx")]) == 0
    assert _shapes(onnx.load(tmp_path / "e.onnx"))["y"] == [4, 3, 64]
