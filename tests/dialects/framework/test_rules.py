"""Types and shapes that the verifier of operators asks for are those of the onnx package."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import defs
from onnx.shape_inference import InferenceError, infer_node_outputs
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, i64
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from qbc.dialects.common.shapes import DYNAMIC, compatible
from qbc.dialects.framework import OPSET, ConstantOp, build, type_table
from qbc.dialects.framework.generate import type_table_text
from qbc.dialects.framework.onnx_types import type_of
from qbc.dialects.framework.shape_rules import RULES, infer_shapes
from qbc.dialects.framework.signature import signatures
from qbc.dialects.framework.type_rules import ELEMENT_NAMES, type_name, type_rules

# onnx has no rule for the shape of these, or only one for a few forms; the node cases compute them.
WITH_CONSTANTS = ("Reshape", "Squeeze", "Unsqueeze", "ReduceSum", "ReduceMax")
UNCOMPARED = {
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "GroupNormalization",
    "MeanVarianceNormalization",
    "TensorScatter",
    "EyeLike",
}


def test_type_table_is_up_to_date() -> None:
    assert Path(type_table.__file__).read_text(encoding="utf-8") == type_table_text()
    assert set(type_rules()) == set(signatures())


def test_element_names_are_those_of_onnx() -> None:
    for code, name in enumerate(ELEMENT_NAMES):
        if code == 0:
            continue
        proto = onnx.helper.make_tensor_type_proto(code, [1])
        assert name == onnx.TensorProto.DataType.Name(code).lower()
        assert type_name(type_of(proto)) == f"tensor({name})"
        assert type_name(type_of(onnx.helper.make_sequence_type_proto(proto))) == f"seq(tensor({name}))"


@pytest.mark.parametrize("name", sorted(RULES))
def test_shape_rules_agree_with_onnx(name: str) -> None:
    rng = random.Random(name)
    schema = defs.get_schema(name, OPSET)
    compared = 0
    for _ in range(60):
        node, types = _random_node(schema, rng)
        try:
            found = infer_node_outputs(schema, node, types)
            shape = infer_shapes(_operation(node, types))
        except (InferenceError, VerifyException):
            continue
        dims = found["y"].tensor_type if "y" in found else None
        if dims is None or not dims.HasField("shape") or shape is None:
            continue
        wanted = [dim.dim_value if dim.HasField("dim_value") else DYNAMIC for dim in dims.shape.dim]
        assert compatible(shape, wanted), (node, types, shape)
        compared += 1
    assert compared > 5 or name in UNCOMPARED


@pytest.mark.parametrize("name", WITH_CONSTANTS)
def test_shape_rules_with_constants_agree_with_onnx(name: str) -> None:
    rng = random.Random(name)
    compared = 0
    for _ in range(60):
        rank = rng.randint(1, 4)
        shape = [rng.choice((1, 1, 2, 3)) for _ in range(rank)]
        numbers = rng.sample(range(-rank, rank), rng.randint(1, rank))
        if name == "Reshape":
            numbers = rng.choice((rng.sample(shape, rank), [-1], [0] * rank, [-1, *shape[1:]]))
        node = onnx.helper.make_node(name, ["x", "c"], ["y"])
        types = {
            "x": onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, shape),
            "c": onnx.helper.make_tensor_type_proto(onnx.TensorProto.INT64, [len(numbers)]),
        }
        data = {"c": onnx.helper.make_tensor("c", onnx.TensorProto.INT64, [len(numbers)], numbers)}
        constant = ConstantOp.of(DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(numbers)]), numbers))
        try:
            found = infer_node_outputs(defs.get_schema(name, OPSET), node, types, data)["y"].tensor_type.shape.dim
        except InferenceError:
            continue
        shape_found = infer_shapes(build(name, [create_ssa_value(type_of(types["x"])), constant.output], [f32]))
        if shape_found is not None:
            assert compatible(shape_found, [dim.dim_value for dim in found]), (name, shape, numbers)
            compared += 1
    assert compared > 5


def _random_shapes(name: str, count: int, rng: random.Random) -> list[list[int]]:
    low = {"Conv": 3, "AveragePool": 3, "LpPool": 3, "MaxPool": 3, "Gemm": 2, "ReverseSequence": 2}.get(name, 1)
    rank = rng.randint(low, 2 if name == "Gemm" else 4)
    shapes = [[rng.choice((1, 2, 3, 5)) for _ in range(rank)] for _ in range(count)]
    if name in ("BatchNormalization", "InstanceNormalization", "ReverseSequence"):
        shapes[1:] = [shapes[0][1:2]] * (count - 1)
    elif name == "Gather":
        shapes[1] = shapes[1][: rng.randint(0, rank)]
    elif rng.random() < 0.6:  # most rules are about operands of one shape
        shapes = [shapes[0]] * count
    return shapes


def _random_node(schema: Any, rng: random.Random) -> tuple[Any, dict[str, Any]]:
    count = max(schema.min_input, 2 if schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic else 1)
    shapes = _random_shapes(schema.name, count, rng)
    rank, spatial = len(shapes[0]), max(len(shapes[0]) - 2, 0)
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    types = {}
    for index, shape in enumerate(shapes):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        allowed = constraints.get(formal.type_str, [formal.type_str])
        kind = next((t for t in ("tensor(float)", "tensor(int64)", "tensor(bool)") if t in allowed), allowed[0])
        code = ELEMENT_NAMES.index(kind.removeprefix("tensor(").removesuffix(")"))
        types[f"v{index}"] = onnx.helper.make_tensor_type_proto(code, shape)
    values: dict[str, Any] = {
        "axis": rng.randrange(-rank, rank), "perm": rng.sample(range(rank), rank), "to": 1, "num_groups": 1, "size": 3,
        "keepdims": rng.randint(0, 1), "transA": rng.randint(0, 1), "transB": rng.randint(0, 1), "direction": "LEFT",
        "strides": rng.choices((1, 2, 3), k=spatial), "dilations": rng.choices((1, 2), k=spatial),
        "pads": rng.choices((0, 1, 2), k=2 * spatial), "kernel_shape": rng.choices((1, 2, 3), k=spatial),
        "start": rng.randint(-2, 2), "end": rng.randint(-2, 4),
    }  # fmt: skip
    chosen = {key: value for key, value in values.items() if key in schema.attributes and value != []}
    return onnx.helper.make_node(schema.name, list(types), ["y"], **chosen), types


def _operation(node: Any, types: dict[str, Any]) -> Any:
    operands = [create_ssa_value(type_of(types[name])) for name in node.input]
    attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
    texts = {key: value.decode() if isinstance(value, bytes) else value for key, value in attributes.items()}
    return build(node.op_type, operands, [f32], texts)
