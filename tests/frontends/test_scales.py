"""Resize factors that end the process of the onnx library are refused before it sees them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, load, numpy_helper, save

from qbc.errors import QBCompilerError
from qbc.frontends.onnx import import_onnx
from qbc.store import BlobStore


def _model(path: Path, scales: list[float]) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], name="up", mode="nearest")
    constant = numpy_helper.from_array(np.array(scales, np.float32), "scales")
    graph = helper.make_graph([node], "g", [x], [y], [constant])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("factor", [1e30, float("inf"), float("nan"), 0.0, -2.0])
def test_impossible_scales(factor: float, tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError, match="scale that no size can have") as caught:
        import_onnx(_model(tmp_path / "m.onnx", [1.0, 1.0, factor, factor]), BlobStore())
    assert caught.value.code == "INVALID_MODEL"


def test_ordinary_scales(tmp_path: Path) -> None:
    import_onnx(_model(tmp_path / "m.onnx", [1.0, 1.0, 2.0, 0.5]), BlobStore())


def test_damaged_scales(tmp_path: Path) -> None:
    path = _model(tmp_path / "m.onnx", [1.0, 1.0, 2.0, 0.5])
    model = load(path)
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.append(2)
    save(model, path)
    with pytest.raises(QBCompilerError) as caught:
        import_onnx(path, BlobStore())
    assert caught.value.code == "INVALID_MODEL" and caught.value.node == "scales"
