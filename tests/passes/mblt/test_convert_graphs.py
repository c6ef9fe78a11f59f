"""Conversion of whole graphs: names, what stays in framework, constants, dynamic sizes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from xdsl.dialects.builtin import TensorType

from qbc.dialects.common.graph import argument_names, result_names, source_layouts
from qbc.dialects.mblt import shape_of
from qbc.passes.base import source_names
from qbc.passes.mblt.mblt_sink_transposes import MbltSinkTransposes
from tests.support.conversion import (
    check_conversion,
    convert,
    make_model,
    names_of,
    single_node,
)

RANDOM = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    """Standard normal float32 values."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_a_plain_cnn_ends_without_transposes_and_keeps_names() -> None:
    nodes = [
        helper.make_node("Conv", ["image", "w0"], ["a"], name="features/0", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="features/1"),
        helper.make_node("MaxPool", ["b"], ["c"], name="features/2", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Add", ["c", "bias"], ["d"], name="features/3"),
        helper.make_node("Flatten", ["d"], ["e"], name="flatten"),
        helper.make_node("Gemm", ["e", "w1", "b1"], ["logits"], name="head"),
    ]
    feed = {"image": normal(1, 3, 8, 10)}
    constants = {"w0": normal(6, 3, 3, 3), "bias": normal(6, 1, 1), "w1": normal(6 * 4 * 5, 7), "b1": normal(7)}
    function = check_conversion(make_model(nodes, feed, constants, ["logits"]), feed)
    assert names_of(function) == [
        "mblt.conv2d",
        "mblt.relu",
        "mblt.max_pool2d",
        "mblt.constant",
        "mblt.add",
        "mblt.reshape",
        "mblt.linear",
    ]
    assert argument_names(function) == ["image"]
    assert result_names(function) == ["logits"]
    assert source_layouts(function.arg_attrs, 1) == ["nchw"]
    assert shape_of(function.body.block.args[0]) == (1, 8, 10, 3)
    first = next(iter(function.body.block.ops))
    assert source_names(first) == ("features/0",)


def test_what_has_no_form_stays_and_is_reported() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
        helper.make_node("Hardmax", ["a"], ["b"], name="norm", axis=1),
        helper.make_node("Conv", ["b", "v"], ["y"], name="last"),
    ]
    feed = {"x": normal(1, 3, 6, 7)}
    module, function, context = convert(
        make_model(nodes, feed, {"w": normal(4, 3, 1, 1), "v": normal(2, 4, 1, 1)}, ["y"])
    )
    MbltSinkTransposes().run(function, context)
    module.verify()
    assert context.report["conversion"] == [{"node": "norm", "operator": "Hardmax", "reason": "no mblt form"}]
    assert names_of(function) == [
        "mblt.conv2d",
        "mblt.transpose",
        "framework.Hardmax",
        "mblt.transpose",
        "mblt.conv2d",
    ]
    kept = next(op for op in function.body.block.ops if op.name == "framework.Hardmax")
    assert shape_of(kept.operands[0]) == (1, 4, 6, 7)


def test_an_operator_is_refused_with_its_reason_and_leaves_nothing_behind() -> None:
    model, _ = single_node("Conv", [normal(1, 2, 5, 5), normal(3, 2, 1, 1)])
    _, function, context = convert(model)
    assert context.report["conversion"] == [
        {"node": "conv", "operator": "Conv", "reason": "the weight is not a constant"}
    ]
    assert names_of(function) == ["framework.Conv"]
    model, _ = single_node("MaxPool", [normal(1, 2, 5, 5)], outputs=2, kernel_shape=[2, 2])
    _, function, context = convert(model)
    assert context.report["conversion"][0]["reason"] == "the indices are used"
    assert names_of(function) == ["framework.MaxPool"]


def test_kept_operators_read_framework_constants() -> None:
    nodes = [
        helper.make_node("CumSum", ["x", "axis"], ["a"], name="sum"),
        helper.make_node("Add", ["a", "axis_f"], ["y"], name="add"),
    ]
    feed = {"x": normal(2, 3)}
    module, function, context = convert(
        make_model(nodes, feed, {"axis": np.array(1, np.int64), "axis_f": normal(1)}, ["y"])
    )
    module.verify()
    assert names_of(function) == ["framework.Constant", "framework.CumSum", "mblt.constant", "mblt.add"]


def test_a_constant_of_a_kept_operator_is_a_constant_for_the_others_too() -> None:
    nodes = [
        helper.make_node("Hardmax", ["w"], ["a"], name="kept"),
        helper.make_node("Add", ["x", "w"], ["b"], name="add"),
        helper.make_node("Sub", ["b", "a"], ["y"], name="sub"),
    ]
    feed = {"x": normal(2, 3)}
    _, function, _ = convert(make_model(nodes, feed, {"w": normal(2, 3)}, ["y"]))
    add = next(op for op in function.body.block.ops if op.name == "mblt.add")
    assert add.operands[1].owner.name == "mblt.constant"


INTEGERS = np.array([[3, -(2**31), 2**24 + 1], [7, 2, -2]], np.int32)
STAYS = {
    "the mean of integers": ("ReduceMean", [INTEGERS], [np.array([1], np.int64)], {}),
    "the norm of integers": ("ReduceL2", [INTEGERS], [np.array([1], np.int64)], {}),
    "the place of the least integer": ("ArgMin", [INTEGERS], [], {"axis": 1}),
    "a power of integers": ("Pow", [INTEGERS], [np.array(0.5, np.float32)], {}),
    "a root of integers": ("Pow", [INTEGERS], [np.array(-1, np.int32)], {}),
    "padding that is no float32": ("Pad", [INTEGERS], [np.array([0, 1, 0, 0]), np.array(2**24 + 1, np.int32)], {}),
    "a wide unsigned integer": ("Cast", [INTEGERS], [], {"to": 13}),
    "an index that is outside": ("Gather", [normal(3, 4)], [np.array(5, np.int64)], {"axis": 1}),
    "indices that are outside": ("Gather", [normal(3, 4)], [np.array([0, -5], np.int64)], {"axis": 1}),
}


@pytest.mark.parametrize("case", STAYS)
def test_what_would_not_be_exact_stays(case: str) -> None:
    operator, inputs, constants, attributes = STAYS[case]
    model, _ = single_node(operator, inputs, constants, **attributes)
    _, function, context = convert(model)
    assert [entry["operator"] for entry in context.report["conversion"]] == [operator]
    assert [name for name in names_of(function) if name.startswith("mblt.")] == []


def test_a_square_of_integers_converts() -> None:
    model, feed = single_node("Pow", [np.arange(-3, 5, dtype=np.int32)], [np.array(2, np.int32)])
    assert names_of(check_conversion(model, feed)) == ["mblt.square"]


def test_bodies_stay_with_what_they_capture() -> None:
    branches = {}
    for key, operator in (("then_branch", "Add"), ("else_branch", "Sub")):
        node = helper.make_node(operator, ["shifted", "one"], [key])
        branches[key] = helper.make_graph([node], key, [], [helper.make_empty_tensor_value_info(key)])
    nodes = [
        helper.make_node("Relu", ["x"], ["shifted"], name="relu"),
        helper.make_node("If", ["flag"], ["y"], name="choice", **branches),
    ]
    feed = {"x": normal(2, 3), "flag": np.array(True)}
    module, function, context = convert(make_model(nodes, feed, {"one": np.ones(1, np.float32)}, ["y"]))
    module.verify()
    assert [entry["operator"] for entry in context.report["conversion"]] == ["If"]
    assert names_of(function) == ["mblt.relu", "framework.Constant", "framework.If"]


def test_a_result_that_is_a_constant_or_an_input() -> None:
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["c"], ["z"])]
    feed = {"x": normal(2, 3)}
    check_conversion(make_model(nodes, feed, {"c": normal(4)}, ["y", "z"]), feed)


def test_a_symbolic_batch_goes_through_a_cnn() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["a", "s", "b", "m", "v"], ["n"]),
        helper.make_node("GlobalAveragePool", ["n"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "h"], ["y"]),
    ]
    feed = {"x": normal(3, 2, 5, 6)}
    norm = {"s": normal(4), "b": normal(4), "m": normal(4), "v": np.abs(normal(4)) + 0.1}
    constants = {"w": normal(4, 2, 3, 3), "h": normal(4, 5), **norm}
    model = make_model(nodes, feed, constants, ["y"], shapes={"x": ["N", 2, 5, 6]})
    function = check_conversion(model, feed)
    assert "mblt.transpose" not in names_of(function)
    result = function.function_type.outputs.data[0]
    assert isinstance(result, TensorType) and result.get_shape()[0] < 0
    assert function.arg_attrs is not None
    assert str(function.arg_attrs.data[0].data["mblt.dims"]) == '["N", "5", "6", "2"]'


def test_half_precision_stays_in_framework() -> None:
    data = normal(2, 3).astype(np.float16)
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    graph = helper.make_graph(
        [node],
        "half",
        [helper.make_tensor_value_info("x", 10, data.shape)],
        [helper.make_tensor_value_info("y", 10, data.shape)],
    )
    _, _, context = convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))
    assert context.report["conversion"] == [{"node": "relu", "operator": "Relu", "reason": "element type f16"}]


def test_constant_indices_become_i32() -> None:
    model, feed = single_node("Gather", [normal(5, 6)], [np.array([0, -1, 3], np.int64)], axis=1)
    function = check_conversion(model, feed)
    gather = next(op for op in function.body.block.ops if op.name == "mblt.gather")
    assert str(gather.operands[1].type) == "tensor<3xi32>"


def test_one_dimensional_convolutions_take_channel_last_arguments() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["y"], kernel_shape=[2], strides=[2]),
    ]
    feed = {"x": normal(1, 4, 12)}
    function = check_conversion(make_model(nodes, feed, {"w": normal(5, 4, 3)}, ["y"]), feed)
    assert "mblt.transpose" not in names_of(function)
    assert source_layouts(function.arg_attrs, 1) == ["ncw"]
    assert source_layouts(function.res_attrs, 1) == ["ncw"]


def test_old_models_convert_as_they_are_lifted() -> None:
    nodes = [
        helper.make_node("Upsample", ["x", "scale"], ["u"], mode="nearest"),
        helper.make_node("Dropout", ["u"], ["y"]),
    ]
    feed = {"x": normal(1, 2, 3, 4)}
    check_conversion(make_model(nodes, feed, {"scale": np.array([1, 1, 2, 2], np.float32)}, ["y"], opset=9), feed)


def test_every_source_node_has_an_operation_or_a_reason() -> None:
    nodes = [
        helper.make_node("Identity", ["x"], ["i"], name="nothing"),
        helper.make_node("Conv", ["i", "w"], ["a"], name="conv"),
        helper.make_node("Transpose", ["a"], ["b"], name="there", perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["b"], ["c"], name="back", perm=[0, 3, 1, 2]),
        helper.make_node("Dropout", ["c"], ["d"], name="drop"),
        helper.make_node("Flatten", ["d"], ["y"], name="flatten"),
    ]
    feed = {"x": normal(1, 3, 6, 1)}
    module, function, context = convert(make_model(nodes, feed, {"w": normal(4, 3, 6, 1)}, ["y"]))
    MbltSinkTransposes().run(function, context)
    present = {name for op in function.body.block.ops for name in source_names(op)}
    removed = context.report["removed"]
    assert {"nothing", "drop"} <= set(removed)
    assert present.isdisjoint(removed)
    assert present | set(removed) >= {node.name for node in nodes}


def test_unknown_channels_leave_an_operator_in_framework() -> None:
    nodes = [helper.make_node("Gemm", ["x", "w"], ["y"], name="head")]
    feed = {"x": normal(2, 4)}
    model = make_model(nodes, feed, {"w": normal(4, 3)}, ["y"], shapes={"x": ["N", "C"]})
    module, function, context = convert(model)
    module.verify()
    assert names_of(function) == ["framework.Constant", "framework.Gemm"]
    assert context.report["conversion"][0]["reason"] == "expected a weight of shape [3, ?], got [3, 4]"


@pytest.mark.parametrize(
    ("operator", "constants", "attributes"),
    [
        ("MaxPool", {}, {"kernel_shape": [9, 9]}),
    ],
)
def test_attributes_that_do_not_fit_leave_no_trace(operator: str, constants: dict, attributes: dict) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node(operator, ["a", *constants], ["b"], name="odd", **attributes),
        helper.make_node("Relu", ["b"], ["y"], name="last"),
    ]
    module, function, context = convert(make_model(nodes, {"x": normal(1, 2, 5, 5)}, constants, ["y"]))
    module.verify()
    assert f"framework.{operator}" in names_of(function)
    assert [entry["node"] for entry in context.report["conversion"]][0] == "odd"
    relu = next(op for op in function.body.block.ops if op.name == "mblt.relu")
    assert [use.operation.name for use in relu.results[0].uses] == [f"framework.{operator}"]
