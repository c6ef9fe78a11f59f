"""A small model that uses many kinds of operations, so that mutants of its files reach many readers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.models.graph import GraphWriter

SHAPE = (1, 3, 16, 16)


def write_zoo(path: Path) -> Path:
    """Write the model: one input `x`, one vector of 10 and one map of 4 channels as outputs."""
    rng = np.random.default_rng(0)
    graph = GraphWriter()

    def normal(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)

    stem = graph.conv("x", normal(8, 3, 3, 3), normal(8), name="stem", strides=(2, 2), pads=(1, 1, 1, 1))
    body = graph.node("HardSwish", [stem])
    depthwise = graph.conv(body, normal(8, 1, 3, 3), None, name="depthwise", pads=(1, 1, 1, 1), group=8)
    residual = graph.node("Add", [graph.node("Relu", [depthwise]), body])
    pooled = graph.node("MaxPool", [residual], kernel_shape=[2, 2], strides=[2, 2])
    averaged = graph.node("AveragePool", [residual], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    joined = graph.node("Concat", [pooled, averaged], axis=1)
    gate = graph.node("Sigmoid", [graph.node("GlobalAveragePool", [joined])])
    gated = graph.node("Mul", [joined, gate])
    up = graph.node("ConvTranspose", [gated, graph.constant(normal(16, 4, 2, 2), "up.weight")], "up", strides=[2, 2])
    scales = graph.constant(np.array([1, 1, 2, 2], np.float32), "scales")
    enlarged = graph.node("Resize", [up, "", scales], "enlarge", mode="linear")
    bounds = [
        graph.constant(np.array(list_, np.int64), name)
        for name, list_ in {"starts": [1], "ends": [15], "axes": [3]}.items()
    ]
    graph.node("Slice", [enlarged, *bounds], "map")
    tokens = graph.node("Reshape", [gated, graph.constant(np.array([1, 16, 16], np.int64), "tokens.shape")], "tokens")
    turned = graph.node("Transpose", [tokens], "turned", perm=[0, 2, 1])
    norm = graph.node(
        "LayerNormalization", [turned, graph.constant(1 + normal(16), "gamma"), graph.constant(normal(16), "beta")]
    )
    scores = graph.node("Softmax", [graph.node("MatMul", [norm, tokens])], axis=-1)
    mixed = graph.node("MatMul", [scores, norm])
    mean = graph.node("ReduceMean", [mixed, graph.constant(np.array([1], np.int64), "mean.axes")], "mean", keepdims=0)
    graph.gemm(graph.node("Tanh", [mean]), normal(10, 16), normal(10), "head")
    return graph.save(path, {"x": SHAPE}, {"head:0": (1, 10), "map:0": (1, 4, 16, 14)}, opset=18)


def zoo_inputs(count: int, seed: int) -> list[np.ndarray]:
    """Normal random inputs."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(count)]
