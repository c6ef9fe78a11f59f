"""The onnx node cases through parse and export."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from qbcompiler.cli import main
from tests.export.node_cases import GOOD, Checker
from tests.frontends.node_cases import all_cases


def test_cases_compute_the_same_after_parse_and_export(tmp_path: Path) -> None:
    checker = Checker(tmp_path)
    outcome: Counter[str] = Counter()
    for case in all_cases():
        result = checker.check(case)
        assert result in GOOD, f"{case.name}: {result}"
        outcome[result] += 1
    assert outcome["same"] > 1350  # of 1884; 330 are newer than the pinned opset


SPARSE = helper.make_sparse_tensor(
    helper.make_tensor("s", TensorProto.FLOAT, [2], [1.5, -2.0]),
    helper.make_tensor("i", TensorProto.INT64, [2], [1, 4]),
    [6],
)


@pytest.mark.parametrize("kind", ["sparse", "text", "bfloat16"])
def test_constants_that_arrays_do_not_hold(kind: str, tmp_path: Path) -> None:
    tensors = {
        "text": (helper.make_tensor("t", TensorProto.STRING, [6], [b"a", b"b", b"", b"d", b"e", b"\xc3\xa9"]), "x"),
        "bfloat16": (helper.make_tensor("t", TensorProto.BFLOAT16, [6], [1, -2, 0.5, 3, 4, 5]), "x"),
    }
    if kind == "sparse":
        constant = helper.make_node("Constant", [], ["c"], sparse_value=SPARSE)
    else:
        constant = helper.make_node("Constant", [], ["c"], value=tensors[kind][0])
    element = {"sparse": TensorProto.FLOAT, "text": TensorProto.STRING, "bfloat16": TensorProto.BFLOAT16}[kind]
    shape = helper.make_node("GatherElements", ["c", "x"], ["y"])
    graph = helper.make_graph(
        [constant, shape],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT64, [6])],
        [helper.make_tensor_value_info("y", element, [6])],
    )
    model, mblt, exported = (tmp_path / name for name in ("m.onnx", "m.mblt", "e.onnx"))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=10), model)
    assert main(["parse", "--model", str(model), "--output", str(mblt)]) == 0
    assert main(["export", "--mblt", str(mblt), "--output", str(exported)]) == 0
    onnx.checker.check_model(str(exported), full_check=True)
    if kind == "bfloat16":  # onnxruntime hands out no such arrays
        stored = onnx.load(exported).graph.node[0].attribute[0].t
        assert stored.raw_data == np.array([0x3F80, 0xC000, 0x3F00, 0x4040, 0x4080, 0x40A0], "<u2").tobytes()
        return
    order = np.array([5, 3, 0, 1, 4, 2], np.int64)
    wanted, found = (onnxruntime.InferenceSession(path).run(None, {"x": order})[0] for path in (model, exported))
    np.testing.assert_array_equal(found, wanted)
