"""Train the network of `qbcompiler demo` on the digits of scikit-learn and write it as ONNX.

    python examples/train_digits.py [OUTPUT.onnx]

A few seconds on one core. The network has every structure that a small CNN has: convolutions with batch norm and ReLU,
max pooling, a residual block, global average pooling and a linear classifier. The result is package data.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from qbcompiler.demo import load_digit_images

EPOCHS = 40
OPSET = 17
DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent / "qbcompiler" / "data" / "digits.onnx"


class ConvBatchNorm(nn.Module):
    """3x3 convolution without bias, then batch norm."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x))


class DigitsNet(nn.Module):
    """8x8 grey images to ten logits; 29 thousand parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvBatchNorm(1, 16)
        self.widen = ConvBatchNorm(16, 32)
        self.block1 = ConvBatchNorm(32, 32)
        self.block2 = ConvBatchNorm(32, 32)
        self.classifier = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        x = torch.relu(self.widen(x))
        x = torch.max_pool2d(x, 2)
        x = torch.relu(x + self.block2(torch.relu(self.block1(x))))
        return self.classifier(x.mean(dim=(2, 3)))


def train() -> DigitsNet:
    """Train with small shifts as augmentation; returns the network in evaluation mode."""
    torch.manual_seed(0)
    images, labels, _, _ = load_digit_images()
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels)
    model = DigitsNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    steps_per_epoch = -(-len(inputs) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=EPOCHS * steps_per_epoch)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(inputs)).split(64):
            shifted = torch.roll(inputs[batch], tuple(torch.randint(-1, 2, (2,)).tolist()), (2, 3))
            loss = nn.functional.cross_entropy(model(shifted), targets[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


class GraphWriter:
    """Collects ONNX nodes and initializers."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: torch.Tensor) -> str:
        self.weights.append(numpy_helper.from_array(value.detach().numpy().astype(np.float32), name))
        return name

    def node(self, operator: str, name: str, inputs: list[str], **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [f"{name}_out"], name, **attributes))
        return f"{name}_out"

    def conv_batch_norm(self, name: str, module: ConvBatchNorm, x: str) -> str:
        weight = self.weight(f"{name}.conv.weight", module.conv.weight)
        x = self.node("Conv", f"{name}/conv", [x, weight], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        norm = module.norm
        parts = {"weight": norm.weight, "bias": norm.bias, "mean": norm.running_mean, "variance": norm.running_var}
        inputs = [x, *(self.weight(f"{name}.norm.{part}", value) for part, value in parts.items())]
        return self.node("BatchNormalization", f"{name}/norm", inputs, epsilon=norm.eps)


def to_onnx(model: DigitsNet) -> onnx.ModelProto:
    """Return the trained network as an ONNX model with one image as input."""
    graph = GraphWriter()
    x = graph.node("Relu", "stem/relu", [graph.conv_batch_norm("stem", model.stem, "image")])
    x = graph.node("Relu", "widen/relu", [graph.conv_batch_norm("widen", model.widen, x)])
    skip = graph.node("MaxPool", "pool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = graph.node("Relu", "block1/relu", [graph.conv_batch_norm("block1", model.block1, skip)])
    x = graph.node("Add", "block/add", [graph.conv_batch_norm("block2", model.block2, x), skip])
    x = graph.node("Relu", "block/relu", [x])
    x = graph.node("GlobalAveragePool", "gap", [x])
    x = graph.node("Flatten", "flatten", [x], axis=1)
    weight = graph.weight("classifier.weight", model.classifier.weight)
    bias = graph.weight("classifier.bias", model.classifier.bias)
    graph.nodes.append(helper.make_node("Gemm", [x, weight, bias], ["logits"], "classifier", transB=1))
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])]
    proto = helper.make_graph(graph.nodes, "digits", inputs, outputs, graph.weights)
    result = helper.make_model(proto, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="qbcompiler-digits")
    result.ir_version = 8
    onnx.checker.check_model(result, full_check=True)
    return result


def main() -> None:
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_OUTPUT
    model = train()
    _, _, images, labels = load_digit_images()
    with torch.no_grad():
        correct = (model(torch.from_numpy(images)).argmax(1).numpy() == labels).mean()
    output.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(to_onnx(model), output)
    print(f"test accuracy {correct:.4f}, wrote {output} ({output.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
