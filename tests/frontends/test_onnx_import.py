"""Importing ONNX models: everything an exporter may write, compared with onnxruntime through the way back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr

from qbc.dialects.framework import RawAttr, attribute, operand
from qbc.errors import QBCompilerError
from qbc.export.onnx_framework import framework_to_onnx
from qbc.frontends.onnx import import_onnx
from qbc.passes.base import source_names
from qbc.store import BlobStore
from tests.frontends.onnx_models import check_round_trip, find, load, main_of, model, operators, run, value

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1, 3, 8, 8)).astype(np.float32)
W = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)


def conv_relu(**options: int) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], name="/features/0/Conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    return model(nodes, [value("x", ["N", 3, "H", None])], [value("z", None)], {"w": W}, **options)


def test_names_types_and_attributes(tmp_path: Path) -> None:
    module = check_round_trip(conv_relu(), tmp_path, {"x": X})
    conv, relu = find(module, "Conv"), find(module, "Relu")
    assert source_names(conv) == ("/features/0/Conv",)
    assert source_names(relu) == ("Relu_1",)
    assert str(conv.results[0].type) == "tensor<1x4x8x8xf32>"
    assert list(conv.properties) == ["pads"]
    assert attribute(conv, "pads") == (1, 1, 1, 1)
    assert module.attributes["framework.opset"] == IntegerAttr(25, 64)
    function = main_of(module)
    assert isinstance(function.arg_attrs, ArrayAttr) and isinstance(function.res_attrs, ArrayAttr)
    assert function.arg_attrs.data[0].data["framework.name"] == StringAttr("x")
    assert function.res_attrs.data[0].data["framework.name"] == StringAttr("z")


def test_symbolic_dimensions_keep_their_names(tmp_path: Path) -> None:
    store = BlobStore()
    module = load(conv_relu(), tmp_path, store)
    function = main_of(module)
    assert str(function.body.block.args[0].type) == "tensor<?x3x?x?xf32>"
    dims = function.arg_attrs.data[0].data["framework.dims"]  # type: ignore[union-attr]
    assert isinstance(dims, ArrayAttr)
    assert [item.data for item in dims.data] == ["N", "3", "H", "?"]  # type: ignore[attr-defined]
    back = framework_to_onnx(module, store, weights=False)
    assert [d.dim_param or d.dim_value for d in back.graph.input[0].type.tensor_type.shape.dim] == ["N", 3, "H", 0]


def test_bound_name_binds_every_input(tmp_path: Path) -> None:
    add = helper.make_node("Add", ["a", "b"], ["c"])
    proto = model([add], [value("a", ["N", 2]), value("b", ["N", 2])], [value("c", ["N", 2])])
    assert str(find(load(proto, tmp_path, a=(5, 2)), "Add").results[0].type) == "tensor<5x2xf32>"
    with pytest.raises(QBCompilerError, match="bound to 5 and to 6") as caught:
        load(proto, tmp_path, a=(5, 2), b=(6, 2))
    assert caught.value.code == "SHAPE_ERROR"


@pytest.mark.parametrize(
    ("shapes", "code"),
    [
        ({"y": (1, 3, 8, 8)}, "ARGUMENT_ERROR"),
        ({"x": (1, 3, 8)}, "SHAPE_ERROR"),
        ({"x": (1, 4, 8, 8)}, "SHAPE_ERROR"),
        ({"x": (1, 3, -8, 8)}, "ARGUMENT_ERROR"),
    ],
)
def test_wrong_input_shapes(tmp_path: Path, shapes: dict[str, tuple[int, ...]], code: str) -> None:
    with pytest.raises(QBCompilerError) as caught:
        load(conv_relu(), tmp_path, **shapes)
    assert caught.value.code == code


def test_weights_are_views_of_the_file(tmp_path: Path) -> None:
    weight = RNG.normal(size=(300, 300)).astype(np.float32)
    proto = model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [1, 300])], [value("y", None)], {"w": weight}
    )
    store = BlobStore()
    load(proto, tmp_path, store)
    views = [store.bytes(key) for key in list(store.keys())]
    assert len(views) == 1 and type(views[0].obj).__name__ == "mmap"
    assert np.array_equal(np.frombuffer(views[0], np.float32).reshape(300, 300), weight)


@pytest.mark.parametrize("field", ["float_data", "double_data", "int64_data", "int32_data", "uint64_data"])
def test_typed_data_fields(tmp_path: Path, field: str) -> None:
    kinds = {
        "float_data": (TensorProto.FLOAT, np.float32),
        "double_data": (TensorProto.DOUBLE, np.float64),
        "int64_data": (TensorProto.INT64, np.int64),
        "int32_data": (TensorProto.INT8, np.int8),
        "uint64_data": (TensorProto.UINT32, np.uint32),
    }
    code, dtype = kinds[field]
    for count in (3, 5000):
        data = RNG.integers(0, 100, count).astype(dtype)
        tensor = TensorProto(name="c", data_type=code, dims=[count])
        getattr(tensor, field).extend(data.tolist())
        proto = model([helper.make_node("Identity", ["c"], ["y"])], [], [value("y", None, code)])
        proto.graph.initializer.append(tensor)
        check_round_trip(proto, tmp_path, {})


def test_old_opset_is_lifted_and_keeps_names(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Unsqueeze", ["x"], ["u"], name="unsqueeze", axes=[0]),
        helper.make_node("Softmax", ["u"], ["y"], name="softmax", axis=2),
    ]
    proto = model(nodes, [value("x", [2, 3, 4])], [value("y", None)], opset=11, ir_version=6)
    module = check_round_trip(proto, tmp_path, {"x": RNG.normal(size=(2, 3, 4)).astype(np.float32)})
    assert module.attributes["framework.source_opset"] == IntegerAttr(11, 64)
    names = {name for op in main_of(module).walk() for name in source_names(op) if not op.name.endswith("Constant")}
    assert names == {"unsqueeze", "softmax"}


def test_axes_that_an_old_inference_does_not_understand(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Squeeze", ["x"], ["s"], axes=[-4]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    proto = model(nodes, [value("x", X.shape)], [value("y", None)], opset=9)
    module = load(proto, tmp_path)
    assert find(module, "Squeeze").results[0].type.get_shape() == X.shape[1:]
    check_round_trip(proto, tmp_path, {"x": X})


def test_constants_without_elements_stand_for_absent_inputs_of_a_resize(tmp_path: Path) -> None:
    nodes = [helper.make_node("Resize", ["x", "none", "none", "sizes"], ["y"], mode="nearest")]
    constants = {"none": np.zeros(0, np.float32), "sizes": np.array([1, 3, 4, 16], np.int64)}
    proto = model(nodes, [value("x", X.shape)], [value("y", None)], constants, opset=11)
    module = check_round_trip(proto, tmp_path, {"x": X})
    resize = find(module, "Resize")
    assert operand(resize, "roi") is None and operand(resize, "scales") is None
    assert operand(resize, "sizes") is not None


def test_newer_opset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError, match="opset 26") as caught:
        load(conv_relu(opset=26), tmp_path)
    assert caught.value.code == "UNSUPPORTED_OPSET"


def test_initializers_listed_as_inputs_are_constants(tmp_path: Path) -> None:
    proto = conv_relu(opset=9, ir_version=3)
    proto.graph.input.append(value("w", W.shape))
    module = load(proto, tmp_path, x=X.shape)
    assert len(main_of(module).body.block.args) == 1


def test_stale_recorded_shapes_are_ignored(tmp_path: Path) -> None:
    proto = conv_relu()
    proto.graph.value_info.append(value("y", [1, 4, 99, 99]))
    del proto.graph.output[:]
    proto.graph.output.append(value("z", [1, 4, 99, 99]))
    module = load(proto, tmp_path, x=X.shape)
    assert str(find(module, "Relu").results[0].type) == "tensor<1x4x8x8xf32>"


@pytest.mark.parametrize("bound", [True, False])
def test_operators_without_a_rule_in_onnx_have_the_type_of_their_input(bound: bool, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["g"], num_groups=1),
        helper.make_node("MeanVarianceNormalization", ["g"], ["m"]),
        helper.make_node("Relu", ["m"], ["y"]),
    ]
    constants = {"scale": np.ones(3, np.float32), "bias": np.zeros(3, np.float32)}
    proto = model(
        nodes, [value("x", X.shape if bound else ["N", *X.shape[1:]])], [value("y", None)], constants, opset=21
    )
    module = load(proto, tmp_path)
    shapes = [find(module, node.op_type).results[0].type.get_shape() for node in nodes]
    assert shapes == [X.shape if bound else (DYNAMIC_INDEX, *X.shape[1:])] * 3
    assert attribute(find(module, "GroupNormalization"), "num_groups") == 1


def test_unsorted_nodes(tmp_path: Path) -> None:
    proto = conv_relu()
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in reversed(proto.graph.node)]
    ordered = conv_relu()
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    store = BlobStore()
    module = load(proto, tmp_path, store, x=X.shape)
    assert operators(module) == ["Conv", "Relu"]
    assert np.array_equal(run(framework_to_onnx(module, store), {"x": X})[0], run(ordered, {"x": X})[0])


def test_outputs_that_are_inputs_constants_or_twice(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Identity", ["r"], ["again"])]
    outputs = [value("x", [2]), value("c", [2]), value("r", [2]), value("again", [2])]
    proto = model(nodes, [value("x", [2])], outputs, {"c": np.ones(2, np.float32)})
    inputs = {"x": np.array([-1, 1], np.float32)}
    check_round_trip(proto, tmp_path, inputs)
    check_round_trip(proto, tmp_path, inputs, "framework-simplify")


def test_optional_inputs_and_outputs(tmp_path: Path) -> None:
    constants = {
        "w": RNG.normal(size=(1, 8, 3)).astype(np.float32),
        "r": RNG.normal(size=(1, 8, 2)).astype(np.float32),
        "h": RNG.normal(size=(1, 1, 2)).astype(np.float32),
    }
    node = helper.make_node("LSTM", ["x", "w", "r", "", "", "h"], ["", "", "c"], hidden_size=2)
    proto = model([node], [value("x", [4, 1, 3])], [value("c", None)], constants)
    module = check_round_trip(proto, tmp_path, {"x": RNG.normal(size=(4, 1, 3)).astype(np.float32)})
    assert operand(find(module, "LSTM"), "B") is None


def test_bodies_capture_outer_values(tmp_path: Path) -> None:
    then_graph = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["t"])], "then", [], [value("t", [3])])
    else_graph = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "else", [], [value("e", [3])])
    node = helper.make_node("If", ["condition"], ["y"], then_branch=then_graph, else_branch=else_graph)
    condition = value("condition", [], TensorProto.BOOL)
    proto = model(
        [node], [condition, value("x", [3])], [value("y", [3])], {"k": np.float32(3) * np.ones(3, np.float32)}
    )
    for flag in (True, False):
        inputs = {"condition": np.array(flag), "x": np.arange(3, dtype=np.float32)}
        check_round_trip(proto, tmp_path, inputs)
        check_round_trip(proto, tmp_path, inputs, "framework-simplify", "framework-eliminate-dead")


def test_loop_with_state(tmp_path: Path) -> None:
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "x"], ["next"]),
            helper.make_node("Identity", ["going"], ["go_on"]),
            helper.make_node("Identity", ["next"], ["scan"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("state", [2])],
        [value("go_on", [], TensorProto.BOOL), value("next", [2]), value("scan", [2])],
    )
    loop = helper.make_node("Loop", ["count", "", "x"], ["last", "all"], body=body)
    proto = model([loop], [value("x", [2])], [value("last", [2]), value("all", [None, 2])], {"count": np.int64(3)})
    check_round_trip(proto, tmp_path, {"x": np.array([1, 2], np.float32)})


def test_local_functions_are_inlined(tmp_path: Path) -> None:
    function = helper.make_function(
        "local",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 25)],
    )
    proto = model(
        [helper.make_node("Twice", ["x"], ["y"], domain="local")],
        [value("x", [2])],
        [value("y", None)],
        domains=["local"],
    )
    proto.functions.append(function)
    assert operators(check_round_trip(proto, tmp_path, {"x": np.ones(2, np.float32)})) == ["Add"]


def test_custom_operators_stay_opaque(tmp_path: Path) -> None:
    node = helper.make_node(
        "Magic", ["x", "", "x"], ["y"], domain="com.example", name="magic", level=3, names=[b"a", b"\xff"], ratio=0.5
    )
    proto = model([node], [value("x", [2])], [value("y", [7])], domains=["com.example"])
    store = BlobStore()
    module = load(proto, tmp_path, store)
    op = find(module, "opaque")
    assert str(op.results[0].type) == "tensor<7xf32>"
    names = op.properties["onnx_attributes"].data["names"]  # type: ignore[attr-defined]
    assert isinstance(names.data[1], RawAttr)
    back = framework_to_onnx(module, store)
    found = back.graph.node[0]
    assert list(found.input) == ["x", "", "x"] and found.domain == "com.example" and found.name == "magic"
    wanted = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert {a.name: helper.get_attribute_value(a) for a in found.attribute} == wanted
    assert {entry.domain for entry in back.opset_import} == {"", "com.example"}


def test_metadata_and_producer_survive(tmp_path: Path) -> None:
    proto = conv_relu()
    proto.producer_name, proto.producer_version, proto.doc_string = "tool", "1.2", "what it does"
    proto.metadata_props.add(key="character set", value='a\n"疗"')
    store = BlobStore()
    module = load(proto, tmp_path, store)
    assert isinstance(module.attributes["framework.metadata"], DictionaryAttr)
    back = framework_to_onnx(module, store)
    assert {entry.key: entry.value for entry in back.metadata_props} == {"character set": 'a\n"疗"'}
    assert (back.producer_name, back.doc_string, back.graph.name) == ("tool 1.2", "what it does", "graph")


@pytest.mark.parametrize(
    "kind", ["value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings"]
)
def test_constant_nodes(tmp_path: Path, kind: str) -> None:
    given = {
        "value_int": 3,
        "value_ints": [1, 2],
        "value_float": 0.5,
        "value_floats": [0.5, 1.5],
        "value_string": "a",
        "value_strings": ["a", "b"],
    }[kind]
    code = {"i": TensorProto.INT64, "f": TensorProto.FLOAT, "s": TensorProto.STRING}[kind[6]]
    nodes = [helper.make_node("Constant", [], ["c"], **{kind: given}), helper.make_node("Identity", ["c"], ["y"])]
    check_round_trip(model(nodes, [], [value("y", None, code)]), tmp_path, {})


@pytest.mark.parametrize("code", [TensorProto.INT4, TensorProto.UINT4, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN])
def test_small_element_types_round_trip(tmp_path: Path, code: int) -> None:
    tensor = helper.make_tensor("c", code, [5], [1, 0, 2, 1, 3])
    proto = model([helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT)], [], [value("y", [5])])
    proto.graph.initializer.append(tensor)
    store = BlobStore()
    back = framework_to_onnx(load(proto, tmp_path, store), store)
    found, wanted = numpy_helper.to_array(back.graph.initializer[0]), numpy_helper.to_array(tensor)
    assert found.dtype == wanted.dtype and np.array_equal(found.astype(np.float32), wanted.astype(np.float32))


def test_renaming_and_shuffling_gives_the_same_ir(tmp_path: Path) -> None:
    constants = {"w": W, "v": RNG.normal(size=(4, 4, 1, 1)).astype(np.float32), "b": np.ones(4, np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["y"], name="one"),
        helper.make_node("Conv", ["y", "v"], ["z"], name="two"),
    ]
    first = model(nodes, [value("x", [1, 3, 8, 8])], [value("z", None)], constants)
    second = model(nodes, [value("x", [1, 3, 8, 8])], [value("z", None)], dict(reversed(constants.items())))
    assert str(load(first, tmp_path)) == str(load(second, tmp_path))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError) as caught:
        import_onnx(tmp_path / "none.onnx", BlobStore())
    assert caught.value.code == "INVALID_MODEL"


@pytest.mark.parametrize(
    ("right", "code", "message"),
    [
        (np.ones(3, np.float32), "SHAPE_ERROR", "Add: sizes [4, 3] of axis 0 do not broadcast"),
        (np.ones(4, np.float64), "INVALID_MODEL", ""),
        (np.array(["a"], object), "INVALID_MODEL", ""),
    ],
)
def test_operands_that_do_not_fit(right: np.ndarray, code: str, message: str, tmp_path: Path) -> None:
    proto = model([helper.make_node("Add", ["x", "r"], ["y"], name="sum")], [value("x", [4])], [value("y", None)], {})
    proto.graph.initializer.append(onnx.numpy_helper.from_array(right, "r"))
    with pytest.raises(QBCompilerError) as caught:
        load(proto, tmp_path)
    assert caught.value.code == code and message in str(caught.value)
    assert not message or caught.value.node == "sum"


def test_bodies_that_are_never_taken_may_be_inconsistent(tmp_path: Path) -> None:
    body = {
        name: helper.make_graph([helper.make_node(op, inputs, ["v"])], name, [], [value("v", None)])
        for name, op, inputs in (("then_branch", "Relu", ["x"]), ("else_branch", "Add", ["x", "w"]))
    }
    nodes = [helper.make_node("If", ["c"], ["y"], **body)]
    constants = {"c": np.array(True), "w": np.ones(3, np.float32)}
    module = load(model(nodes, [value("x", [4])], [value("y", None)], constants), tmp_path)
    module.verify()
