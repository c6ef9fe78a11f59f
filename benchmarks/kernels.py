"""Times the integer kernels against onnxruntime float32 on the same topologies, single-threaded, interleaved.

    python -m benchmarks.kernels [--rounds N] [--layers] [resnet50] [mobilenetv2]

Each topology is one list of layers with random weights; it becomes an ONNX float model (224x224, batch 1) and a list of
prepared integer kernels with fused rescale, clamp and residual addition. Printed are medians of the CPU time and the
ratio onnxruntime / kernels (above 1: the exact integer run is faster than float). They tell where time goes;
`benchmarks.simulator` has the required values, for whole programs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from benchmarks.measure import Row, in_turns
from qbc.kernels import KernelCall, TensorSpec, families_in_use, prepare
from qbc.kernels.requantize import multiplier_of


@dataclass
class Layer:
    """One layer: `conv`, `max_pool`, `mean` or `linear`; `residual` names an earlier output added before the clamp."""

    kind: str
    channels: int = 0
    kernel: int = 1
    stride: int = 1
    groups: int = 1
    source: int = -1  # layer whose output is the input; -1 means the previous one
    residual: int | None = None
    activation: tuple[float, float] | None = None


@dataclass
class Network:
    """Layers and their weights (float OIHW)."""

    name: str
    layers: list[Layer] = field(default_factory=list)

    def add(self, *args: object, **kwargs: object) -> int:
        """Append a layer and return its index."""
        self.layers.append(Layer(*args, **kwargs))  # type: ignore[arg-type]
        return len(self.layers) - 1


RELU, RELU6 = (0.0, 3.4e38), (0.0, 6.0)


def resnet50() -> Network:
    """ResNet-50, stride in the 3x3 convolution."""
    net = Network("resnet50")
    net.add("conv", 64, 7, 2, activation=RELU)
    last = net.add("max_pool", 0, 3, 2)
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            shortcut = last
            if block == 0:
                shortcut = net.add("conv", 4 * width, 1, step, source=last)
            net.add("conv", width, 1, 1, source=last, activation=RELU)
            net.add("conv", width, 3, step, activation=RELU)
            last = net.add("conv", 4 * width, 1, 1, residual=shortcut, activation=RELU)
    net.add("mean")
    net.add("linear", 1000)
    return net


def mobilenetv2() -> Network:
    """MobileNetV2, width 1.0."""
    net = Network("mobilenetv2")
    last = net.add("conv", 32, 3, 2, activation=RELU6)
    channels = 32
    plan = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expand, out, repeats, stride in plan:
        for block in range(repeats):
            step = stride if block == 0 else 1
            hidden = channels * expand
            shortcut = last if step == 1 and channels == out else None
            if expand != 1:
                net.add("conv", hidden, 1, 1, source=last, activation=RELU6)
            net.add("conv", hidden, 3, step, hidden, activation=RELU6)
            last = net.add("conv", out, 1, 1, residual=shortcut)
            channels = out
    net.add("conv", 1280, 1, 1, activation=RELU6)
    net.add("mean")
    net.add("linear", 1000)
    return net


def shapes_of(net: Network) -> list[tuple[int, ...]]:
    """Output shape (NHWC) of every layer."""
    shapes: list[tuple[int, ...]] = []
    for index, layer in enumerate(net.layers):
        n, h, w, c = (1, 224, 224, 3) if index == 0 else (*shapes[source_of(index, layer)], 0, 0, 0, 0)[:4]
        if layer.kind in ("conv", "max_pool"):
            padding = layer.kernel // 2
            h, w = ((e + 2 * padding - layer.kernel) // layer.stride + 1 for e in (h, w))
            shapes.append((n, h, w, layer.channels or c))
        else:
            shapes.append((1, shapes[-1][-1]) if layer.kind == "mean" else (1, layer.channels))
    return shapes


def source_of(index: int, layer: Layer) -> int:
    """Index of the layer that feeds this one."""
    return index - 1 if layer.source < 0 else layer.source


def float_model(net: Network, weights: dict[int, np.ndarray]) -> bytes:
    """The topology as an ONNX model over NCHW float32."""
    nodes, initializers = [], []
    shapes = shapes_of(net)
    for index, layer in enumerate(net.layers):
        name, source = f"t{index}", "x" if index == 0 else f"t{source_of(index, layer)}"
        pads = [layer.kernel // 2] * 4
        window = {"kernel_shape": [layer.kernel] * 2, "strides": [layer.stride] * 2, "pads": pads}
        if index in weights:
            initializers.append(numpy_helper.from_array(weights[index], f"w{index}"))
            initializers.append(numpy_helper.from_array(np.zeros(layer.channels, np.float32), f"b{index}"))
        inner = f"{name}_raw" if layer.activation or layer.residual is not None else name
        if layer.kind == "conv":
            inputs = [source, f"w{index}", f"b{index}"]
            nodes.append(helper.make_node("Conv", inputs, [inner], group=layer.groups, **window))
        elif layer.kind == "max_pool":
            nodes.append(helper.make_node("MaxPool", [source], [name], **window))
        elif layer.kind == "mean":
            nodes.append(helper.make_node("GlobalAveragePool", [source], [f"{name}_4d"]))
            nodes.append(helper.make_node("Flatten", [f"{name}_4d"], [name]))
        else:
            nodes.append(helper.make_node("Gemm", [source, f"w{index}", f"b{index}"], [name], transB=1))
        if layer.residual is not None:
            added = f"{name}_sum" if layer.activation else name
            nodes.append(helper.make_node("Add", [inner, f"t{layer.residual}"], [added]))
            inner = added
        if layer.activation == RELU:
            nodes.append(helper.make_node("Relu", [inner], [name]))
        elif layer.activation == RELU6:
            nodes.append(helper.make_node("Clip", [inner, "zero", "six"], [name]))
    initializers += [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in (("zero", 0.0), ("six", 6.0))]
    graph = helper.make_graph(
        nodes,
        net.name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info(f"t{len(net.layers) - 1}", TensorProto.FLOAT, list(shapes[-1]))],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def integer_program(net: Network, weights: dict[int, np.ndarray]) -> list[tuple[str, Callable[[], None]]]:
    """The topology as prepared kernels with their arrays bound: (description, call)."""
    rng = np.random.default_rng(0)
    shapes = shapes_of(net)
    x = rng.integers(0, 256, (1, 224, 224, 3), dtype=np.uint8)
    arrays = [np.empty(shape, np.uint8) for shape in shapes]
    program = []
    for index, layer in enumerate(net.layers):
        source = x if index == 0 else arrays[source_of(index, layer)]
        spec, out = TensorSpec(source.shape, "i8"), TensorSpec(shapes[index], "i8")
        zx = 0 if index == 0 or net.layers[source_of(index, layer)].activation is None else -128
        z = -128 if layer.activation else 0
        window = {"strides": (layer.stride,) * 2, "padding": (layer.kernel // 2,) * 4, "dilations": (1, 1)}
        operands = [source]
        if layer.kind == "max_pool":
            call = KernelCall("max_pool2d", (spec,), out, window | {"kernel": (layer.kernel,) * 2})
        elif layer.kind == "mean":
            m, s = multiplier_of(Fraction(1, source.shape[1] * source.shape[2]))
            call = KernelCall("reduce_sum", (spec,), out, {"axes": (1, 2), "zx": zx, "m": m, "s": s, "z": -128})
        else:
            call = weighted_call(layer, weights[index], spec, out, zx, z, window, layer.residual is not None)
            if layer.residual is not None:
                operands.append(arrays[layer.residual])
        run, arguments = prepare(call), (*operands, arrays[index])
        program.append(
            (f"{layer.kind} {layer.kernel}x{layer.kernel} g{layer.groups} {out.shape}", bind(run, arguments))
        )
    return program


def bind(run: Callable[..., None], arguments: tuple[np.ndarray, ...]) -> Callable[[], None]:
    """Fix the arrays of a kernel."""
    return lambda: run(*arguments)


def weighted_call(
    layer: Layer,
    weight: np.ndarray,
    spec: TensorSpec,
    out: TensorSpec,
    zx: int,
    z: int,
    window: dict[str, object],
    residual: bool,
) -> KernelCall:
    """A convolution or linear call whose outputs fill the range."""
    scale = np.abs(weight).reshape(weight.shape[0], -1).max(axis=1)
    codes = np.rint(weight / scale.reshape(-1, *[1] * (weight.ndim - 1)) * 127).astype(np.int8)
    if layer.kind == "conv":
        codes = np.ascontiguousarray(codes.transpose(0, 2, 3, 1))
    flat = codes.reshape(layer.channels, -1).astype(np.int64)
    spread = np.sqrt((flat**2).sum(axis=1)) * (90 if zx else 74)
    pairs = [multiplier_of(Fraction(45) / Fraction(float(v))) for v in spread]
    constants = {
        "weight": codes,
        "bias": -zx * flat.sum(axis=1),
        "multiplier": np.array([m for m, _ in pairs], np.int64),
        "shift": np.array([s for _, s in pairs], np.int64),
    }
    attributes: dict[str, object] = {"zx": zx, "z": 0 if residual else z, "lo": -128, "hi": 127}
    if layer.kind == "linear":
        return KernelCall("linear", (spec,), out, attributes, constants)  # type: ignore[arg-type]
    attributes |= window | {"groups": layer.groups}
    if not residual:
        return KernelCall("conv2d", (spec,), out, attributes, constants)  # type: ignore[arg-type]
    attributes |= {"add_ma": 3 << 29, "add_mb": 1 << 30, "add_s": 31, "add_za": 0, "add_zb": z}
    attributes |= {"add_z": z, "add_lo": -128, "add_hi": 127}
    return KernelCall("conv2d", (spec, out), out, attributes, constants)  # type: ignore[arg-type]


def random_weights(net: Network) -> dict[int, np.ndarray]:
    """He-initialised float weights, OIHW or [out, in]."""
    rng = np.random.default_rng(1)
    shapes = shapes_of(net)
    weights = {}
    for index, layer in enumerate(net.layers):
        if layer.kind not in ("conv", "linear"):
            continue
        width = 3 if index == 0 else shapes[source_of(index, layer)][-1]
        shape = (layer.channels, width // layer.groups) + ((layer.kernel,) * 2 if layer.kind == "conv" else ())
        deviation = (2 / np.prod(shape[1:])) ** 0.5
        weights[index] = (rng.standard_normal(shape) * deviation).astype(np.float32)
    return weights


def measure(net: Network, rounds: int, layers: bool) -> None:
    """Print the medians of one topology."""
    weights = random_weights(net)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(float_model(net, weights), options, providers=["CPUExecutionProvider"])
    image = {"x": np.random.default_rng(2).standard_normal((1, 3, 224, 224)).astype(np.float32)}
    program = integer_program(net, weights)

    def integer_run() -> None:
        for _, call in program:
            call()

    for _ in range(3):
        session.run(None, image)
        integer_run()
    float_s, integer_s, ratio = in_turns(lambda: session.run(None, image), integer_run, rounds)
    print(
        Row(
            f"kernels / onnxruntime float32 speed, {net.name}",
            f"{ratio:.2f}x ({float_s * 1e3:.1f} ms : {integer_s * 1e3:.1f} ms)",
        )
    )
    if not layers:
        return
    for description, call in program:
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(f"  {median(times) * 1e6:8.1f} us  {description}")


def main() -> None:
    """Parse arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=["resnet50", "mobilenetv2"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--layers", action="store_true", help="print the time of every integer layer")
    arguments = parser.parse_args()
    known = {"resnet50": resnet50, "mobilenetv2": mobilenetv2}
    print("kernel families:", families_in_use())
    for name in arguments.networks:
        measure(known[name](), arguments.rounds, arguments.layers)


if __name__ == "__main__":
    main()
