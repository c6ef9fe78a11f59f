"""A concat of more inputs than one command takes becomes several commands, with the same result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from qbc.dialects.npu.shape import ConcatOp
from qbc.runtime import load
from qbcompiler import mxq_compile
from tests.oracle_checks.program import differing_records

MOST = ConcatOp.INPUTS[1]


@pytest.mark.parametrize(("pieces", "commands"), [(MOST, 1), (MOST + 1, 2), (2 * MOST + 3, 4)])
def test_wide_concat(tmp_path: Path, pieces: int, commands: int) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Concat", ["x" if number % 3 else "r" for number in range(pieces)], ["y"], axis=2),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 3 * pieces])]
    graph = helper.make_graph(nodes, "wide", inputs, outputs)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), tmp_path / "wide.onnx"
    )
    x = np.random.default_rng(0).normal(size=(1, 2, 3)).astype(np.float32)
    mxq_compile(str(tmp_path / "wide.onnx"), "aries-rb", calib_data_path=[{"x": x}], save_path=tmp_path / "wide.mxq")
    simulator = load(tmp_path / "wide.mxq")
    assert sum(command.kind == "concat" for command in simulator.program.commands) == commands
    assert differing_records(simulator, {"x": x}) == []
    expected = np.concatenate([x if number % 3 else np.maximum(x, 0) for number in range(pieces)], axis=2)
    step = max(tensor.scale for tensor in (*simulator.program.inputs, *simulator.program.outputs))
    assert np.abs(simulator.run({"x": x})["y"] - expected).max() <= 1.01 * step
