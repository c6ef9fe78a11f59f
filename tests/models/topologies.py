"""ResNet-50 and MobileNetV2 topologies with seeded weights and batch norm calibrated on seeded images.

The weights are random, so accuracy means nothing; shapes, speed and bit equality do. Batch-norm statistics are those of
the data that reaches each layer, so activations keep the spread of a trained net.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.models.fetch import cache_directory
from tests.models.graph import GraphWriter

RESNET_STAGES = [(64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2)]
# expansion, output channels, repeats, stride
MOBILENET_BLOCKS = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def resnet50_path() -> Path:
    """Return the ResNet-50 file (102 MB), building it at the first call."""
    path = cache_directory() / "resnet50_seeded_v1.onnx"
    return path if path.exists() else _resnet50(path)


def mobilenetv2_path() -> Path:
    """Return the MobileNetV2 file (14 MB), building it at the first call."""
    path = cache_directory() / "mobilenetv2_seeded_v1.onnx"
    return path if path.exists() else _mobilenetv2(path)


class _Net:
    """Writes a network and runs it on seeded images at the same time, to calibrate its batch norms."""

    def __init__(self, seed: int, images: int = 4) -> None:
        import torch

        self.torch = torch
        self.rng = np.random.default_rng(seed)
        self.graph = GraphWriter()
        coarse = torch.from_numpy(self.rng.normal(size=(images, 3, 28, 28)).astype(np.float32))
        fine = torch.from_numpy(self.rng.normal(size=(images, 3, 224, 224)).astype(np.float32))
        upsampled = torch.nn.functional.interpolate(coarse, size=224, mode="bilinear", align_corners=False)
        self.image = ("image", upsampled + 0.3 * fine)

    def conv_bn(
        self, x, channels: int, kernel: int, *, name: str, stride: int = 1, group: int = 1, act: str | None = None
    ):
        name_in, value = x
        per_group = value.shape[1] // group
        spread = np.sqrt(2.0 / (per_group * kernel * kernel))
        weight = self.rng.normal(0, spread, (channels, per_group, kernel, kernel)).astype(np.float32)
        pad = kernel // 2
        out = self.graph.conv(name_in, weight, name=name, strides=(stride, stride), pads=(pad,) * 4, group=group)
        value = self.torch.nn.functional.conv2d(value, self.torch.from_numpy(weight), None, stride, pad, 1, group)
        mean, variance = value.mean((0, 2, 3)), value.var((0, 2, 3), unbiased=False)
        scale = self.torch.from_numpy(self.rng.uniform(0.6, 1.4, channels).astype(np.float32))
        shift = self.torch.from_numpy(self.rng.normal(0, 0.3, channels).astype(np.float32))
        parameters = [p.numpy() for p in (scale, shift, mean, variance)]
        out = self.graph.batch_norm(out, parameters, 1e-5, f"{name}.bn")
        value = self.torch.nn.functional.batch_norm(value, mean, variance, scale, shift, False, 0.0, 1e-5)
        return self.activate((out, value), name, act)

    def activate(self, x, name: str, act: str | None):
        if act == "relu":
            return self.graph.node("Relu", [x[0]], f"{name}.relu"), x[1].relu()
        if act == "relu6":
            limits = [self.graph.constant(np.float32(v), f"{name}.limit{v}") for v in (0, 6)]
            return self.graph.node("Clip", [x[0], *limits], f"{name}.relu6"), x[1].clamp(0, 6)
        return x

    def add(self, x, y, name: str):
        return self.graph.node("Add", [x[0], y[0]], name), x[1] + y[1]

    def classifier(self, x, path: Path) -> Path:
        pooled = self.graph.node("Flatten", [self.graph.node("GlobalAveragePool", [x[0]], "pool")], "flatten")
        channels = x[1].shape[1]
        weight = self.rng.normal(0, 1 / np.sqrt(channels), (1000, channels)).astype(np.float32)
        out = self.graph.gemm(pooled, weight, self.rng.normal(0, 0.1, 1000).astype(np.float32), "fc")
        return self.graph.save(path, {"image": (1, 3, 224, 224)}, {out: (1, 1000)})


def _resnet50(path: Path) -> Path:
    net = _Net(50)
    x = net.conv_bn(net.image, 64, 7, name="conv1", stride=2, act="relu")
    pooled = net.graph.node("MaxPool", [x[0]], "maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = pooled, net.torch.nn.functional.max_pool2d(x[1], 3, 2, 1)
    for stage, (inner, outer, repeats, first_stride) in enumerate(RESNET_STAGES, 1):
        for block in range(repeats):
            name, stride = f"layer{stage}.{block}", first_stride if block == 0 else 1
            shortcut = x
            if block == 0:
                shortcut = net.conv_bn(x, outer, 1, name=f"{name}.downsample", stride=stride)
            y = net.conv_bn(x, inner, 1, name=f"{name}.conv1", act="relu")
            y = net.conv_bn(y, inner, 3, name=f"{name}.conv2", stride=stride, act="relu")
            y = net.conv_bn(y, outer, 1, name=f"{name}.conv3")
            x = net.activate(net.add(y, shortcut, f"{name}.add"), name, "relu")
    return net.classifier(x, path)


def _mobilenetv2(path: Path) -> Path:
    net = _Net(2)
    x = net.conv_bn(net.image, 32, 3, name="stem", stride=2, act="relu6")
    index = 0
    for expansion, channels, repeats, first_stride in MOBILENET_BLOCKS:
        for repeat in range(repeats):
            name, stride, shortcut = f"block{index}", first_stride if repeat == 0 else 1, x
            hidden = x[1].shape[1] * expansion
            if expansion != 1:
                x = net.conv_bn(x, hidden, 1, name=f"{name}.expand", act="relu6")
            x = net.conv_bn(x, hidden, 3, name=f"{name}.depthwise", stride=stride, group=hidden, act="relu6")
            x = net.conv_bn(x, channels, 1, name=f"{name}.project")
            if stride == 1 and shortcut[1].shape[1] == channels:
                x = net.add(x, shortcut, f"{name}.add")
            index += 1
    x = net.conv_bn(x, 1280, 1, name="head", act="relu6")
    return net.classifier(x, path)
