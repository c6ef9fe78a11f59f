"""Layouts of inputs and outputs that belong together: an input returned as it is, one with a reader beside an image op.

The oracle is ONNX Runtime; every run is given channel-first and channel-last.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbcompiler import mxq_compile
from qbcompiler.runtime import Accelerator, Model

Array = npt.NDArray[np.float32]

SHAPE = [1, 3, 8, 8]
CONV = helper.make_node("Conv", ["x", "w"], ["y"])
RELU_CONV = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Conv", ["r", "w"], ["y"])]
RESHAPE = helper.make_node("Reshape", ["x", "s"], ["z"])
GRAPHS = {
    "returned": ([CONV], {"y": [1, 4, 8, 8], "x": SHAPE}),
    "identity": ([CONV, helper.make_node("Identity", ["x"], ["z"])], {"y": [1, 4, 8, 8], "z": SHAPE}),
    "relu, returned": (RELU_CONV, {"y": [1, 4, 8, 8], "x": SHAPE}),
    "reshaped": ([CONV, RESHAPE], {"y": [1, 4, 8, 8], "z": [1, 192]}),
    "relu, reshaped": ([*RELU_CONV, RESHAPE], {"y": [1, 4, 8, 8], "z": [1, 192]}),
}


def compiled(path: Path, nodes: list[onnx.NodeProto], outputs: dict[str, list[int]], image: Array) -> Model:
    weight = np.random.default_rng(1).normal(size=(4, 3, 1, 1)).astype(np.float32)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.array([1, 192]), "s")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    output = path.with_suffix(".mxq")
    mxq_compile(str(path), target_device="aries-rb", calib_data_path=[image], save_path=str(output))
    model = Model(output)
    model.launch(Accelerator(0))
    return model


def check(model: Model, path: Path, image: Array) -> None:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": image[None]})
    last = [array[0].transpose(1, 2, 0) if array.ndim == 4 else array[0] for array in expected]
    first = [array[0] for array in expected]
    given_last = np.ascontiguousarray(image.transpose(1, 2, 0))
    runs = ((model.infer, image, first), (model.infer_chw, image, first))
    for infer, given, wanted in (*runs, (model.infer, given_last, last), (model.infer_hwc, given_last, last)):
        for result, reference in zip(infer(given), wanted, strict=True):
            assert result.shape == reference.shape
            assert np.abs(result - reference).max() < 0.05 * np.abs(reference).max()


@pytest.mark.parametrize("name", GRAPHS)
def test_outputs_have_the_layout_of_an_input_that_has_other_readers(tmp_path: Path, name: str) -> None:
    nodes, outputs = GRAPHS[name]
    image = np.random.default_rng(0).normal(size=SHAPE[1:]).astype(np.float32)
    check(compiled(tmp_path / "m.onnx", nodes, outputs, image), tmp_path / "m.onnx", image)


def test_a_graph_without_an_image_operation_has_the_layout_of_its_model(tmp_path: Path) -> None:
    image = np.random.default_rng(0).normal(size=SHAPE[1:]).astype(np.float32)
    nodes = [helper.make_node("Relu", ["x"], ["y"]), RESHAPE]
    model = compiled(tmp_path / "m.onnx", nodes, {"y": SHAPE, "z": [1, 192]}, image)
    for infer in (model.infer, model.infer_chw, model.infer_hwc):
        relu, flat = infer(image)
        assert np.allclose(relu, np.maximum(image, 0), atol=0.05)
        assert np.allclose(flat, image.reshape(-1), atol=0.05)
