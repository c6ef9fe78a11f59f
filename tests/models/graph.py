"""A small writer of ONNX graphs for the test networks: `onnx.helper` with running names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def same_padding(extent: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's SAME padding of one axis: (before, after)."""
    total = max((-(-extent // stride) - 1) * stride + kernel - extent, 0)
    return total // 2, total - total // 2


class GraphWriter:
    """Collects nodes and initializers; every method returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._count = 0

    def constant(self, array: np.ndarray, name: str) -> str:
        """Add an initializer."""
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], name: str | None = None, **attributes: Any) -> str:
        """Add a node with one output."""
        self._count += 1
        name = name or f"{operator.lower()}_{self._count}"
        output = f"{name}:0"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=name, **attributes))
        return output

    def conv(
        self,
        x: str,
        weight: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        name: str,
        strides: tuple[int, int] = (1, 1),
        pads: tuple[int, int, int, int] = (0, 0, 0, 0),
        group: int = 1,
    ) -> str:
        """Convolution with OIHW weights."""
        inputs = [x, self.constant(weight, f"{name}.weight")]
        if bias is not None:
            inputs.append(self.constant(bias, f"{name}.bias"))
        return self.node("Conv", inputs, name, strides=strides, pads=pads, group=group, kernel_shape=weight.shape[2:])

    def batch_norm(self, x: str, parameters: Sequence[np.ndarray], epsilon: float, name: str) -> str:
        """Batch normalization; parameters are scale, bias, mean, variance."""
        roles = ("scale", "bias", "mean", "variance")
        names = [self.constant(p, f"{name}.{role}") for role, p in zip(roles, parameters, strict=True)]
        return self.node("BatchNormalization", [x, *names], name, epsilon=epsilon)

    def gemm(self, x: str, weight: np.ndarray, bias: np.ndarray, name: str) -> str:
        """Fully connected layer; weight is [out, in]."""
        inputs = [x, self.constant(weight, f"{name}.weight"), self.constant(bias, f"{name}.bias")]
        return self.node("Gemm", inputs, name, transB=1)

    def save(
        self, path: Path, inputs: dict[str, Sequence[int]], outputs: dict[str, Sequence[int]], opset: int = 17
    ) -> Path:
        """Write a float32 model; `outputs` maps result names to shapes."""
        graph = helper.make_graph(
            self.nodes,
            path.stem,
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, list(s)) for n, s in inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, list(s)) for n, s in outputs.items()],
            self.initializers,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        onnx.checker.check_model(model)
        temporary = path.with_suffix(".tmp")
        onnx.save(model, temporary)
        temporary.replace(path)
        return path
