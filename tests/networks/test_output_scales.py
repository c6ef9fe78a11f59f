"""Scales of graph outputs (calibration.output) on detector heads: against onnxruntime and the integer oracle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from qbc.algorithms.fidelity import Fidelity
from qbc.driver.opt import main as opt
from qbc.driver.plan import CompileOptions, make_plan
from qbc.runtime import Simulator, load
from qbcompiler import mxq_compile
from qbcompiler.runtime import Accelerator, Model, ModelConfig, get_model_summary
from tests.models import heads
from tests.oracle_checks.program import differing_records
from tests.support.networks import NETWORKS, calibration, scratch

PER_CHANNEL = ("raw:0", "anchors:0", "boxes:0")
CALIBRATION = 96  # of 64 positions: enough to know the range of a channel, nearly
TESTED = heads.inputs(32, 1)


@dataclass(frozen=True)
class Compiled:
    """A program and its outputs on the test inputs."""

    path: Path
    simulator: Simulator
    outputs: dict[str, np.ndarray]


@cache
def folder() -> Path:
    path = scratch() / "heads"
    path.mkdir(exist_ok=True)
    heads.detector_path(path)
    return path


@cache
def float_outputs() -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(str(folder() / "heads.onnx"))
    names = [output.name for output in session.get_outputs()]
    results = [session.run(None, {"image": x}) for x in TESTED]
    return {name: np.stack([result[i] for result in results]) for i, name in enumerate(names)}


@cache
def compiled_heads(output: int, method: int = 3, bits: int = 8) -> Compiled:
    path = folder() / f"{output}-{method}-{bits}.mxq"
    config: dict[str, Any] = {"calibration": {"output": output, "method": method}}
    if bits == 16:
        config["bit"] = {"layerOverrides": {"activation16Bits": ["raw", "anchor_conv"]}}
    mxq_compile(
        str(folder() / "heads.onnx"), "aries-rb", heads.inputs(CALIBRATION, 0), str(path), compile_config=config
    )
    simulator = load(path)
    results = [simulator.run({"image": x}) for x in TESTED]
    return Compiled(path, simulator, {name: np.stack([r[name] for r in results]) for name in heads.OUTPUTS})


def channels_last(name: str, array: np.ndarray) -> np.ndarray:
    return np.moveaxis(array, 2, -1) if name in ("raw:0", "absolute:0", "scores:0") else array


def sqnr(name: str, outputs: dict[str, np.ndarray], channel: int | None = None) -> float:
    fidelity = Fidelity()
    pair = [channels_last(name, values[name]) for values in (float_outputs(), outputs)]
    fidelity.add(*(values if channel is None else values[..., channel] for values in pair))
    return fidelity.sqnr


@pytest.mark.parametrize("method", [0, 1, 2, 3])
def test_channels_improve_every_output_or_leave_it_alone(method: int) -> None:
    layer, channel = compiled_heads(0, method), compiled_heads(1, method)
    counts = {tensor.name: len(tensor.channel_scales) for tensor in channel.simulator.program.outputs}
    assert counts == {name: heads.FEATURES if name in PER_CHANNEL else 0 for name in heads.OUTPUTS}
    for name in heads.OUTPUTS:
        if name not in PER_CHANNEL:
            assert np.array_equal(layer.outputs[name], channel.outputs[name])
            continue
        assert sqnr(name, channel.outputs) > sqnr(name, layer.outputs) + 1.0
        gains = [sqnr(name, channel.outputs, c) - sqnr(name, layer.outputs, c) for c in range(heads.FEATURES)]
        assert min(gains) > -1.0 and np.mean(gains) > 5.0


def test_coordinates_beside_probabilities_are_not_probabilities() -> None:
    """Whatever the method, box coordinates that share an output with sigmoids keep their range."""
    for method in (0, 1, 2, 3):
        outputs = compiled_heads(0, method).outputs
        assert max(abs(channels_last("boxes:0", outputs["boxes:0"])[..., :4].min()), outputs["boxes:0"].max()) > 8.0
        assert sqnr("boxes:0", outputs) > 20.0


@pytest.mark.parametrize("output,method,bits", [(1, 3, 8), (1, 1, 8), (2, 3, 8), (1, 3, 16)])
def test_every_record_equals_the_oracle(output: int, method: int, bits: int) -> None:
    compiled = compiled_heads(output, method, bits)
    assert differing_records(compiled.simulator, {"image": TESTED[0]}) == []
    if bits == 16:
        assert [t.operand.dtype for t in compiled.simulator.program.outputs][:2] == ["i16", "i16"]
        assert min(sqnr(name, compiled.outputs) for name in ("raw:0", "anchors:0")) > 30.0


def test_scales_decode_the_codes() -> None:
    """value = scale_list[channel] * (code - zero_point), channel-last, through the documented interface."""
    compiled = compiled_heads(1)
    model = Model(compiled.path, ModelConfig())
    model.launch(Accelerator(0))
    x = np.ascontiguousarray(TESTED[0][0].transpose(1, 2, 0))
    tensor = compiled.simulator.program.inputs[0]
    codes = np.clip(np.rint(x / np.float32(tensor.scale)) + tensor.zero_point, -128, 127).astype(np.int8)
    raws, floats = model.infer_hwc(codes), model.infer_hwc(x)
    assert len(raws) == len(floats) == 5
    summary = get_model_summary(compiled.path)
    assert summary.count("by channel, zero point") == len(PER_CHANNEL)
    assert "'absolute:0' [8, 8, 17] i8, scale" in summary
    for raw, value, scale, name in zip(raws, floats, model.get_output_scale(), model.get_output_names(), strict=True):
        assert raw.dtype == np.int8
        assert scale.is_uniform == (name not in PER_CHANNEL)
        assert len(scale.scale_list) == len(scale.zero_points) == (heads.FEATURES if name in PER_CHANNEL else 1)
        assert scale.scale == max(scale.scale_list) and set(scale.zero_points) == {scale.zero_point}
        steps = np.array(scale.scale_list, np.float32)
        assert np.array_equal((raw.astype(np.float32) - np.float32(scale.zero_point)) * steps, value)


def test_outputs_that_keep_one_scale_are_named(caplog: pytest.LogCaptureFixture) -> None:
    path = folder() / "named.mxq"
    data = heads.inputs(4, 0)
    mxq_compile(str(folder() / "heads.onnx"), "aries-rb", data, str(path), calibration_config={"output": 1})
    (notice,) = [record.message for record in caplog.records if "keep one scale" in record.message]
    assert "'absolute:0' (abs 'absolute' has one scale)" in notice
    assert "'scores:0' (its encoding is fixed)" in notice
    assert not any(name in notice for name in PER_CHANNEL)


def test_logits_are_fitted_to_the_sigmoid_behind_them() -> None:
    """output 2 lowers the error of sigmoid(y), clips logits, and leaves probabilities alone."""

    def error(name: str, outputs: dict[str, np.ndarray]) -> float:
        wanted, given = (
            1.0 / (1.0 + np.exp(-values[name].astype(np.float64))) for values in (float_outputs(), outputs)
        )
        return float(np.square(wanted - given).mean())

    layer, logits = compiled_heads(0), compiled_heads(2)
    for name in ("raw:0", "anchors:0"):
        assert error(name, logits.outputs) < 0.7 * error(name, layer.outputs)
        assert np.abs(logits.outputs[name]).max() <= 12.5 < np.abs(layer.outputs[name]).max()
    assert np.array_equal(layer.outputs["scores:0"], logits.outputs["scores:0"])


def test_every_core_mode_gives_the_same_bytes() -> None:
    path = folder() / "all.mxq"
    options = {"calibration_config": {"output": 1}, "inference_scheme": "all"}
    mxq_compile(str(folder() / "heads.onnx"), "aries-rb", heads.inputs(CALIBRATION, 0), str(path), **options)
    wanted = compiled_heads(1).outputs
    for mode in ("single", "multi", "global4", "global8"):
        results = load(path, mode=mode).run({"image": TESTED[0]})
        for name, array in results.items():
            assert np.array_equal(array, wanted[name][0])


def test_the_materialized_module_reads_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scales of channels survive printing and parsing: lowering the text gives the program of the direct way."""
    plan = make_plan(CompileOptions(compile_config={"calibration": {"output": 1}}), ("import", "convert", "quantize"))
    arguments = [str(folder() / "heads.onnx"), "--use-random-calib", "--pass-pipeline"]
    text = tmp_path / "quant.mlir"
    assert opt([*arguments, plan.text(), "-o", str(text)]) == 0
    assert text.read_text().count("scales = ") >= 3
    assert opt([str(text), "--pass-pipeline=convert-quant-to-npu", "-o", str(tmp_path / "a.mlir")]) == 0
    whole = plan.text().removesuffix(")") + ",convert-quant-to-npu)"
    assert opt([*arguments, whole, "-o", str(tmp_path / "b.mlir")]) == 0
    assert (tmp_path / "a.mlir").read_text() == (tmp_path / "b.mlir").read_text()
    capsys.readouterr()


def test_a_sigmoid_detector_is_the_same_program() -> None:
    """The only output of the text detector is a sigmoid: the preset `detection` changes nothing there."""
    paths = [scratch() / f"det160-{preset}.mxq" for preset in ("default", "detection")]
    for path, preset in zip(paths, ("default", "detection"), strict=True):
        source, data = str(NETWORKS["det160"].path()), str(calibration("det160"))
        mxq_compile(source, "aries-rb", data, str(path), config_preset=preset)
    x = {"x": NETWORKS["det160"].inputs(1, 5)[0]}
    first, second = (load(path).run(x) for path in paths)
    assert all(np.array_equal(first[name], second[name]) for name in first)
