"""What a device cannot run: told at parse and by `validate`, refused before a sample is read, everywhere the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.driver.compile import compile_model
from qbc.driver.context import make_context
from qbc.driver.files import read_module
from qbc.driver.inspect import shape_differences
from qbc.driver.plan import CompileOptions
from qbc.driver.precision import precision_table
from qbc.errors import QBCompilerError
from qbc.passes.capabilities import breaches
from qbc.passes.mblt.mblt_check_target import target_breaches
from qbc.passes.npu.constraints import demand_of
from qbc.passes.npu.programs import commands
from qbc.targets import load_target
from qbcompiler import mxq_compile, read_provenance, validate_model
from qbcompiler.cli import main


def model_with_everything(path: Path) -> Path:
    """A model in which operators of every kind that rules speak of follow each other."""
    random = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> Any:
        return numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name)

    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w"], ["a"], "conv", kernel_shape=[5, 3], strides=[2, 1], pads=[2, 1, 2, 1]),
        node("ConvTranspose", ["a", "t"], ["b"], "widen", kernel_shape=[4, 4], strides=[4, 2], pads=[0, 1, 0, 1]),
        node("MaxPool", ["b"], ["c"], "pool", kernel_shape=[2, 2], strides=[1, 1], dilations=[3, 1], pads=[1, 0, 2, 1]),
        node("InstanceNormalization", ["c", "ones", "zeros"], ["d"], "instance"),
        node("Softmax", ["d"], ["e"], "soft_channels", axis=1),
        node("Add", ["d", "e"], ["f"], "sum"),
        node("LayerNormalization", ["f", "row"], ["g"], "layer", axis=-1),
        node("Sigmoid", ["g"], ["h"], "gate"),
        node("Add", ["h", "two"], ["i"], "shift"),
        node("Div", ["g", "i"], ["j"], "ratio"),
        node("Div", ["j", "two"], ["k"], "half"),
        node("LogSoftmax", ["k"], ["y"], "log_soft", axis=3),
    ]
    constants = [
        *(weight("w", 6, 3, 5, 3), weight("t", 6, 6, 4, 4), weight("row", 16)),
        numpy_helper.from_array(np.ones(6, np.float32), "ones"),
        numpy_helper.from_array(np.zeros(6, np.float32), "zeros"),
        numpy_helper.from_array(np.array([2.0], np.float32), "two"),
    ]
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "everything",
        [tensor("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [tensor("y", TensorProto.FLOAT, [1, 6, 16, 16])],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    onnx.checker.check_model(str(path))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_with_everything(tmp_path_factory.mktemp("capabilities") / "everything.onnx")


def narrow(**limits: int) -> Any:
    """Return a device without function unit whose limits are all 2 or as given."""
    device = load_target("regulus-ra")
    small = {"kernel": 2, "stride": 2, "dilation": 2, "norm_elements": 2, "softmax_elements": 2, **limits}
    return replace(device, limits=replace(device.limits, **small))


@pytest.mark.parametrize(
    "limits", [{}, {"kernel": 4}, {"stride": 4}, {"dilation": 3}, {"norm_elements": 255}, {"softmax_elements": 6}]
)
def test_layers_break_the_rules_that_their_commands_break(model: Path, tmp_path: Path, limits: dict[str, int]) -> None:
    device = narrow(**limits)
    options = CompileOptions(target="aries-rb", random_calibration=True)
    compile_model(model, tmp_path / "values.mlir", replace(options, pipeline=_until_npu()), to="lower")
    ctx = make_context()
    (program,) = read_module(tmp_path / "values.mlir", ctx).body.block.ops
    of_commands = breaches(((op, demand_of(op)) for op in commands(program)), device)  # type: ignore[arg-type]
    compile_model(model, tmp_path / "layers.mlir", CompileOptions(), to="convert")
    ctx = make_context()
    module = read_module(tmp_path / "layers.mlir", ctx)
    ctx.target = device
    of_layers = target_breaches(module, ctx)
    assert {(b.rule, b.found, b.node) for b in of_layers} == {(b.rule, b.found, b.node) for b in of_commands}
    assert len({b.node for b in of_layers}) >= 6


def _until_npu() -> str:
    from qbc.driver.plan import QUANTIZE_PHASES, make_plan

    plan = make_plan(CompileOptions(), ("import", "convert", *QUANTIZE_PHASES))
    text = str(plan.text(("import", "convert", "quantize")))
    return f"{text},convert-quant-to-npu"


UNIT_NODES = ("instance", "soft_channels", "layer", "ratio", "log_soft")


def test_quantization_refuses_before_a_sample_is_read(model: Path, tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "0.npy").write_bytes(b"no array")  # reading it would be another error
    with pytest.raises(QBCompilerError) as caught:
        mxq_compile(
            str(model), "regulus-ra", calib_data_path=str(tmp_path / "samples"), save_path=str(tmp_path / "a.mxq")
        )
    assert caught.value.code == "UNSUPPORTED_OP" and caught.value.pass_name == "mblt-check-target"
    for node in UNIT_NODES:
        assert f"{node} (mblt." in str(caught.value)
    assert "half" not in str(caught.value) and "gate" not in str(caught.value)
    assert "aries-rb" in str(caught.value.hint)
    assert not (tmp_path / "a.mxq").exists()


def test_operators_without_a_form_are_listed_with_them(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], "attention", axis=2),
        helper.make_node("Det", ["a"], ["y"], "determinant"),
    ]
    graph = helper.make_graph(
        nodes,
        "both",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    path = tmp_path / "both.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    with pytest.raises(QBCompilerError, match=r"(?s)attention \(mblt.softmax\).*determinant: Det: ") as caught:
        mxq_compile(str(path), "regulus-ra", use_random_calib=True, save_path=str(tmp_path / "a.mxq"))
    assert caught.value.pass_name == "mblt-check-target"


def test_wide_tables_are_refused_before_a_sample_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["a"], "clamp"), helper.make_node("Tanh", ["a"], ["y"], "squash")],
        "wide",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])],
    )
    path, text = tmp_path / "wide.onnx", tmp_path / "wide.yaml"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    text.write_text("bit:\n  layerOverrides:\n    activation16Bits: [clamp]\n")
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "0.npy").write_bytes(b"no array")
    call = ["compile", "--model", str(path), "--output", str(tmp_path / "a.mxq"), "--compile-config", str(text)]
    assert main([*call, "--calib-data-path", str(tmp_path / "samples"), "--target-device", "regulus-ra"]) == 1
    error = capsys.readouterr().err
    assert "squash (quant.lut)" in error and "quant-check-target" in error
    assert main([*call, "--use-random-calib", "--target-device", "aries-rb"]) == 0


def test_parse_tells_what_a_given_target_cannot_run(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["parse", "--model", str(model), "--quiet"]
    assert main([*call, "--output", str(tmp_path / "r.mblt"), "--target-device", "regulus-ra"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("notice: regulus-ra cannot run 5 of the operations: ")
    assert all(f"{node} (mblt." in told for node in UNIT_NODES)
    for more in ([], ["--target-device", "aries-rb"]):
        assert main([*call, "--output", str(tmp_path / "a.mblt"), *more]) == 0
        assert capsys.readouterr().err == ""


def test_a_device_other_than_the_recorded_one_is_told(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parsed = {name: tmp_path / f"{name}.mblt" for name in ("regulus-ra", "aries-rb")}
    for name, path in parsed.items():
        assert main(["parse", "--model", str(model), "--output", str(path), "--target-device", name, "--quiet"]) == 0
    capsys.readouterr()
    for name, path in parsed.items():
        output = tmp_path / f"{name}.mxq"
        call = ["quantize", "--mblt", str(path), "--output", str(output), "--use-random-calib", "--quiet"]
        assert main([*call, "--target-device", "aries-rb"]) == 0
        told = capsys.readouterr().err
        assert ("was parsed for regulus-ra, the target device given counts: aries-rb" in told) == (name != "aries-rb")
    assert (tmp_path / "regulus-ra.mxq").read_bytes() == (tmp_path / "aries-rb.mxq").read_bytes()


def test_validate_reports_the_same_for_a_device(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["validate", "--model", str(model)]
    assert main([*call, "--target-device", "regulus-ra"]) == 0
    text = capsys.readouterr().out
    assert "regulus-ra cannot run 5 layers" in text and all(node in text for node in UNIT_NODES)
    assert main([*call, "--target-device", "aries-rb"]) == 0
    assert "aries-rb can run every layer that has a form on the NPU" in capsys.readouterr().out
    assert main([*call, "--target-device", "regulus-rc"]) == 1
    assert "TARGET_ERROR" in capsys.readouterr().err


def test_validate_for_programs(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QBCOMPILER_JSONL", "1")
    assert main(["validate", "--model", str(model), "--target-device", "regulus-ra"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (data,) = [line["data"] for line in lines if line["kind"] == "result"]
    assert data["target"] == "regulus-ra"
    assert {entry["node"] for entry in data["refused"]} == set(UNIT_NODES)
    assert {key for entry in data["refused"] for key in entry} == {"node", "operation", "rule", "found"}


def test_layers_of_open_size_are_not_counted_and_that_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], "conv")],
        "dynamic",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", 10])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weight],
    )
    path = tmp_path / "dynamic.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    found = validate_model(path)
    assert (found["macs"], found["uncounted"], found["npu_mac_share"]) == (0, 1, None)
    assert found["outputs"][0]["source_shape"] == [1, 4, None, 8] and found["differences"] == []
    bound = validate_model(path, input_shapes={"x": (1, 3, 10, 10)})
    assert (bound["macs"], bound["uncounted"]) == (8 * 8 * 4 * 27, 0)
    assert main(["validate", "--model", str(path)]) == 0
    assert "beside 1 layer of open size (bind it with --input-shape)" in capsys.readouterr().out
    assert main(["parse", "--model", str(path), "--output", str(tmp_path / "a.mblt"), "--quiet"]) == 0
    assert main(["info", str(tmp_path / "a.mblt"), "--layers"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("?")


def test_shapes_are_compared_in_the_layout_of_the_source() -> None:
    def side(*shapes: list[int | None]) -> dict[str, list[dict[str, Any]]]:
        return {"inputs": [], "outputs": [{"name": f"y{i}", "source_shape": shape} for i, shape in enumerate(shapes)]}

    assert shape_differences(side([20, 1, 1], [1, None]), side([20, 1, 1], [1, 5])) == []
    (found,) = shape_differences(side([20, 1, 1], [1, 5]), side([57600, 1, 1], [1, 5]))
    assert found == {"name": "y0", "expected": [20, 1, 1], "found": [57600, 1, 1]}
    assert shape_differences(side([1, 5]), side([5]))


@pytest.mark.parametrize(("device", "wide"), [("aries-rb", 1), ("regulus-ra", 0)])
def test_no_table_gets_16_bits_by_itself_where_the_device_has_no_unit_for_it(
    tmp_path: Path, device: str, wide: int
) -> None:
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array((4 * random.normal(size=(4, 3, 3, 3))).astype(np.float32), "w"),
        numpy_helper.from_array(random.normal(size=(4, 4, 1, 1)).astype(np.float32), "v"),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv"),
        helper.make_node("Exp", ["a"], ["b"], "grow"),
        helper.make_node("Conv", ["b", "v"], ["y"], "out"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 6, 6])]
    path, output = tmp_path / "grow.onnx", tmp_path / "grow.mxq"
    graph = helper.make_graph(nodes, "grow", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    mxq_compile(str(path), device, use_random_calib=True, save_path=str(output))
    told = [notice for notice in read_provenance(output)["notices"] if "16-bit tables" in notice]  # type: ignore[index]
    assert [notice.endswith(": conv") for notice in told] == [True] * (1 - wide)
    rows = [row for row in precision_table(output) if row["name"] == "grow"]
    assert sum(16 in row["input_bits"] for row in rows) == wide
