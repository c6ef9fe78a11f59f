"""Models and IR text that cannot become a program: one error with the code and the node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.driver.compile import compile_model, parse, quantize
from qbc.driver.plan import CompileOptions
from qbc.driver.qdq import write_qdq
from qbc.driver.view import write_view
from qbc.errors import QBCompilerError
from qbc.runtime import load

OPTIONS = CompileOptions(target="aries-rb", random_calibration=True)


def save(path: Path, nodes: list[onnx.NodeProto], sizes: dict[str, list[int]], **constants: np.ndarray) -> Path:
    """Write a model that returns `y`; `sizes` are its float inputs."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, [output], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def refused(path: Path) -> QBCompilerError:
    """Compile a file, which must fail; returns the error."""
    output = path.with_name("refused.mxq")
    with pytest.raises(QBCompilerError) as caught:
        compile_model(path, output, OPTIONS)
    assert not output.exists()
    return caught.value


def test_a_concatenation_with_nothing(tmp_path: Path) -> None:
    node = helper.make_node("Concat", ["x", "e"], ["y"], axis=1, name="join")
    error = refused(save(tmp_path / "m.onnx", [node], {"x": [1, 3, 8, 8]}, e=np.zeros((1, 0, 8, 8), np.float32)))
    assert error.code == "UNSUPPORTED_OP" and "join" in str(error) and "without elements" in str(error)


def test_a_repetition_beyond_all_memory(tmp_path: Path) -> None:
    node = helper.make_node("Tile", ["x", "r"], ["y"], name="wide")
    error = refused(save(tmp_path / "m.onnx", [node], {"x": [1, 3, 8, 8]}, r=np.array([1, 1, 100_000, 100_000])))
    assert error.code == "UNSUPPORTED_OP" and "wide" in str(error) and "elements" in str(error)


def test_random_samples_of_an_input_beyond_all_memory(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="relu"), helper.make_node("Shape", ["big"], ["s"])]
    error = refused(save(tmp_path / "m.onnx", nodes, {"x": [1, 4], "big": [1 << 30, 1 << 30, 1 << 30]}))
    assert error.code == "RESOURCE_ERROR" and "'big'" in str(error)


@pytest.mark.parametrize("count", [3, 64, 130, 5000])
def test_a_repetition_repeats(count: int, tmp_path: Path) -> None:
    nodes = [helper.make_node("Tile", ["x", "r"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, {"x": [1, 2, 3]}, r=np.array([1, count, 1]))
    compile_model(path, tmp_path / "m.mxq", OPTIONS)
    x = np.array([[[0.25, -1.0, 0.5], [1.0, 0.125, -0.5]]], np.float32)
    found = load(tmp_path / "m.mxq").run({"x": x})["y"]
    np.testing.assert_array_equal(found, np.tile(found[:, :2], (1, count, 1)))
    np.testing.assert_allclose(found[:, :2], np.maximum(x, 0), atol=0.05)


def test_a_long_chain_of_functions(tmp_path: Path) -> None:
    names = ["x", *(f"v{index}" for index in range(520)), "y"]
    nodes = [helper.make_node("Sigmoid", [a], [b]) for a, b in zip(names, names[1:], strict=False)]
    compile_model(save(tmp_path / "m.onnx", nodes, {"x": [1, 4]}), tmp_path / "m.mlir", OPTIONS, to="quantize")


USED_BEFORE = """func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
  %1 = mblt.relu %0 : tensor<1x4xf32> -> tensor<1x4xf32> loc("second")
  %0 = mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32> loc("first")
  func.return %1 : tensor<1x4xf32>
}"""
TOO_LONG = (
    f"func.func @main(%x: tensor<{10**22}xf32>) -> tensor<{10**22}xf32> {{ func.return %x : tensor<{10**22}xf32> }}"
)


@pytest.mark.parametrize(
    "text, code", [(USED_BEFORE, "VERIFY_ERROR"), (TOO_LONG, "PARSE_ERROR")], ids=["order", "size"]
)
def test_text_that_is_no_valid_module(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(text)
    assert refused(path).code == code
    with pytest.raises(QBCompilerError) as caught:
        write_view(path, tmp_path / "m.onnx")
    assert caught.value.code == code


def test_a_program_whose_weight_has_an_impossible_key(tmp_path: Path) -> None:
    source = helper.make_node("Gemm", ["x", "w"], ["y"], name="fc")
    model = save(tmp_path / "m.onnx", [source], {"x": [1, 4]}, w=np.ones((4, 4), np.float32))
    text = tmp_path / "m.mlir"
    compile_model(model, text, OPTIONS, to="lower")
    head, _, tail = text.read_text().partition('weight = #blob.ref<"')
    text.write_text(f'{head}weight = #blob.ref<"i16{tail[32:]}')
    error = refused(text)
    assert error.code in ("MISSING_BLOB", "VERIFY_ERROR") and "i16" in str(error)


def test_a_parsed_file_with_operators_left_names_them(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="deep")
    model = save(tmp_path / "m.onnx", [node], {"x": [1, 1, 4, 4, 4]}, w=np.ones((1, 1, 3, 3, 3), np.float32))
    parse(model, tmp_path / "m.mblt")
    with pytest.raises(QBCompilerError) as caught:
        quantize(tmp_path / "m.mblt", tmp_path / "m.mxq", OPTIONS)
    assert caught.value.code == "UNSUPPORTED_OP" and caught.value.node == "deep"
    assert str(caught.value).splitlines()[1:] == str(refused(model)).splitlines()[1:]


def test_a_graph_without_nodes_is_parsed(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    model = tmp_path / "m.onnx"
    graph = helper.make_graph([], "g", [x], [x])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
    parse(model, tmp_path / "m.mblt")
    quantize(tmp_path / "m.mblt", tmp_path / "m.mxq", OPTIONS)
    data = np.array([[0.5, -0.25, 0.0, 1.0]], np.float32)
    np.testing.assert_allclose(load(tmp_path / "m.mxq").run({"x": data})["x"], data, atol=0.05)


def test_a_function_that_returns_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text("func.func @main() { func.return }")
    error = refused(path)
    assert error.code == "VERIFY_ERROR" and "returns nothing" in str(error)


def test_text_without_ranges_has_no_qdq_form(tmp_path: Path) -> None:
    text = tmp_path / "m.mlir"
    parse(save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"x": [1, 4]}), text)
    with pytest.raises(QBCompilerError, match="no ranged quant functions") as caught:
        write_qdq(text, tmp_path / "q.onnx", OPTIONS)
    assert ".mblt" in str(caught.value.hint)
