"""A small detector with heads in the forms that detectors have: seeded weights, channels of very different ranges."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.models.graph import GraphWriter

FEATURES = 4 + 1 + 12  # box, objectness, classes
GAINS = np.concatenate([np.full(2, 1.0), np.full(2, 8.0), np.full(1, 2.0), np.linspace(0.1, 3.0, 12)])
OUTPUTS = {
    "raw:0": (1, FEATURES, 8, 8),
    "anchors:0": (1, 3, 8, 8, FEATURES),
    "boxes:0": (1, 64, FEATURES),
    "absolute:0": (1, FEATURES, 8, 8),
    "scores:0": (1, FEATURES, 8, 8),
}


def inputs(count: int, seed: int) -> list[np.ndarray]:
    """Seeded inputs [1, 3, 32, 32]."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((1, 3, 32, 32)).astype(np.float32) for _ in range(count)]


def detector_path(folder: Path) -> Path:
    """Write the model.

    - `raw`: a convolution that leaves the graph; `anchors`: one with three anchors, reshaped to one box a row;
    - `boxes`: box coordinates beside sigmoids of objectness and classes, all positions in one list;
    - `absolute`: made by another operation than a convolution; `scores`: a sigmoid.
    """
    rng = np.random.default_rng(3)
    g = GraphWriter()

    def conv(x: str, name: str, gains: np.ndarray, size: int = 1, stride: int = 1) -> str:
        channels = 3 if x == "image" else 16 if name == "body" else 32
        weight = rng.standard_normal((len(gains), channels, size, size)) * gains[:, None, None, None]
        weight /= np.sqrt(channels * size * size)
        pads, zeros = (size // 2,) * 4, np.zeros(len(gains), np.float32)
        return g.conv(x, weight.astype(np.float32), zeros, name=name, strides=(stride, stride), pads=pads)

    x = g.node("Relu", [conv("image", "stem", np.ones(16), 3, 2)], "stem_relu")
    x = g.node("Relu", [conv(x, "body", np.ones(32), 3, 2)], "body_relu")
    conv(x, "raw", GAINS)
    split = g.constant(np.array([1, 3, FEATURES, 8, 8]), "split")
    by_anchor = g.node("Reshape", [conv(x, "anchor_conv", np.tile(GAINS, 3)), split], "by_anchor")
    g.node("Transpose", [by_anchor], "anchors", perm=[0, 1, 3, 4, 2])
    box = conv(x, "box", GAINS[:4])
    parts = [
        g.node("Sigmoid", [conv(x, f"{n}_conv", np.ones(c))], f"{n}_sigmoid") for n, c in (("is", 1), ("class", 12))
    ]
    joined = g.node("Concat", [box, *parts], "joined", axis=1)
    flat = g.node("Reshape", [joined, g.constant(np.array([1, FEATURES, 64]), "flat")], "flat_boxes")
    g.node("Transpose", [flat], "boxes", perm=[0, 2, 1])
    g.node("Abs", [conv(x, "absolute_conv", GAINS)], "absolute")
    g.node("Sigmoid", [conv(x, "score_conv", GAINS)], "scores")
    return g.save(folder / "heads.onnx", {"image": (1, 3, 32, 32)}, OUTPUTS)
