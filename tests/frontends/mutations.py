"""Damaged ONNX files: truncation, flipped bits, and models that are well-formed protobuf but wrong."""

from __future__ import annotations

import random
from collections.abc import Callable

import onnx

Mutation = Callable[[random.Random, onnx.ModelProto], None]


def truncated(rng: random.Random, data: bytes) -> bytes:
    """Return a prefix of a file."""
    return data[: rng.randrange(len(data))]


def bit_flipped(rng: random.Random, data: bytes) -> bytes:
    """Return a file with up to eight flipped bits, most of them in the graph structure (the first and last 4 KiB)."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        near_end = rng.random() < 0.5
        span = min(len(out), 4096)
        position = rng.randrange(len(out)) if rng.random() < 0.3 else rng.randrange(span)
        out[len(out) - 1 - position if near_end else position] ^= 1 << rng.randrange(8)
    return bytes(out)


def structural(rng: random.Random, data: bytes) -> bytes:
    """Return a model with one to three of the mutations below."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(rng.randint(1, 3)):
        rng.choice(STRUCTURAL)(rng, model)
    return bytes(model.SerializeToString())


def _node(rng: random.Random, model: onnx.ModelProto) -> onnx.NodeProto | None:
    return rng.choice(model.graph.node) if model.graph.node else None


def _tensor(rng: random.Random, model: onnx.ModelProto) -> onnx.TensorProto | None:
    tensors = list(model.graph.initializer)
    tensors += [a.t for node in model.graph.node for a in node.attribute if a.HasField("t")]
    return rng.choice(tensors) if tensors else None


def drop_node(rng: random.Random, model: onnx.ModelProto) -> None:
    if model.graph.node:
        del model.graph.node[rng.randrange(len(model.graph.node))]


def repeat_node(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is not None:
        model.graph.node.add().CopyFrom(node)


def swap_nodes(rng: random.Random, model: onnx.ModelProto) -> None:
    if len(model.graph.node) > 1:
        a, b = rng.sample(range(len(model.graph.node)), 2)
        first = onnx.NodeProto.FromString(model.graph.node[a].SerializeToString())
        model.graph.node[a].CopyFrom(model.graph.node[b])
        model.graph.node[b].CopyFrom(first)


def rewire(rng: random.Random, model: onnx.ModelProto) -> None:
    node, other = _node(rng, model), _node(rng, model)
    if node is not None and other is not None and node.input and other.output:
        node.input[rng.randrange(len(node.input))] = rng.choice([*other.output[:1], "", "nowhere", *node.output[:1]])


def drop_input(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is not None and node.input:
        node.input.pop()


def more_inputs(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is not None and node.input:
        node.input.extend([node.input[0]] * rng.randint(1, 5))


def drop_outputs(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is not None:
        del node.output[:]


def rename_operator(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is not None:
        names = [
            "Conv",
            "Relu",
            "If",
            "Loop",
            "LSTM",
            "Reshape",
            "NoSuchOp",
            "",
            "Split",
            "Concat",
            "Resize",
            "Constant",
        ]
        node.op_type = rng.choice(names)


def change_domain(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is not None:
        node.domain = rng.choice(["com.example", "ai.onnx.ml", "ai.onnx", "ai.onnx.preview"])


def change_attribute(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is None or not node.attribute:
        return
    attribute = rng.choice(node.attribute)
    attribute.i = rng.choice([-1, 0, 2**62, -(2**63), 7])
    if attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice([-1, 0, 2**40, -(2**63), 3])
    if rng.random() < 0.3:
        attribute.type = rng.randrange(15)
    if rng.random() < 0.2:
        attribute.name = rng.choice(["", "axis", "unknown_attribute"])
    if rng.random() < 0.1:
        attribute.ref_attr_name = "outer"


def drop_attributes(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    if node is not None:
        del node.attribute[:]


def change_dims(rng: random.Random, model: onnx.ModelProto) -> None:
    tensor = _tensor(rng, model)
    if tensor is None:
        return
    if tensor.dims and rng.random() < 0.7:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice([0, -1, 1, 2**31, 2**40, 2**62])
    else:
        tensor.dims.extend([2**20] * rng.randint(1, 4))


def change_dtype(rng: random.Random, model: onnx.ModelProto) -> None:
    tensor = _tensor(rng, model)
    if tensor is not None:
        tensor.data_type = rng.choice([0, 1, 2, 6, 7, 8, 9, 11, 16, 17, 22, 26, 99])


def cut_data(rng: random.Random, model: onnx.ModelProto) -> None:
    tensor = _tensor(rng, model)
    if tensor is not None:
        tensor.raw_data = tensor.raw_data[: len(tensor.raw_data) // 2]


def claim_external(rng: random.Random, model: onnx.ModelProto) -> None:
    tensor = _tensor(rng, model)
    if tensor is not None:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        location = rng.choice(["weights.bin", "../../etc/passwd", "/etc/passwd", "", "a\0b", "/dev/zero"])
        tensor.external_data.add(key="location", value=location)
        tensor.external_data.add(key="offset", value=rng.choice(["0", "-1", "x", str(2**70)]))


def change_input(rng: random.Random, model: onnx.ModelProto) -> None:
    if not model.graph.input:
        return
    value = rng.choice(model.graph.input)
    dims = value.type.tensor_type.shape.dim
    if dims and rng.random() < 0.7:
        rng.choice(dims).dim_value = rng.choice([0, -5, 2**31, 2**62, 5])
    else:
        value.type.tensor_type.elem_type = rng.randrange(30)


def change_opset(rng: random.Random, model: onnx.ModelProto) -> None:
    if model.opset_import:
        model.opset_import[0].version = rng.choice([-1, 0, 1, 7, 13, 24, 25, 26, 2**40])


def change_ir_version(rng: random.Random, model: onnx.ModelProto) -> None:
    model.ir_version = rng.choice([0, 1, 3, 9, 99, -1])


def drop_header(rng: random.Random, model: onnx.ModelProto) -> None:
    del model.opset_import[:]


def drop_boundary(rng: random.Random, model: onnx.ModelProto) -> None:
    side = model.graph.input if rng.random() < 0.5 else model.graph.output
    if side:
        del side[rng.randrange(len(side))]


def repeat_boundary(rng: random.Random, model: onnx.ModelProto) -> None:
    side = model.graph.input if rng.random() < 0.5 else model.graph.output
    if side:
        side.add().CopyFrom(side[0])


def deep_nesting(rng: random.Random, model: onnx.ModelProto) -> None:
    graph = model.graph
    for _ in range(rng.choice([3, 30])):
        node = graph.node.add(op_type="If", input=["condition"], output=["deep"])
        attribute = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        graph = attribute.g


def recursive_function(rng: random.Random, model: onnx.ModelProto) -> None:
    function = model.functions.add(name="F", domain="local", input=["x"], output=["y"])
    function.opset_import.add(domain="", version=13)
    function.node.add(op_type="F", domain="local", input=["x"], output=["y"])
    model.opset_import.add(domain="local", version=1)
    node = _node(rng, model)
    if node is not None and rng.random() < 0.7:
        node.op_type, node.domain = "F", "local"


STRUCTURAL: list[Mutation] = [
    drop_node,
    repeat_node,
    swap_nodes,
    rewire,
    drop_input,
    more_inputs,
    drop_outputs,
    rename_operator,
    change_domain,
    change_attribute,
    drop_attributes,
    change_dims,
    change_dtype,
    cut_data,
    claim_external,
    change_input,
    change_opset,
    change_ir_version,
    drop_header,
    drop_boundary,
    repeat_boundary,
    deep_nesting,
    recursive_function,
]
KINDS = (truncated, bit_flipped, structural)
