"""A folder with the files that the example commands of the error page name."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.artifact.released import DATA, SHAPE, samples, write_network

INVALID_IR = """
func.func @main(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32> {
  %0 = mblt.softmax %x {axis = 7, beta = 1.0 : f32} : tensor<1x4x4x2xf32> -> tensor<1x4x4x2xf32> loc("softmax")
  func.return %0 : tensor<1x4x4x2xf32>
}
"""
WITHOUT_BLOB = """
func.func @main() -> tensor<4xf32> {
  %0 = mblt.constant {value = #blob.ref<"00112233445566778899aabbccddeeff" : tensor<4xf32>>} : tensor<4xf32>
  %1 = mblt.relu %0 : tensor<4xf32> -> tensor<4xf32> loc("relu")
  func.return %1 : tensor<4xf32>
}
"""


def write_files(folder: Path) -> None:
    """Write all files into an empty folder."""
    write_network(folder / "model.onnx")
    (folder / "damaged.onnx").write_bytes((folder / "model.onnx").read_bytes()[:300])
    for suffix in ("mblt", "mxq"):
        (folder / f"model.{suffix}").write_bytes((DATA / f"v1.{suffix}").read_bytes())
    _write_models(folder)
    _write_samples(folder)
    _write_texts(folder)
    _write_package(folder)
    data = (folder / "model.mxq").read_bytes()
    (folder / "damaged.mxq").write_bytes(data[: len(data) // 2])
    (folder / "newer.mblt").write_bytes(_with_version((folder / "model.mblt").read_bytes(), 2))


def _write_models(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, folder / "external.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (folder / "weights.bin").unlink()
    model = onnx.load(folder / "model.onnx")
    model.opset_import[0].version = 99
    onnx.save(model, folder / "newest.onnx")
    _save(folder / "dynamic.onnx", [helper.make_node("Relu", ["image"], ["scores"], "relu")], [1, 3, "H", "W"])
    _save(folder / "other.onnx", [helper.make_node("Det", ["image"], ["scores"], "determinant")], [1, 3, 3], [1])


def _save(path: Path, nodes: list[onnx.NodeProto], shape: list[int | str], output: list[int] | None = None) -> None:
    value = helper.make_tensor_value_info
    inputs, outputs = [value("image", TensorProto.FLOAT, shape)], [value("scores", TensorProto.FLOAT, output or shape)]
    graph = helper.make_graph(nodes, "network", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def _write_samples(folder: Path) -> None:
    for name in ("samples", "wrong", "empty"):
        (folder / name).mkdir()
    for index, sample in enumerate(samples()):
        np.save(folder / "samples" / f"{index}.npy", sample)
    np.save(folder / "wrong" / "0.npy", np.zeros((1, 1, 6, 5), np.float32))
    np.save(folder / "small.npy", np.zeros((1, 1, 4, 4), np.float32))
    assert SHAPE == (1, 1, 6, 6)


def _write_texts(folder: Path) -> None:
    (folder / "config.yaml").write_text("calibration:\n  percentil: 0.99\n")
    memory = "".join(f'{space}:\n  bytes: [64, A, "too little"]\n' for space in ("l2", "dram"))
    (folder / "small.yaml").write_text(f"extends: regulus-ra.yaml\nname: small\n{memory}")
    (folder / "broken.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %y :\n}\n"
    )
    (folder / "invalid.mlir").write_text(INVALID_IR.lstrip())
    (folder / "no_blob.mlir").write_text(WITHOUT_BLOB.lstrip())


def _write_package(folder: Path) -> None:
    """Write the metadata of an installed package that names a pass, without the module of the pass."""
    metadata = folder / "acme_passes-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-passes\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[qbcompiler.passes]\nacme-missing = acme_passes:Missing\n")


def _with_version(data: bytes, version: int) -> bytes:
    return data[:8] + struct.pack("<I", version) + data[12:]
