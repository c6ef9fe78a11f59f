"""QDQ export: in onnxruntime against the integer program, operation by operation and whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper
from xdsl.ir import Operation, SSAValue

from qbc.dialects import mblt
from qbc.dialects.common.graph import argument_names, source_layouts
from qbc.driver.compile import compile_model
from qbc.driver.opt import main as opt
from qbc.driver.plan import CompileOptions
from qbc.driver.qdq import float_form, quantized, write_qdq
from qbc.driver.samples import main_function
from qbc.errors import QBCompilerError
from qbc.execute.integer import IntegerProgram
from qbc.export.onnx_mblt import export_mblt
from qbc.export.onnx_mblt_builder import FIRST, to_first, to_last
from qbc.export.onnx_qdq import OPSET, ActivationEncoding, QdqBuilder, export_qdq
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.runner import run_pipeline
from qbc.runtime import load
from qbcompiler import mblt_compile
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path
from tests.models.graph import GraphWriter
from tests.robustness.zoo import SHAPE, write_zoo, zoo_inputs
from tests.support import networks
from tests.support.mblt_graphs import MbltGraph

MODEL = str(digits_model_path())


def session(model: onnx.ModelProto | Path, *, plain: bool = False) -> onnxruntime.InferenceSession:
    """Return a session; `plain` leaves every node as it stands."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(content, options)


def operations(function: Operation) -> Iterator[Operation]:
    yield from (op for op in function.walk() if op.name.startswith("quant.") and op.results)


class Steps:
    """One network: its QDQ form, and the codes of every value in the integer program for one input."""

    def __init__(
        self, mblt: Path, calibration: Path, inputs: dict[str, np.ndarray], settings: dict[str, Any] | None = None
    ) -> None:
        options = CompileOptions(target="aries-rb", calibration=str(calibration), compile_config=settings)
        module, ctx = quantized(mblt, options)
        self.form = float_form(module, ctx)
        self.builder = QdqBuilder(ctx.store, self.form.encodings, self.form.weights)
        exported = export_mblt(
            self.form.function, ctx.store, source_layout=True, builder=self.builder, opset=OPSET
        ).to_model()
        self.model = onnx.shape_inference.infer_shapes(exported)
        self.inputs = inputs
        self.operations = list(operations(main_function(module)))
        self.codes = self._integer_codes(module, ctx)

    def _integer_codes(self, module: Operation, ctx: object) -> list[np.ndarray]:
        """Return the codes of the results of all operations, in order."""
        integers = module.clone()
        run_pipeline(integers, parse_pipeline("quant-materialize"), ctx)  # type: ignore[arg-type]
        function = main_function(integers)  # type: ignore[arg-type]
        results = [op.results[0] for op in operations(function)]
        found: dict[SSAValue, np.ndarray] = {}
        observe = {value: lambda codes, v=value: found.update({v: np.array(codes)}) for value in results}
        names = argument_names(function)
        changed = dict(zip(names, source_layouts(function.arg_attrs, len(names)), strict=True))
        feed = {
            name: array.transpose(to_last(array.ndim)) if changed[name] else array
            for name, array in self.inputs.items()
        }
        IntegerProgram(function, ctx.store).run(feed, observe)  # type: ignore[attr-defined,arg-type]
        return [found[value] for value in results]

    def differences(self) -> dict[str, int]:
        """Return for each operation the largest difference in codes when it gets the codes of the integer program."""
        known = {op.results[0]: codes for op, codes in zip(self.operations, self.codes, strict=True)}
        extractor = onnx.utils.Extractor(self.model)
        worst = {}
        for number, op in enumerate(self.operations):
            place = self.builder.codes.get(self.form.values[op.results[0]])
            if place is None or op.name in ("quant.dequantize", "quant.constant"):
                continue
            feed = {}
            for operand in op.operands:
                source = self.builder.codes.get(self.form.values[operand])
                if operand in known and source is not None:
                    feed[source[0]] = stored(known[operand], source[1] == FIRST)
            if op.name == "quant.quantize":
                feed = dict(self.inputs)
            part = extractor.extract_model(list(feed), [place[0]])
            made = session(part, plain=True).run(None, feed)[0].astype(np.int64)
            expected = stored(self.codes[number], place[1] == FIRST).astype(np.int64)
            worst[f"{number} {op.name}"] = int(np.abs(made - expected).max())
        return worst


def stored(codes: np.ndarray, channel_first: bool) -> np.ndarray:
    """Return codes as the QDQ form holds them."""
    array = (codes.astype(np.int64) + 128).astype(np.uint8) if codes.dtype == np.int8 else codes
    return np.ascontiguousarray(array.transpose(to_first(array.ndim))) if channel_first else array


def noise_db(reference: np.ndarray, found: np.ndarray) -> float:
    error = np.square(np.asarray(reference, np.float64) - found).sum()
    return float(10 * np.log10(np.square(np.asarray(reference, np.float64)).sum() / max(error, 1e-30)))


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("zoo")
    mblt_compile(write_zoo(place / "zoo.onnx"), place / "zoo.mblt")
    samples = place / "samples"
    samples.mkdir()
    for index, sample in enumerate(zoo_inputs(4, 1)):
        np.save(samples / f"{index}.npy", sample)
    return place / "zoo.mblt", samples


# --- against the integer program ---------------------------------------------------------------------------------


def test_each_operation_of_the_zoo_is_within_one_step(zoo: tuple[Path, Path]) -> None:
    worst = Steps(*zoo, {"x": zoo_inputs(1, 9)[0]}).differences()
    assert len(worst) >= 20 and max(worst.values()) <= 1, worst
    assert worst["0 quant.quantize"] == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"calibration": {"method": 1}},  # zero points of 0
        {"bit": {"layer_overrides": {"activation_16bits": ["*"]}}},
    ],
)
def test_each_operation_with_other_settings(zoo: tuple[Path, Path], settings: dict[str, Any]) -> None:
    steps = Steps(*zoo, {"x": zoo_inputs(1, 9)[0]}, settings)
    worst = steps.differences()
    most = 8 if "bit" in settings else 1  # functions of sixteen bits are interpolated
    assert len(worst) >= 20 and max(worst.values()) <= most, worst


def test_outputs_with_a_scale_for_each_channel(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    graph = GraphWriter()
    weight = rng.standard_normal((4, 3, 3, 3)) * np.array([1, 10, 0.1, 3]).reshape(-1, 1, 1, 1)
    conv = graph.conv("x", weight.astype(np.float32), None, name="conv", pads=(1, 1, 1, 1))
    graph.node("Transpose", [conv], "turned", perm=[0, 2, 3, 1])
    model = graph.save(tmp_path / "m.onnx", {"x": (1, 3, 64, 64)}, {"turned:0": (1, 64, 64, 4)}, opset=18)
    mblt_compile(model, tmp_path / "m.mblt")
    samples = tmp_path / "samples"
    samples.mkdir()
    for index in range(4):
        np.save(samples / f"{index}.npy", rng.random((1, 3, 64, 64)).astype(np.float32))
    feed = {"x": rng.random((1, 3, 64, 64)).astype(np.float32)}
    steps = Steps(tmp_path / "m.mblt", samples, feed, {"calibration": {"output": 1}})
    assert any(encoding.scales.size == 4 for encoding in steps.form.encodings.values())
    assert max(steps.differences().values()) <= 1
    assert noise_db(session(model).run(None, feed)[0], session(steps.model).run(None, feed)[0]) > 35


def test_a_constant_with_scales_of_channels() -> None:
    graph = MbltGraph()
    constant = graph.constant(np.array([[0.26, 0.26]]))
    func = graph.finish(graph.op(mblt.AddOp, graph.input((1, 2)), constant))
    encoding = ActivationEncoding("i8", np.array([0.5, 0.125], np.float32), 3)
    model = export_qdq(func, graph.store, {constant: encoding}, {}).to_model()
    zeros = {"x0": np.zeros((1, 2), np.float32)}
    np.testing.assert_array_equal(session(model).run(None, zeros)[0], [[0.5, 0.25]])


def test_constants_and_wide_biases(tmp_path: Path) -> None:
    """A constant map becomes codes; a bias of more than 32 bits stays a float."""
    rng = np.random.default_rng(0)
    graph = GraphWriter()
    weight, bias = rng.uniform(-1e-3, 1e-3, (4, 3, 1, 1)), np.array([1.0, -1.0, 0.5, 2.0])
    conv = graph.conv("x", weight.astype(np.float32), bias.astype(np.float32), name="conv")
    graph.node("Add", [conv, graph.constant(rng.random((1, 4, 6, 6)).astype(np.float32), "map")], "sum")
    model = graph.save(tmp_path / "m.onnx", {"x": (1, 3, 6, 6)}, {"sum:0": (1, 4, 6, 6)}, opset=18)
    mblt_compile(model, tmp_path / "m.mblt")
    samples = tmp_path / "samples"
    samples.mkdir()
    for index in range(3):
        np.save(samples / f"{index}.npy", rng.random((1, 3, 6, 6)).astype(np.float32))
    settings = {"bit": {"layer_overrides": {"activation_16bits": ["x"]}}}
    steps = Steps(tmp_path / "m.mblt", samples, {"x": rng.random((1, 3, 6, 6)).astype(np.float32)}, settings)
    worst = steps.differences()
    assert max(worst.values()) <= 1, worst
    kinds = {array.name: array.data_type for array in steps.model.graph.initializer}
    assert kinds["conv.bias"] == TensorProto.FLOAT and "sum.value_codes" in kinds


def test_inputs_that_are_bytes(tmp_path: Path) -> None:
    mblt_compile(MODEL, tmp_path / "d.mblt")
    config = {"uint8_input": {"apply": True, "division_factor": 255.0}}
    options = CompileOptions(target="aries-rb", random_calibration=True, compile_config=config)
    qdq = session(write_qdq(tmp_path / "d.mblt", tmp_path / "q.onnx", options).output)
    compile_model(tmp_path / "d.mblt", tmp_path / "d.mxq", options)
    pixels = np.random.default_rng(0).integers(0, 256, (1, 1, 8, 8), dtype=np.uint8)
    expected = load(tmp_path / "d.mxq").run({"image": pixels})["logits"]
    found = qdq.run(None, {"image": (pixels / 255).astype(np.float32)})[0]
    assert noise_db(expected, found) > 40


@pytest.mark.parametrize("name", ["digits", "resnet8", "kws", "vww", "efficientnet"])
def test_each_operation_of_networks_is_within_one_step(name: str) -> None:
    network = networks.NETWORKS[name]
    steps = Steps(networks.parsed(name), networks.calibration(name), {network.input_name: network.inputs(1, 9)[0]})
    worst = steps.differences()
    assert len(worst) >= 8 and max(worst.values()) <= 1, worst


def test_sixteen_bits_saturate_where_the_executable_does() -> None:
    """Layers of this network leave the range of their 16-bit results; lookups of 16 bits interpolate."""
    network = networks.NETWORKS["det160"]
    samples = networks.calibration("det160")
    worst = Steps(networks.parsed("det160"), samples, {network.input_name: network.inputs(1, 9)[0]}).differences()
    lookups = {name: worst.pop(name) for name in list(worst) if name.endswith("quant.lut")}
    assert max(worst.values()) <= 1 and max(lookups.values()) <= 4, (worst, lookups)


@pytest.mark.parametrize(
    "name, least_db", [("digits", 100), ("resnet8", 40), ("kws", 100), ("vww", 40), ("efficientnet", 20)]
)
def test_networks_compute_what_the_executable_does(name: str, least_db: float, tmp_path: Path) -> None:
    network, samples = networks.NETWORKS[name], networks.calibration(name)
    options = CompileOptions(target="aries-rb", calibration=str(samples))
    qdq = session(write_qdq(networks.parsed(name), tmp_path / "q.onnx", options).output)
    simulator = load(networks.compiled(name))
    (output,) = qdq.get_outputs()
    feeds = [{network.input_name: array} for array in network.inputs(12, 9)]
    found = np.stack([qdq.run(None, feed)[0].reshape(-1) for feed in feeds])
    expected = np.stack([simulator.run(feed)[output.name].reshape(-1) for feed in feeds])
    assert noise_db(expected, found) >= least_db
    assert (found.argmax(1) == expected.argmax(1)).all()


# --- the form ----------------------------------------------------------------------------------------------------


def test_weights_and_biases_are_integers(zoo: tuple[Path, Path], tmp_path: Path) -> None:
    write_qdq(zoo[0], tmp_path / "q.onnx", CompileOptions(target="aries-rb", calibration=str(zoo[1])))
    model = onnx.load(tmp_path / "q.onnx")
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    arrays = {array.name: array for array in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    kinds = Counter(node.op_type for node in model.graph.node)
    assert kinds["Conv"] == 2 and kinds["ConvTranspose"] == kinds["Gemm"] == 1
    for node in model.graph.node:
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm"):
            continue
        activation, weight, bias = (makers[name] for name in node.input)
        assert {activation.op_type, weight.op_type, bias.op_type} == {"DequantizeLinear"}
        codes, scales = arrays[weight.input[0]], numpy_helper.to_array(arrays[weight.input[1]])
        assert codes.data_type == TensorProto.INT8 and arrays[bias.input[0]].data_type == TensorProto.INT32
        (axis,) = [entry.i for entry in weight.attribute]
        assert scales.shape == (codes.dims[axis],)
        input_scale = numpy_helper.to_array(arrays[activation.input[1]])
        np.testing.assert_allclose(numpy_helper.to_array(arrays[bias.input[1]]), scales * input_scale, rtol=1e-6)
    zeros = {
        numpy_helper.to_array(arrays[node.input[2]]).dtype.name
        for node in makers.values()
        if "Quantize" in node.op_type
    }
    assert zeros == {"uint8", "int16"}  # the scores before the softmax have sixteen bits


def test_names_and_layouts_are_those_of_the_source(zoo: tuple[Path, Path], tmp_path: Path) -> None:
    write_qdq(zoo[0], tmp_path / "q.onnx", CompileOptions(target="aries-rb", random_calibration=True))
    found = session(tmp_path / "q.onnx")
    assert [(entry.name, entry.shape) for entry in found.get_inputs()] == [("x", list(SHAPE))]
    assert [entry.name for entry in found.get_outputs()] == ["head:0", "map:0"]
    assert found.get_outputs()[1].shape == [1, 4, 16, 14]


def test_ranged_text_is_taken_as_it_is(zoo: tuple[Path, Path], tmp_path: Path) -> None:
    pipeline = "convert-mblt-to-quant,quant-assign-bits,quant-collect,quant-group-scales,quant-assign-ranges"
    text = tmp_path / "ranged.mlir"
    assert opt([str(zoo[0]), "-p", f"{pipeline},quant-insert-requant", "--use-random-calib", "-o", str(text)]) == 0
    written = write_qdq(text, tmp_path / "q.onnx")
    assert written.layers == 4
    session(written.output).run(None, {"x": zoo_inputs(1, 0)[0]})


def test_one_channel_a_group(tmp_path: Path) -> None:
    """A depthwise transposed convolution keeps its scales; other grouped ones have no form."""
    rng = np.random.default_rng(0)
    for channels, name in ((1, "depthwise"), (2, "grouped")):
        graph = GraphWriter()
        weight = graph.constant(rng.standard_normal((4, channels, 2, 2)).astype(np.float32), "w")
        graph.node("ConvTranspose", ["x", weight], "up", strides=[2, 2], group=4)
        model = graph.save(
            tmp_path / f"{name}.onnx", {"x": (1, 4, 5, 5)}, {"up:0": (1, 4 * channels, 10, 10)}, opset=18
        )
        mblt_compile(model, tmp_path / f"{name}.mblt")
    options = CompileOptions(target="aries-rb", random_calibration=True)
    write_qdq(tmp_path / "depthwise.mblt", tmp_path / "q.onnx", options)
    feed = {"x": rng.standard_normal((1, 4, 5, 5)).astype(np.float32)}
    expected = session(tmp_path / "depthwise.onnx").run(None, feed)[0]
    assert noise_db(expected, session(tmp_path / "q.onnx").run(None, feed)[0]) > 25
    with pytest.raises(QBCompilerError, match=r"1 operation without a QDQ form: up .mblt.transpose_conv2d."):
        write_qdq(tmp_path / "grouped.mblt", tmp_path / "p.onnx", options)
    assert not (tmp_path / "p.onnx").exists()


RANGED = """quant.params "r0" {storage = i8, scale = 0.5 : f32, zero_point = 0}
func.func @main(%x: tensor<1x4xf32> {quant.name = "x"}) -> (tensor<1x4xf32> {quant.name = "y"}) {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"r0">>
  %1 = quant.dequantize %0 : tensor<1x4x!quant.q<"r0">> -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}"""


# --- the command -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--mblt", "{mblt}", "--qdq"], "NO_CALIBRATION_DATA"),
        (["--mblt", MODEL, "--qdq", "--use-random-calib"], "cannot be written as QDQ ONNX"),
        (["--mblt", "{text}", "--qdq"], "holds no ranged quant functions"),
        (["--mblt", "{text}", "--qdq", "--use-random-calib"], "holds no ranged quant functions"),
        (["--mblt", "{ranged}", "--qdq", "--use-random-calib"], "has its ranges already"),
        (["--mblt", "{ranged}", "--qdq", "--calib-data-path", "/no"], "has its ranges already"),
        (["--mblt", "{ranged}", "--qdq", "--target-device", "aries-rb"], "has its ranges already"),
        (["--mblt", "{ranged}", "--qdq", "--config-preset", "default"], "has its ranges already"),
        (["--mblt", "{ranged}", "--qdq", "--compile-config", "c.yaml"], "has its ranges already"),
        (["--mblt", "{mblt}", "--use-random-calib"], "--use-random-calib belongs to --qdq"),
        (["--mblt", "{mblt}", "--qdq", "--layout", "mblt"], "the layout of the source model"),
    ],
)
def test_mistakes(
    zoo: tuple[Path, Path], tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "t.mlir"
    text.write_text("builtin.module {}")
    ranged = tmp_path / "r.mlir"
    ranged.write_text(RANGED)
    places = {"mblt": zoo[0], "text": text, "ranged": ranged}
    call = ["export", *(part.format(**places) for part in arguments), "--output", str(tmp_path / "q.onnx")]
    assert main(call) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ERROR")]
    assert message in line and not (tmp_path / "q.onnx").exists()
