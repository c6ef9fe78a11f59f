"""Models that are well-formed protobuf and yet hostile: sizes nobody can hold, odd names, cycles, bodies, numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Rng = np.random.Generator
ModelMutation = Callable[[onnx.ModelProto, Rng], None]
NAMES = (
    "",
    " ",
    "\n",
    "a\nERROR [X]: b",
    '"quoted"',
    "名前",
    "\U0001f600" * 40,
    "../../x",
    "%0",
    "@main",
    "x" * 100_000,
    "\0",
    "{}",
    "\x1b[31m",
)


def _splice(model: onnx.ModelProto, rng: Rng, make: Callable[[str, str], list[onnx.NodeProto]]) -> None:
    """Put nodes between the producer of a value and its readers."""
    nodes = model.graph.node
    if not nodes:
        return
    position = int(rng.integers(len(nodes)))
    if not nodes[position].output or not nodes[position].output[0]:
        return
    value = nodes[position].output[0]
    nodes[position].output[0] = "spliced"
    for offset, node in enumerate(make("spliced", value)):
        nodes.insert(position + 1 + offset, node)


def _constant(model: onnx.ModelProto, name: str, values: object, dtype: type = np.int64) -> str:
    model.graph.initializer.append(numpy_helper.from_array(np.array(values, dtype), name))
    return name


def huge_value(model: onnx.ModelProto, rng: Rng) -> None:
    """An operator whose result nobody can hold."""
    size = int(rng.choice([1 << 16, 1 << 20, 1 << 31, 1 << 40, (1 << 63) - 1]))
    big = _constant(model, "big", [size, size, 1, 1])
    some = _constant(model, "some", [1, 1, size, size])
    one = _constant(model, "one", [size])
    zero, step = _constant(model, "zero", 0), _constant(model, "step", 1)
    last = _constant(model, "last", size)
    scales = _constant(model, "huge_scales", [1, 1, float(size), float(size)], np.float32)
    pads = _constant(model, "pads", [0, 0, size, size, 0, 0, size, size])
    variants: list[Callable[[str, str], list[onnx.NodeProto]]] = [
        lambda a, b: [helper.make_node("Expand", [a, big], [b])],
        lambda a, b: [helper.make_node("Tile", [a, some], [b])],
        lambda a, b: [helper.make_node("Pad", [a, pads], [b])],
        lambda a, b: [helper.make_node("Resize", [a, "", scales], [b])],
        lambda a, b: [
            helper.make_node("ConstantOfShape", [big], ["filled"]),
            helper.make_node("Add", [a, "filled"], [b]),
        ],
        lambda a, b: [
            helper.make_node("Range", [zero, last, step], ["range"]),
            helper.make_node("Cast", ["range"], ["floats"], to=1),
            helper.make_node("Add", [a, "floats"], [b]),
        ],
        lambda a, b: [
            helper.make_node("ConstantOfShape", [one], ["flat"]),
            helper.make_node("NonZero", ["flat"], ["places"]),
            helper.make_node("Cast", ["places"], ["floats"], to=1),
            helper.make_node("Add", [a, "floats"], [b]),
        ],
    ]
    _splice(model, rng, variants[int(rng.integers(len(variants)))])


def training_mode(model: onnx.ModelProto, rng: Rng) -> None:
    """Operators in training mode, random operators, gradients."""
    ratio = _constant(model, "ratio", 0.5, np.float32)
    yes = _constant(model, "yes", True, np.bool_)
    channels = _constant(model, "per_channel", np.ones(int(rng.choice([1, 8, 16]))), np.float32)
    variants: list[Callable[[str, str], list[onnx.NodeProto]]] = [
        lambda a, b: [helper.make_node("Dropout", [a, ratio, yes], [b])],
        lambda a, b: [helper.make_node("BatchNormalization", [a, *[channels] * 4], [b, "m", "v"], training_mode=1)],
        lambda a, b: [helper.make_node("BatchNormalization", [a, *[channels] * 4], [b], epsilon=-2.0)],
        lambda a, b: [helper.make_node("RandomNormalLike", [a], [b])],
        lambda a, b: [helper.make_node("Bernoulli", [a], [b])],
        lambda a, b: [helper.make_node("Gradient", [a], [b], domain="ai.onnx.preview.training")],
        lambda a, b: [helper.make_node("LRN", [a], [b], size=int(rng.choice([0, -1, 5, 1 << 40])))],
    ]
    _splice(model, rng, variants[int(rng.integers(len(variants)))])


def odd_names(model: onnx.ModelProto, rng: Rng) -> None:
    """A name that is empty, long, not ASCII, quoted, a path, or taken."""
    name = NAMES[int(rng.integers(len(NAMES)))]
    graph = model.graph
    old = ""
    choice = int(rng.integers(6))
    if choice == 0:
        old = graph.input[0].name
    elif choice == 1:
        old = graph.output[0].name
    elif choice == 2:
        for node in graph.node:
            node.name = name
    elif choice == 3:
        model.producer_name = graph.name = graph.doc_string = name
    elif choice == 4:
        graph.node[-1].op_type = name
    else:
        old = graph.node[0].output[0] if graph.node and graph.node[0].output else ""
        name = graph.input[0].name
    if not old:
        return
    for value in (*graph.input, *graph.output):
        value.name = name if value.name == old else value.name
    for node in graph.node:
        for names in (node.input, node.output):
            for position, found in enumerate(names):
                names[position] = name if found == old else found


def cycle(model: onnx.ModelProto, rng: Rng) -> None:
    """A node reads what it, or a later one, produces."""
    nodes = [node for node in model.graph.node if node.input and node.output]
    first, second = (nodes[int(i)] for i in rng.integers(len(nodes), size=2))
    first.input[0] = second.output[0]


def bodies(model: onnx.ModelProto, rng: Rng) -> None:
    """If, Loop and Scan around a value, nested up to 28 levels, sometimes ill-typed."""
    yes = _constant(model, "yes", True, np.bool_)
    count = _constant(model, "count", int(rng.choice([0, 2, 1 << 40])))
    depth = int(rng.choice([1, 3, 12, 28]))

    def branch(level: int, name: str) -> onnx.GraphProto:
        inner = f"r{level}{name}"
        if level == 0:
            nodes = [helper.make_node("Relu", ["spliced"], [inner])]
        else:
            both = {"then_branch": branch(level - 1, "t"), "else_branch": branch(0, f"e{level}")}
            nodes = [helper.make_node("If", [yes], [inner], **both)]
        return helper.make_graph(nodes, inner, [], [helper.make_tensor_value_info(inner, TensorProto.FLOAT, None)])

    def loop(a: str, b: str) -> list[onnx.NodeProto]:
        def info(name: str, kind: int) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, kind, None)

        body = helper.make_graph(
            [helper.make_node("Relu", ["state"], ["next"]), helper.make_node("Identity", ["go"], ["on"])],
            "body",
            [info("i", TensorProto.INT64), info("go", TensorProto.BOOL), info("state", TensorProto.FLOAT)],
            [info("on", TensorProto.BOOL), info("next", int(rng.choice([1, 7])))],
        )
        return [helper.make_node("Loop", [count, str(rng.choice([yes, ""])), a], [b], body=body)]

    def nest(a: str, b: str) -> list[onnx.NodeProto]:
        both = {"then_branch": branch(depth, "t"), "else_branch": branch(0, "e")}
        return [helper.make_node("If", [yes], [b], **both)]

    _splice(model, rng, loop if rng.random() < 0.4 else nest)


def odd_numbers(model: onnx.ModelProto, rng: Rng) -> None:
    """Weights that are not finite, or at the ends of what floats hold."""
    tensors = [tensor for tensor in model.graph.initializer if tensor.data_type == 1]
    tensor = tensors[int(rng.integers(len(tensors)))]
    array = numpy_helper.to_array(tensor).copy()
    value = float(rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0, 1e30]))
    array[rng.random(array.shape) < float(rng.choice([0.01, 0.5, 1.1]))] = value
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def odd_boundary(model: onnx.ModelProto, rng: Rng) -> None:
    """Other inputs and outputs: symbolic, of rank 0, without elements, repeated, of other types, or none."""
    graph = model.graph
    choice = int(rng.integers(9))
    if choice == 0:
        graph.output.add().CopyFrom(graph.input[0])
    elif choice == 1:
        graph.output.add().CopyFrom(graph.output[0])
    elif choice == 2:
        del graph.output[:]
    elif choice == 3:
        del graph.node[:]
    elif choice == 4:
        for dim in graph.input[0].type.tensor_type.shape.dim:
            dim.dim_param = "N"
    elif choice == 5:
        graph.input[0].type.tensor_type.ClearField("shape")
    elif choice == 6:
        graph.input[0].type.tensor_type.elem_type = int(rng.choice([0, 2, 7, 8, 9, 10, 11, 16, 23]))
    elif choice == 7:
        name, shape = f"extra{rng.integers(9)}", [1 << int(rng.integers(0, 40)) for _ in range(int(rng.integers(0, 9)))]
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    else:
        name = _constant(model, "lonely", np.ones(3), np.float32)
        graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]))


def odd_attributes(model: onnx.ModelProto, rng: Rng) -> None:
    """Axes, permutations, paddings, strides and groups that do not fit."""
    node = model.graph.node[int(rng.integers(len(model.graph.node)))]
    names = (
        "axis",
        "perm",
        "pads",
        "strides",
        "dilations",
        "kernel_shape",
        "group",
        "auto_pad",
        "ceil_mode",
        "epsilon",
    )
    name = names[int(rng.integers(len(names)))]
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    length = int(rng.choice([0, 1, 2, 4, 9]))
    values: dict[str, object] = {
        "axis": int(rng.choice([-9, 9, 1 << 62])),
        "auto_pad": str(rng.choice(["SAME_UPPER", "VALID", "NONSENSE"])),
        "epsilon": float(rng.choice([np.nan, -1.0, np.inf, 1e38])),
        "group": int(rng.choice([0, -1, 3, 1 << 31])),
        "ceil_mode": int(rng.choice([-1, 1, 7])),
    }
    numbers = [int(rng.choice([0, -1, 1, 3, 1 << 20, 1 << 31, (1 << 63) - 1])) for _ in range(length)] or [0]
    kept.append(helper.make_attribute(name, values.get(name, numbers)))
    del node.attribute[:]
    node.attribute.extend(kept)


def escaping_data(model: onnx.ModelProto, rng: Rng) -> None:
    """External data outside of the directory of the model, in a device, or of a size that is not there."""
    tensor = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
    places = ["../x.bin", "/etc/passwd", "/dev/zero", "mutant.onnx", "", ".", "a\0b", "./../x", "C:\\x", "x" * 5000]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=places[int(rng.integers(len(places)))])
    tensor.external_data.add(key="offset", value=str(rng.choice(["0", "-1", "1e9", "99999999999999999999", "4096"])))
    if rng.random() < 0.5:
        tensor.external_data.add(key="length", value=str(rng.choice(["0", "-5", "64", "18446744073709551615"])))


def newer_opset(model: onnx.ModelProto, rng: Rng) -> None:
    """An operator set or format of the future, none, or two."""
    version = int(rng.choice([26, 27, 1000, (1 << 62)]))
    if rng.random() < 0.3:
        model.ir_version = version
    elif rng.random() < 0.3:
        model.opset_import.add(domain=str(rng.choice(["", "ai.onnx", "com.microsoft", "ai.onnx.ml"])), version=version)
    else:
        model.opset_import[0].version = version


MUTATIONS: tuple[ModelMutation, ...] = (
    huge_value,
    huge_value,
    training_mode,
    odd_names,
    cycle,
    bodies,
    odd_numbers,
    odd_boundary,
    odd_attributes,
    odd_attributes,
    escaping_data,
    newer_opset,
)


def hostile(source: Path, target: Path, rng: Rng) -> None:
    """Write a model with one or two of the mutations above."""
    model = onnx.load(source)
    for _ in range(int(rng.integers(1, 3))):
        if model.graph.node and model.graph.initializer and model.graph.input and model.graph.output:
            MUTATIONS[int(rng.integers(len(MUTATIONS)))](model, rng)
    target.write_bytes(model.SerializeToString())
