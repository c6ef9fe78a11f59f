"""Names of graph inputs that leave no usable value name do not stop a compilation."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, helper, save

from qbcompiler.cli import main


@pytest.mark.parametrize("name", ["_1", "7", "__3", "a b/c:0", "é"])
def test_input_names(name: str, tmp_path: Path) -> None:
    value = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph([helper.make_node("Relu", [name], ["y"], name="relu")], "g", [value], [output])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    arguments = ["compile", "--model", str(tmp_path / "m.onnx"), "--output", str(tmp_path / "m.mxq")]
    assert main([*arguments, "--target-device", "aries-rb", "--use-random-calib"]) == 0
