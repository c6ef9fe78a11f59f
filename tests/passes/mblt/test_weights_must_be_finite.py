"""Weights that hold NaN or infinities are a mistake of the model, named by their initializer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qbc.driver.inspect import convert_in_memory
from qbc.errors import QBCompilerError
from tests.models.graph import GraphWriter


def _model(path: Path, operator: str, value: float) -> Path:
    weight = np.ones((4, 4, 1, 1) if operator == "Conv" else (4, 4), np.float32)
    weight[1, 2] = value
    graph = GraphWriter()
    graph.node(operator, ["x", graph.constant(weight, "w")], "layer")
    shape = (1, 4, 4, 4) if operator == "Conv" else (1, 4)
    return graph.save(path, {"x": shape}, {"layer:0": shape})


@pytest.mark.parametrize("operator", ["Conv", "MatMul", "Add", "Mul"])
def test_nan_is_refused_everywhere(operator: str, tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError, match="initializer 'w' holds NaN") as caught:
        convert_in_memory(_model(tmp_path / "m.onnx", operator, np.nan), {})
    assert caught.value.code == "INVALID_MODEL" and caught.value.node == "layer"


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_weights_are_refused_and_infinite_masks_are_not(value: float, tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError, match="initializer 'w' holds infinite values"):
        convert_in_memory(_model(tmp_path / "m.onnx", "Conv", value), {})
    module, _ = convert_in_memory(_model(tmp_path / "mask.onnx", "Add", value), {})
    assert "mblt.add" in str(module)
