"""The import paths of older scripts: every row of the page, and what scripts do with them."""

from __future__ import annotations

import importlib
import json
import logging
import pkgutil
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import qbcompiler
from qbcompiler import QBCompilerError, mblt_compile, mxq_compile
from qbcompiler.demo import digits_model_path
from qbcompiler.model_dict.common import DataFormat, LayerType, ModelDict, WeightDict
from qbcompiler.model_dict.parser.parser import ModelParser
from qbcompiler.model_dict.serialize import ChainedByteObj, SerializeMeta, load_mblt_model
from tests.robustness.zoo import write_zoo

MODEL = str(digits_model_path())
PAGE = Path(__file__).parents[2] / "docs" / "import_paths.md"
ROW = re.compile(r"^\| `([\w.]+)` \| (.+?) \| (same|limited|refused) \| .+ \|$", re.MULTILINE)
ROWS = [(module, re.findall(r"`(\w+)`", names), kind) for module, names, kind in ROW.findall(PAGE.read_text())]


@pytest.fixture(scope="module")
def mblt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mblt") / "digits.mblt"
    mblt_compile(MODEL, path)
    return path


# --- the page ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("module", "names", "kind"), ROWS, ids=[f"{row[0]}-{row[1][0]}" for row in ROWS])
def test_every_row_of_the_page(module: str, names: list[str], kind: str) -> None:
    for name in names:
        member = getattr(importlib.import_module(module), name)
        assert callable(member) and member.__doc__
        if kind != "refused":
            continue
        with pytest.raises(QBCompilerError, match=f"{name}: .* is not available in this version") as raised:
            member(object(), "part", dtype=None)
        assert raised.value.code == "UNSUPPORTED_FEATURE" and "ONNX" in str(raised.value.hint)


def test_the_page_has_every_public_name() -> None:
    listed = {(module, name) for module, names, _ in ROWS for name in names}
    for package in ("artifact", "calibration", "model_dict", "reporting"):
        root = importlib.import_module(f"qbcompiler.{package}")
        found = [root.__name__, *(entry.name for entry in pkgutil.walk_packages(root.__path__, f"{root.__name__}."))]
        for module in map(importlib.import_module, found):
            for name in getattr(module, "__all__", ()):
                assert (module.__name__, name) in listed


def test_names_have_one_home() -> None:
    from qbcompiler.artifact.input import read_mblt_graph_info
    from qbcompiler.reporting.exceptions import ArgumentError
    from qbcompiler.reporting.logging import set_log_level

    assert read_mblt_graph_info is qbcompiler.read_mblt_graph_info
    assert set_log_level is qbcompiler.set_log_level and ArgumentError is qbcompiler.ArgumentError


# --- graphs ------------------------------------------------------------------------------------------------------


def test_boundary_names_as_scripts_look_for_them(mblt: Path) -> None:
    _, (graph,) = qbcompiler.read_mblt_graph_info(mblt)
    for kind, numbers, expected in (("Input", graph.inputs, ["image"]), ("Output", graph.outputs, ["logits"])):
        made = {
            number: layer.name
            for layer in graph.operators
            if layer.layertype.name.rsplit(".", 1)[-1] == kind
            for number in layer.options.outputs
        }
        assert [made[number] for number in numbers] == expected


def test_activations_have_shapes_and_formats(mblt: Path) -> None:
    graph = load_mblt_model(mblt)[0].subgraphs[0]
    entering, leaving = graph.activations[graph.inputs[0]], graph.activations[graph.outputs[0]]
    assert (entering.name, entering.shape, entering.dtype) == ("image", (1, 8, 8, 1), "f32")
    assert entering.dataformat == DataFormat.NHWC and leaving.dataformat == DataFormat.ND
    entering.dataformat = DataFormat.NHWC
    with pytest.raises(QBCompilerError, match="'image' is NHWC, it cannot become NCHW"):
        entering.dataformat = DataFormat.NCHW
    assert "image" in repr(entering)


def test_layers_before_a_softmax_are_found_by_walking_up(tmp_path: Path) -> None:
    """Search for the product behind each softmax, as scripts do that choose 16-bit layers."""
    shape = [1, 4, 8]
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["s"], "scores"),
        helper.make_node("Add", ["s", "mask"], ["m"], "masked"),
        helper.make_node("Softmax", ["m"], ["p"], "probabilities"),
        helper.make_node("MatMul", ["p", "v"], ["y"], "mixed"),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("q", "v")]
    inputs.append(helper.make_tensor_value_info("k", TensorProto.FLOAT, [1, 8, 4]))
    mask = numpy_helper.from_array(np.linspace(-1, 0, 16, dtype=np.float32).reshape(1, 4, 4), "mask")
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "attention", inputs, outputs, [mask])
    model = tmp_path / "attention.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    mblt_compile(model, tmp_path / "attention.mblt")
    found = []
    for part in load_mblt_model(tmp_path / "attention.mblt")[0].subgraphs:
        makers = {number: layer for layer in part.operators for number in layer.outputs}
        waiting = [n for layer in part.operators if layer.layertype == LayerType.Softmax for n in layer.inputs]
        while waiting:
            layer = makers[waiting.pop()]
            if layer.layertype == LayerType.MatMul:
                found.append(layer.name)
            elif str(layer.layertype).split(".")[-1] in ("Adding", "Multiply", "Reshape"):
                waiting.extend(layer.inputs)
    assert found == ["scores"]


def test_names_of_a_graph_choose_layers_in_a_configuration(mblt: Path, tmp_path: Path) -> None:
    graph = load_mblt_model(mblt)[0].subgraphs[0]
    chosen = [graph.operators[0].name, graph.operators[1].name, graph.operators[-1].name]
    assert chosen[1] == "stem/conv + stem/norm + stem/relu"
    result = mxq_compile(
        MODEL, "aries-rb", save_path=tmp_path / "a.mxq", use_random_calib=True,
        bit_config=qbcompiler.BitConfig(layer_overrides=qbcompiler.BitConfig.LayerOverrides(activation_16bits=chosen)),
    )  # fmt: skip
    wide = {layer.layer for layer in result.reports["accuracy"].layers if layer.bits == "i16"}
    assert wide == {"stem/conv, stem/norm, stem/relu", "classifier"}


def test_weights_are_the_ones_of_the_model(mblt: Path) -> None:
    graph, weights = load_mblt_model(mblt)
    expected = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(MODEL).graph.initializer}
    (classifier,) = [layer for layer in graph.subgraphs[0].operators if layer.name == "classifier"]
    found = weights[classifier.weights["weight"]]
    assert any(found.shape == array.shape and np.array_equal(found, array) for array in expected.values())
    assert not found.flags.writeable and len(weights) == len(list(weights))
    assert sum(len(layer.weights) for layer in graph.subgraphs[0].operators) == len(weights)
    with pytest.raises(KeyError):
        weights["nothing"]


def test_two_layers_of_one_node_keep_their_weights_apart(tmp_path: Path) -> None:
    path = write_zoo(tmp_path / "zoo.onnx")
    mblt_compile(path, tmp_path / "zoo.mblt")
    graph, weights = load_mblt_model(tmp_path / "zoo.mblt")
    keys = [key for layer in graph.subgraphs[0].operators for key in layer.weights.values()]
    assert keys and len(set(keys)) == len(keys) == len(weights)
    assert all(weights[key].size for key in keys)


def test_layer_types_are_published_names() -> None:
    assert LayerType.Convolution == "Convolution" and LayerType.HeaderView.name == "HeaderView"
    assert LayerType("Det").value == "Det" and "Softmax" in dir(LayerType)
    with pytest.raises(AttributeError, match="no published layer type"):
        LayerType.Softmxa  # noqa: B018


# --- serializing -------------------------------------------------------------------------------------------------


def test_serialized_graphs_are_the_file(mblt: Path, tmp_path: Path) -> None:
    graph, weights = load_mblt_model(mblt)
    data = SerializeMeta().serialize(graph, weights, ignore_weight=False)
    assert isinstance(data, ChainedByteObj) and len(data) == mblt.stat().st_size
    with (tmp_path / "again.mblt").open("wb") as file:
        assert data.write(file) == len(data)
    assert (tmp_path / "again.mblt").read_bytes() == mblt.read_bytes() == bytes(data)
    header = SerializeMeta.get_header(mblt)
    assert header.version == 1 and not header.is_legacy and header.manifest["producer"] == "qbcompiler"
    assert list(SerializeMeta.get_model_dict(str(mblt), header=header).inputs) == ["image"]


def test_what_serializing_refuses(mblt: Path) -> None:
    graph, weights = load_mblt_model(mblt)
    calls: list[tuple[str, Any]] = [
        ("a .mblt without weights", lambda: SerializeMeta().serialize(graph, WeightDict(), ignore_weight=True)),
        ("not the one of this model_dict", lambda: SerializeMeta().serialize(graph, WeightDict())),
        ("not the one of this model_dict", lambda: SerializeMeta().serialize(graph, {})),  # type: ignore[arg-type]
        ("expected a ModelDict", lambda: SerializeMeta().serialize({}, weights)),  # type: ignore[arg-type]
        ("ignore_weight is 'no'", lambda: SerializeMeta().serialize(graph, weights, "no")),  # type: ignore[arg-type]
        ("is neither a .mblt nor an .mxq file", lambda: SerializeMeta.get_header(MODEL)),
        ("is not a .mblt file", lambda: load_mblt_model(MODEL)),
        ("does not exist", lambda: load_mblt_model("none.mblt")),
    ]
    for message, call in calls:
        with pytest.raises(QBCompilerError, match=message):
            call()


# --- parsing -----------------------------------------------------------------------------------------------------


def test_the_parser_makes_the_file_of_mblt_compile(tmp_path: Path) -> None:
    parser = ModelParser(model=MODEL, backend="onnx", target_device="aries-rb", yolo_decode_include=True)
    parser.cfg.allocate_to_devices = True
    parser.cfg.split_supported_concat = True
    parser.cfg.operator_transform = True
    parser.parse(feed_dict={"image": np.zeros((1, 1, 8, 8), np.float32)}, debug=False)
    graph, weights = parser.get_md_wd(body_only=False)
    assert isinstance(graph, ModelDict) and graph is parser.model_dict and "layers=10" in repr(graph)
    for part in graph.subgraphs:
        part.sort_operators()
    mblt_compile(MODEL, tmp_path / "a.mblt", target_device="aries-rb")
    assert bytes(SerializeMeta().serialize(graph, weights)) == (tmp_path / "a.mblt").read_bytes()


def test_the_parser_compares_with_the_source(tmp_path: Path) -> None:
    parser = ModelParser(MODEL)
    image = np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)
    parser.parse(feed_dict={"image": image})
    report = tmp_path / "compared.json"
    found = parser.run_inference_and_compare_output_value(compare_result_output_path=report)
    largest = np.abs(onnxruntime.InferenceSession(MODEL).run(None, {"image": image})[0]).max()
    assert found["logits"]["max_abs_value"] == pytest.approx(largest)
    assert found["logits"]["max_abs_difference"] <= 1e-4 * largest and found["logits"]["cosine"] > 0.999
    assert json.loads(report.read_text()) == found
    with pytest.raises(QBCompilerError, match="no input 'image'"):
        parser.run_inference_and_compare_output_value(feed_dict={"picture": image})
    with pytest.raises(QBCompilerError, match="shape .1, 1, 8, 4., expected 1x1x8x8"):
        parser.run_inference_and_compare_output_value(feed_dict={"image": image[..., :4]})


def test_settings_without_effect_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        parser = ModelParser(MODEL, yolo_decode_include=False)
        parser.cfg.num_work = 4
        parser.parse(save_subgraph_type=1, output_meta={"type": "list", "keys": [0]})
    for name in ("yolo_decode_include", "cfg.num_work", "save_subgraph_type", "output_meta"):
        assert name in caplog.text


def test_what_the_parser_refuses(tmp_path: Path) -> None:
    parser = ModelParser(MODEL)
    partly = tmp_path / "partly.onnx"
    graph = helper.make_graph(
        [helper.make_node("Det", ["x"], ["y"], "determinant")], "partly",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), partly)
    whole = ModelParser(partly)
    whole.parse()
    calls: list[tuple[str, Any]] = [
        ("backend 'torch' is not available", lambda: ModelParser(model=object(), backend="torch")),
        ("unknown backend 'onx'", lambda: ModelParser(MODEL, "onx")),
        ("backend is None", lambda: ModelParser(MODEL, None)),  # type: ignore[arg-type]
        ("model is None", lambda: ModelParser()),
        ("target_device is 3", lambda: ModelParser(MODEL, target_device=3)),  # type: ignore[arg-type]
        ("did you mean 'aries-rb'", lambda: ModelParser(MODEL, target_device="aries_rb").parse()),
        ("feed_dict is 3", lambda: ModelParser(MODEL).parse(feed_dict=3)),  # type: ignore[arg-type]
        ("did you mean 'split_supported_concat'", lambda: setattr(parser.cfg, "split_supportd_concat", True)),
        ("a graph without rewrites", lambda: setattr(parser.cfg, "operator_transform", False)),
        ("a dynamic dimension", lambda: setattr(parser.cfg, "dynamic", True)),
        ("call parse first", parser.get_md_wd),
        ("body_only is 'no'", lambda: whole.get_md_wd(body_only="no")),  # type: ignore[arg-type]
        ("determinant", lambda: whole.get_md_wd(body_only=True)),
        ("pass feed_dict", whole.run_inference_and_compare_output_value),
    ]
    for message, call in calls:
        with pytest.raises(QBCompilerError, match=re.escape(message)):
            call()
    assert whole.get_md_wd()[0].subgraphs[0].operators[1].layertype.name == "Det"


def test_examples_of_the_page(mblt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("digits.onnx").write_bytes(Path(MODEL).read_bytes())
    Path("digits.mblt").write_bytes(mblt.read_bytes())
    for text in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(text, "import_paths.md", "exec"), {"__name__": "__main__"})
    mblt_compile("digits.onnx", "expected.mblt", target_device="aries-rb")
    assert Path("parsed.mblt").read_bytes() == Path("expected.mblt").read_bytes()
