"""Files that are written in pieces against onnx's own writer and reader."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.export.onnx_writer import model_pieces

ARRAYS = {
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((0, 3), np.int64),
    "bytes": np.arange(128, dtype=np.uint8),
    "codes": np.arange(-64, 64, dtype=np.int8).reshape(2, 64),
    "mask": np.array([True, False]),
    "half": np.array([1.5], np.float16),
    "turned": np.arange(12, dtype=np.float64).reshape(3, 4).T,
    "big end": np.arange(5, dtype=">i4"),
    "Größe": np.arange(20_000, dtype=np.int16),
}


def model_with(initializers: list[TensorProto]) -> onnx.ModelProto:
    node = helper.make_node("Identity", ["scalar"], ["y"], name="node")
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])]
    graph = helper.make_graph([node], "graph", [], outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10, producer_name="test")


@pytest.mark.parametrize("names", [[], ["scalar"], list(ARRAYS)])
def test_pieces_are_the_model(names: list[str]) -> None:
    first = numpy_helper.from_array(np.ones(3, np.float32), "there already")
    arrays = {name: ARRAYS[name] for name in names}
    content = b"".join(model_pieces(model_with([first]), arrays))
    little = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    expected = model_with([first, *(numpy_helper.from_array(array, name) for name, array in little.items())])
    found = onnx.load_model_from_string(content)
    assert found == expected
    for tensor in found.graph.initializer[1:]:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), arrays[tensor.name])
