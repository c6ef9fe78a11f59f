"""External data: views of the file beside the model, and every way it can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from qbc.dialects.framework import operand, read_constant
from qbc.errors import QBCompilerError
from qbc.store import BlobStore
from tests.frontends.onnx_models import find, load, model, value

WEIGHT = np.random.default_rng(0).normal(size=(64, 32)).astype(np.float32)


def external_model(
    location: str = "w.bin", offset: str = "16", length: str | None = str(WEIGHT.nbytes)
) -> onnx.ModelProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=WEIGHT.shape, data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", offset), ("length", length)):
        if text is not None:
            tensor.external_data.add(key=key, value=text)
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [1, 64])], [value("y", None)])
    proto.graph.initializer.append(tensor)
    return proto


@pytest.mark.parametrize("length", [str(WEIGHT.nbytes), None])
def test_views(tmp_path: Path, length: str | None) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(16) + WEIGHT.tobytes() + b"tail")
    store = BlobStore()
    op = find(load(external_model(length=length), tmp_path, store), "MatMul")
    found = read_constant(store, operand(op, "B"))
    assert found is not None and np.array_equal(found, WEIGHT)
    assert type(store.bytes(next(store.keys())).obj).__name__ == "mmap"


def test_small_tensors_are_seen_by_inference(tmp_path: Path) -> None:
    (tmp_path / "s.bin").write_bytes(np.array([2, -1], np.int64).tobytes())
    tensor = TensorProto(name="s", data_type=TensorProto.INT64, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="s.bin")
    proto = model([helper.make_node("Reshape", ["x", "s"], ["y"])], [value("x", [4, 3])], [value("y", None)])
    proto.graph.initializer.append(tensor)
    assert str(find(load(proto, tmp_path), "Reshape").results[0].type) == "tensor<2x6xf32>"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"location": "absent.bin"}, "MISSING_EXTERNAL_DATA"),
        ({"offset": "20"}, "MISSING_EXTERNAL_DATA"),
        ({"offset": str(2**63)}, "MISSING_EXTERNAL_DATA"),
        ({"offset": "-1"}, "INVALID_MODEL"),
        ({"offset": "ten"}, "INVALID_MODEL"),
        ({"length": "8"}, "INVALID_MODEL"),
        ({"location": "../w.bin"}, "INVALID_MODEL"),
        ({"location": "/etc/passwd"}, "INVALID_MODEL"),
        ({"location": "a/../../w.bin"}, "INVALID_MODEL"),
        ({"location": ""}, "INVALID_MODEL"),
        ({"location": "."}, "MISSING_EXTERNAL_DATA"),
    ],
)
def test_errors(tmp_path: Path, options: dict[str, str], code: str) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(16) + WEIGHT.tobytes())
    with pytest.raises(QBCompilerError) as caught:
        load(external_model(**options), tmp_path)
    assert caught.value.code == code
    assert caught.value.node == "w"


def test_link_out_of_the_directory(tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(16) + WEIGHT.tobytes())
    (inside / "w.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(QBCompilerError, match="outside") as caught:
        load(external_model(), inside)
    assert caught.value.code == "INVALID_MODEL"
