"""Views of modules: accepted by the ONNX checker, shape inference and Netron's own reader; complete; true to the IR."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from qbc.dialects.npu import KernelOp, ProgramOp
from qbc.dialects.quant import ParamTable
from qbc.driver.context import make_context
from qbc.driver.files import read_module
from qbc.driver.opt import main as opt
from qbc.driver.view import write_view
from qbc.errors import QBCompilerError
from qbc.export.onnx_view_graph import DOMAIN
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path
from tests.robustness.zoo import write_zoo, zoo_inputs

PHASES = ("import", "convert", "quantize", "lower")
MODES = ("single", "multi", "global4", "global8")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zoo and the digits network at every step of a compilation."""
    place = tmp_path_factory.mktemp("views")
    shutil.copy(digits_model_path(), place / "digits.onnx")
    write_zoo(place / "zoo.onnx")
    common = ["--use-random-calib", "--target-device", "aries-rb", "--quiet"]
    for name in ("digits", "zoo"):
        model = ["--model", str(place / f"{name}.onnx")]
        assert main(["parse", *model, "--output", str(place / f"{name}.mblt"), "--quiet"]) == 0
        output = ["--output", str(place / f"{name}.mxq"), "--inference-scheme", "all"]
        assert main(["compile", *model, *output, *common]) == 0
        for phase in PHASES:
            output = ["--output", str(place / f"{name}-{phase}.mlir"), "--compile-to", phase]
            assert main(["compile", *model, *output, *common]) == 0
    created = str(place / "zoo-created.mlir")
    assert opt([str(place / "zoo.mblt"), "-p", "convert-mblt-to-quant", "-o", created]) == 0
    return place


def view_of(path: Path, core_mode: str | None = None) -> onnx.ModelProto:
    """Write a view, check it, and return it."""
    written = write_view(path, path.with_name(f"{path.name}.{core_mode}.onnx"), core_mode)
    model = onnx.load(written.output)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    assert written.nodes == len(model.graph.node)
    assert len({node.name for node in model.graph.node}) == len(model.graph.node)
    return model


def metadata(item: onnx.NodeProto | onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in item.metadata_props}


def shapes(model: onnx.ModelProto) -> dict[str, tuple[int, list[int]]]:
    """Return element type and shape of every tensor that the model describes."""
    found = {array.name: (array.data_type, list(array.dims)) for array in model.graph.initializer}
    for info in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        kind = info.type.tensor_type
        found[info.name] = (kind.elem_type, [dim.dim_value for dim in kind.shape.dim])
    return found


STEPS = [
    *(f"{name}.{kind}" for name in ("digits", "zoo") for kind in ("mblt", "mxq")),
    *(f"{name}-{phase}.mlir" for name in ("digits", "zoo") for phase in PHASES),
    "zoo-created.mlir",
]


@pytest.mark.parametrize("name", STEPS)
def test_views_of_all_steps_are_complete(files: Path, name: str) -> None:
    model = view_of(files / name)
    source = onnx.load(files / f"{name.split('.')[0].split('-')[0]}.onnx")
    for attribute in ("input", "output"):
        assert [entry.name for entry in getattr(model.graph, attribute)] == [
            entry.name for entry in getattr(source.graph, attribute)
        ]
    known = set(shapes(model))
    if name != "digits-import.mlir" and name != "zoo-import.mlir":  # those are the source model as it is
        assert known >= {tensor for node in model.graph.node for tensor in (*node.input, *node.output) if tensor}
        assert metadata(model)["view of"] == f".{name.rpartition('.')[2]}"


def test_keys_of_metadata_are_documented(files: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "viewing.md").read_text()
    listed = {
        key
        for row in re.findall(r"^\| (`.+?`) \| [^|]+ \|$", page, re.MULTILINE)
        for key in re.findall("`([^`]+)`", row)
    }
    shown = {key for name in STEPS for node in view_of(files / name).graph.node for key in metadata(node)}
    assert shown <= listed and shown >= {"operation", "layer", "type", "bits", "row", "estimated us", "space"}


@pytest.mark.parametrize("name", ["digits", "zoo"])
def test_the_view_of_a_parsed_graph_computes_the_model(files: Path, name: str) -> None:
    view_of(files / f"{name}.mblt")
    image = np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)
    feed = {"image": image} if name == "digits" else {"x": zoo_inputs(1, 0)[0]}
    expected = onnxruntime.InferenceSession(files / f"{name}.onnx").run(None, feed)
    found = onnxruntime.InferenceSession(files / f"{name}.mblt.None.onnx").run(None, feed)
    for first, second in zip(expected, found, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4)


def test_nodes_of_a_parsed_graph_tell_their_layer(files: Path) -> None:
    first, second, *_ = view_of(files / "digits.mblt").graph.node
    layer = "stem/conv + stem/norm + stem/relu"
    expected = {"operation": "mblt.conv2d", "layer": layer, "type": "Convolution"}
    assert (first.op_type, metadata(first)) == ("Conv", expected)
    assert (second.op_type, metadata(second)) == ("Relu", expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["digits", "zoo"])
def test_every_command_of_a_program_has_a_node(files: Path, name: str, mode: str) -> None:
    module = read_module(files / f"{name}.mxq", make_context())
    (program,) = [op for op in module.ops if isinstance(op, ProgramOp) and op.mode.data == mode]
    commands = [op for op in program.body.block.ops if isinstance(op, KernelOp)]
    model = view_of(files / f"{name}.mxq", mode)
    nodes = [node for node in model.graph.node if metadata(node).get("operation", "").startswith("npu.")]
    nodes = [node for node in nodes if metadata(node)["operation"] != "npu.view"]
    assert [metadata(node)["operation"] for node in nodes] == [op.name for op in commands]
    known = shapes(model)
    for node, op in zip(nodes, commands, strict=True):
        kind = op.output_type
        block = op.integers("channels") if "channels" in op.properties else (0, kind.shape[-1])
        element = {"i8": onnx.TensorProto.INT8, "i16": onnx.TensorProto.INT16, "i32": onnx.TensorProto.INT32}
        assert known[node.output[0]] == (element[kind.element], [*kind.shape[:-1], block[1] - block[0]])
        assert metadata(node)["bits"] == kind.element and int(metadata(node)["bytes"]) == kind.nbytes
        constants = next((entry.strings for entry in node.attribute if entry.name == "constants"), [])
        assert [text.decode() for text in constants] == list(op.call_constants()) or node.domain == ""
    assert metadata(model)["core mode"] == mode and metadata(model)["target"] == "aries-rb"


def test_standard_nodes_of_a_program_do_what_the_commands_do(files: Path) -> None:
    """What is shown as a standard operator fits shapes and types of its neighbours: run each alone."""
    model = view_of(files / "zoo.mxq")
    known, arrays = shapes(model), {array.name: array for array in model.graph.initializer}
    kinds = set()
    for node in (node for node in model.graph.node if node.domain != DOMAIN):
        kinds.add(node.op_type)
        inputs = [name for name in node.input if name not in arrays]
        graph = helper.make_graph(
            [node], "one",
            [helper.make_tensor_value_info(name, *known[name]) for name in inputs],
            [helper.make_tensor_value_info(node.output[0], *known[node.output[0]])],
            [arrays[name] for name in node.input if name in arrays],
        )  # fmt: skip
        single = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        session = onnxruntime.InferenceSession(single.SerializeToString())
        feed = {name: np.ones(known[name][1], helper.tensor_dtype_to_np_dtype(known[name][0])) for name in inputs}
        assert list(session.run(None, feed)[0].shape) == known[node.output[0]][1]
    assert kinds >= {"QuantizeLinear", "DequantizeLinear", "Transpose", "Reshape", "Concat", "Slice"}


def test_the_host_boundary_has_the_scales_of_the_program(files: Path) -> None:
    module = read_module(files / "zoo.mxq", make_context())
    program = next(op for op in module.ops if isinstance(op, ProgramOp))
    model = view_of(files / "zoo.mxq")
    arrays = {array.name: numpy_helper.to_array(array) for array in model.graph.initializer}
    hosts = [*program.host_inputs.data, *program.host_outputs.data]
    nodes = [node for node in model.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
    assert len(nodes) == len(hosts) == 3
    for node, host in zip(nodes, hosts, strict=True):
        assert arrays[node.input[1]] == np.float32(host.scales[0])
        assert arrays[node.input[2]] == host.zero_point.value.data


def test_encodings_of_a_quantized_function(files: Path) -> None:
    module = read_module(files / "zoo-quantize.mlir", make_context())
    table = ParamTable(module)
    nodes = [metadata(node) for node in view_of(files / "zoo-quantize.mlir").graph.node]
    func = next(op for op in module.ops if op.name == "func.func")
    expected = [table.encoding(op.results[0]) for op in func.walk() if op.name.startswith("quant.")]
    shown = [
        (entry["bits"], float(entry["scale"]), int(entry["zero point"])) if "bits" in entry else None for entry in nodes
    ]
    assert [None if one is None else (one[0], pytest.approx(one[1], rel=1e-6), one[2]) for one in expected] == shown
    assert any(one is not None for one in shown)


def test_open_encodings_are_shown_as_floats(files: Path) -> None:
    model = view_of(files / "zoo-created.mlir")
    assert all(kind != onnx.TensorProto.INT8 for kind, _ in shapes(model).values())
    assert "row" in metadata(model.graph.node[1]) and "bits" not in metadata(model.graph.node[1])


def test_inputs_as_bytes(tmp_path: Path, files: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("uint8Input: {apply: true, divisionFactor: 255.0}\n")
    arguments = ["--use-random-calib", "--target-device", "aries-rb", "--quiet", "--compile-config", str(config)]
    output = tmp_path / "a.mxq"
    assert main(["compile", "--model", str(files / "digits.onnx"), "--output", str(output), *arguments]) == 0
    model = view_of(output)
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8
    assert "BytesToCodes" in {node.op_type for node in model.graph.node}


def test_scales_of_channels(tmp_path: Path) -> None:
    text = tmp_path / "p.mlir"
    text.write_text(
        """
npu.program @main(%x: !npu.t<1x4xi8>) target("aries-rb") mode("single") variant(0)
    inputs(#npu.host<"x", f32, 0.5 : 3>) outputs(#npu.host<"y", f32, [0.5, 0.25, 0.125, 1.0] : 0>) {
  npu.return %x : !npu.t<1x4xi8>
}
"""
    )
    model = view_of(text)
    (last,) = [node for node in model.graph.node if node.op_type == "DequantizeLinear"]
    assert [entry.i for entry in last.attribute if entry.name == "axis"] == [1]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feed = np.array([[1, 2, 3, 4]], np.float32)  # code 2 * x + 3, then times the scale of the channel
    np.testing.assert_array_equal(session.run(None, {"x": feed})[0], [[2.5, 1.75, 1.125, 11.0]])


def test_unconverted_operators_and_open_sizes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "relu"),
        helper.make_node("Det", ["a"], ["y"], "determinant"),
    ]
    graph = helper.make_graph(
        nodes, "partly",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 3, 3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N"])],
    )  # fmt: skip
    path = tmp_path / "partly.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    assert main(["parse", "--model", str(path), "--output", str(tmp_path / "p.mblt"), "--quiet"]) == 0
    model = view_of(tmp_path / "p.mblt")
    assert [node.op_type for node in model.graph.node] == ["Relu", "Det"]
    assert metadata(model.graph.node[1])["operation"] == "framework.Det"
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param


@pytest.mark.parametrize(
    "text", ["builtin.module {}", "func.func private @other(%x: tensor<1xf32>)", "func.func private @main()"]
)
def test_modules_without_a_graph(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(text)
    with pytest.raises(QBCompilerError, match="neither a program nor a function @main"):
        write_view(path)
    assert [file.name for file in tmp_path.iterdir()] == ["m.mlir"]


def test_a_buffer_that_nothing_wrote(tmp_path: Path) -> None:
    text = tmp_path / "p.mlir"
    text.write_text(
        """
npu.program @main target("aries-rb") mode("single") variant(0) inputs() outputs(#npu.host<"y", f32, 0.5 : 0>) {
  %0 = npu.buffer {size = 4, type = !npu.t<1x4xi8>} : !npu.buffer
  npu.return %0 : !npu.buffer
}
"""
    )
    with pytest.raises(QBCompilerError, match="reads a buffer that no command wrote") as raised:
        write_view(text)
    assert raised.value.code == "VERIFY_ERROR"


# --- Netron ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Netron's reader of ONNX files, as modules that node runs."""
    netron = pytest.importorskip("netron")
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    place = tmp_path_factory.mktemp("netron") / "netron"
    shutil.copytree(Path(netron.__file__).parent, place)
    (place / "package.json").write_text('{"type": "module"}')
    shutil.copy(Path(__file__).parents[1] / "support" / "netron_reader.mjs", place)
    yield place / "netron_reader.mjs"


def test_netron_reads_the_views(files: Path, reader: Path) -> None:
    models = {}
    for name in ("digits.mblt", "zoo.mxq", "zoo-quantize.mlir", "zoo-import.mlir"):
        models[files / f"{name}.None.onnx"] = view_of(files / name)
    done = subprocess.run(["node", reader, *models], capture_output=True, text=True, check=True)
    for line, model in zip(done.stdout.splitlines(), models.values(), strict=True):
        seen = json.loads(line)
        assert seen["format"] == "ONNX v10"
        assert seen["inputs"] == [entry.name for entry in model.graph.input]
        assert [node["type"] for node in seen["nodes"]] == [node.op_type for node in model.graph.node]
        assert [node["name"] for node in seen["nodes"]] == [node.name for node in model.graph.node]
        assert [node["metadata"] for node in seen["nodes"]] == [metadata(node) for node in model.graph.node]
        types = {name: shape for name, (_, shape) in shapes(model).items()}
        for node in seen["nodes"]:
            for value in node["outputs"]:
                if value["name"] in types and value["shape"] is not None:
                    assert value["shape"] == types[value["name"]]
