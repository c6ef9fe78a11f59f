"""Small convolutional networks for pictures: a detector of boxes on a grid and a classifier, with seeded weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Size = tuple[int | str, int | str]


def detector(path: Path, size: Size, strides: tuple[int, ...] = (2, 2, 2)) -> Path:
    """Write a detector for NCHW images: convolutions, then boxes [1, 4, h, w] and scores [1, 3, h, w]."""
    net = _Network()
    value = net.backbone("image", strides)
    net.conv(value, "boxes", 4, 1)
    net.nodes.append(helper.make_node("Sigmoid", [net.conv(value, "raw_scores", 3, 1)], ["scores"], "scores"))
    return net.save(path, size, {"boxes": 4, "scores": 4})


def classifier(path: Path, size: Size, classes: int = 7) -> Path:
    """Write a classifier for NCHW images: convolutions, global average, logits [1, classes]."""
    net = _Network()
    value = net.backbone("image", (2, 2))
    net.nodes.append(helper.make_node("GlobalAveragePool", [value], ["mean"], "mean"))
    net.nodes.append(helper.make_node("Flatten", ["mean"], ["flat"], "flat"))
    weight, bias = net.weight(classes, net.channels), net.weight(classes)
    net.nodes.append(helper.make_node("Gemm", ["flat", weight, bias], ["logits"], "logits", transB=1))
    return net.save(path, size, {"logits": 2})


class _Network:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.channels = 3
        self._rng = np.random.default_rng(3)

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.constants)}"
        scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.1
        self.constants.append(numpy_helper.from_array((self._rng.normal(0, scale, shape)).astype(np.float32), name))
        return name

    def conv(self, value: str, name: str, channels: int, kernel: int, stride: int = 1) -> str:
        """Append a convolution with padding that keeps the size (over the stride); `self.channels` stays."""
        inputs = [value, self.weight(channels, self.channels, kernel, kernel), self.weight(channels)]
        pads = [kernel // 2] * 4
        self.nodes.append(helper.make_node("Conv", inputs, [name], name, pads=pads, strides=[stride, stride]))
        return name

    def backbone(self, value: str, strides: tuple[int, ...]) -> str:
        """Append 3x3 convolutions with ReLU, eight channels more each."""
        for index, stride in enumerate(strides):
            raw = self.conv(value, f"conv{index}", 8 * (index + 1), 3, stride)
            self.channels, value = 8 * (index + 1), f"relu{index}"
            self.nodes.append(helper.make_node("Relu", [raw], [value], value))
        return value

    def save(self, path: Path, size: Size, outputs: dict[str, int]) -> Path:
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, *size])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name, rank in outputs.items()],
            self.constants,
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
        return path
