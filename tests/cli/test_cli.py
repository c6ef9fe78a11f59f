"""The command line: routes, results, and mistakes, in process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbcompiler.cli import main
from tests.support.processes import hear_interrupts


def small_model(path: Path, *, dynamic: bool = False) -> Path:
    """Write a model with one convolution: [1, 3, 8, 8] -> [1, 4, 8, 8]."""
    weight = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    size = "size" if dynamic else 8
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, size, size])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small_model(tmp_path / "small.onnx")


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    directory = tmp_path / "samples"
    directory.mkdir()
    for index in range(4):
        array = np.random.default_rng(index).normal(size=(1, 3, 8, 8)).astype(np.float32)
        np.save(directory / f"{index}.npy", array)
    return directory


def _run(*arguments: object) -> int:
    return main([str(part) for part in arguments])


def _error(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one error line on stderr."""
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ERROR")]
    assert len(errors) == 1
    return errors[0]


def test_both_routes_give_the_same_bytes(model: Path, samples: Path, tmp_path: Path) -> None:
    direct, mblt, second = tmp_path / "a.mxq", tmp_path / "m.mblt", tmp_path / "elsewhere.mxq"
    assert _run("compile", "--model", model, "--output", direct, "--calib-data-path", samples, "--quiet") == 0
    assert _run("parse", "--model", model, "--output", mblt, "--quiet") == 0
    target = ("--target-device", "aries-rb")
    assert _run("quantize", "--mblt", mblt, "--output", second, "--calib-data-path", samples, *target, "--quiet") == 0
    assert direct.read_bytes() == second.read_bytes()


def test_binding_shapes_gives_the_same_bytes_on_both_routes(samples: Path, tmp_path: Path) -> None:
    model = small_model(tmp_path / "dynamic.onnx", dynamic=True)
    direct, mblt, second = tmp_path / "a.mxq", tmp_path / "m.mblt", tmp_path / "b.mxq"
    bind = ("--input-shape", "x=1x3x8x8", "--quiet")
    assert _run("compile", "--model", model, "--output", direct, "--calib-data-path", samples, *bind) == 0
    assert _run("parse", "--model", model, "--output", mblt, *bind) == 0
    assert _run("quantize", "--mblt", mblt, "--output", second, "--calib-data-path", samples, "--quiet") == 0
    assert direct.read_bytes() == second.read_bytes()


def test_symbolic_shapes_come_from_the_samples(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = small_model(tmp_path / "dynamic.onnx", dynamic=True)
    bound, read = tmp_path / "a.mxq", tmp_path / "b.mxq"
    common = ("--model", model, "--calib-data-path", samples, "--quiet")
    assert _run("compile", *common, "--output", bound, "--input-shape", "x=1x3x8x8") == 0
    assert _run("compile", *common, "--output", read) == 0
    assert "x=1x3x8x8 comes from the calibration samples" in capsys.readouterr().err
    assert bound.read_bytes() == read.read_bytes()


def test_a_symbolic_snapshot_is_refused_with_the_command_that_binds_it(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, mblt = small_model(tmp_path / "dynamic.onnx", dynamic=True), tmp_path / "m.mblt"
    assert _run("parse", "--model", model, "--output", mblt, "--quiet") == 0
    capsys.readouterr()
    arguments = ("--mblt", mblt, "--output", tmp_path / "a.mxq", "--calib-data-path", samples)
    assert _run("quantize", *arguments) == 1
    error = _error(capsys)
    assert error.startswith("ERROR [SHAPE_ERROR]: input 'x' has the shape 1x3x?x?, calibration needs fixed dimensions")
    assert "qbcompiler parse --input-shape x=1x3x?x?, with a number for each ?" in error
    assert _run("compile", "--model", model, "--output", tmp_path / "a.mxq", "--use-random-calib") == 1
    assert "(bind them with --input-shape x=1x3x?x?, with a number for each ?)" in _error(capsys)


def test_unsupported_operators_are_listed_with_their_nodes(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("Det", ["x"], ["d"], "determinant"),
        helper.make_node("CumSum", ["x", "axis"], ["y"], "running_sum"),
    ]
    graph = helper.make_graph(
        nodes,
        "odd",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("d", "y")],
        [numpy_helper.from_array(np.array(1), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, tmp_path / "odd.onnx")
    assert _run("parse", "--model", tmp_path / "odd.onnx", "--output", tmp_path / "odd.mblt") == 0
    assert "running_sum" in capsys.readouterr().out
    arguments = ("--output", tmp_path / "a.mxq", "--calib-data-path", samples)
    assert _run("compile", "--model", tmp_path / "odd.onnx", *arguments) == 1
    error = _error(capsys)
    assert error.startswith("ERROR [UNSUPPORTED_OP]") and "determinant" in error and "running_sum" in error
    assert not (tmp_path / "a.mxq").exists()


def test_the_recorded_pipeline_gives_the_same_bytes(
    model: Path, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.mxq", tmp_path / "b.mxq"
    common = ("--model", model, "--calib-data-path", samples, "--quiet")
    assert _run("compile", *common, "--output", first) == 0
    capsys.readouterr()
    assert _run("info", "--mxq", first) == 0
    recorded = json.loads(capsys.readouterr().out)["pipeline"]
    assert _run("compile", *common, "--output", first, "--print-pipeline") == 0
    assert capsys.readouterr().out.strip() == recorded
    assert _run("compile", *common, "--output", second, "--pass-pipeline", recorded) == 0
    assert first.read_bytes() == second.read_bytes()
    edited = recorded.replace("percentile=0.9999", "percentile=0.9")
    assert edited != recorded
    assert _run("compile", *common, "--output", second, "--pass-pipeline", edited) == 0
    assert first.read_bytes() != second.read_bytes()


def test_a_pipeline_beyond_the_last_phase_is_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--output", tmp_path / "m.mblt", "--pass-pipeline", "convert-framework-to-mblt,convert-mblt-to-quant")
    assert _run("parse", "--model", model, *arguments) == 1
    assert "comes after the phase 'convert'" in _error(capsys)


def test_report_run_and_info(model: Path, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, report = tmp_path / "a.mxq", tmp_path / "report.json"
    arguments = ("--calib-data-path", samples, "--report", report)
    assert _run("compile", "--model", model, "--output", output, *arguments) == 0
    assert {"accuracy", "conversion", "latency", "notices"} == set(json.loads(report.read_text()))
    shown = capsys.readouterr().out
    assert "conv" in shown and "latency on aries-rb" in shown and str(output) in shown
    arguments = ("--input", samples / "0.npy", "--output-dir", tmp_path / "out")
    assert _run("run", "--mxq", output, *arguments) == 0
    assert np.load(tmp_path / "out" / "y.npy").shape == (1, 4, 8, 8)
    capsys.readouterr()
    assert _run("info", "--mxq", output) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert manifest["target"] == "aries-rb" and "convert-mblt-to-quant" in manifest["pipeline"]
    assert str(tmp_path) not in json.dumps(manifest)


def test_dump_ir_writes_numbered_files(model: Path, samples: Path, tmp_path: Path) -> None:
    dump = tmp_path / "ir"
    arguments = ("--calib-data-path", samples, "--dump-ir", dump, "--quiet")
    assert _run("compile", "--model", model, "--output", tmp_path / "a.mxq", *arguments) == 0
    names = sorted(path.name for path in dump.glob("*.mlir"))
    assert names[0] == "00-input.mlir" and any("convert-quant-to-npu" in name for name in names)


@pytest.mark.parametrize("phase, suffix", [("import", ".mlir"), ("convert", ".mblt"), ("quantize", ".mlir")])
def test_stopping_after_a_phase_and_going_on_gives_the_same_bytes(
    model: Path, samples: Path, tmp_path: Path, phase: str, suffix: str
) -> None:
    between, direct, resumed = tmp_path / f"between{suffix}", tmp_path / "a.mxq", tmp_path / "b.mxq"
    common = ("--calib-data-path", samples, "--quiet")
    assert _run("compile", "--model", model, "--output", direct, *common) == 0
    assert _run("compile", "--model", model, "--output", between, "--compile-to", phase, *common) == 0
    assert _run("compile", "--model", between, "--output", resumed, *common) == 0
    assert _program_sections(direct) == _program_sections(resumed)


def _program_sections(path: Path) -> dict[str, bytes]:
    """Return what runs; a snapshot in the middle does not know the digest of the source model."""
    from qbc.store import read_container

    sections = read_container(path, "MXQ").sections
    return {name: bytes(data) for name, data in sections.items() if name not in ("manifest", "ir")}


@pytest.mark.parametrize(
    "arguments, code",
    [
        ([], "ARGUMENT_ERROR"),
        (["nonsense"], "ARGUMENT_ERROR"),
        (["compile"], "ARGUMENT_ERROR"),
        (["compile", "--model", "{missing}", "--output", "{out}", "--use-random-calib"], "ARGUMENT_ERROR"),
        (["compile", "--model", "{model}", "--output", "{out}"], "NO_CALIBRATION_DATA"),
        (["compile", "--model", "{model}", "--output", "{nowhere}", "--use-random-calib"], "OUTPUT_WRITE_ERROR"),
        (["compile", "--model", "{model}", "--output", "{out}", "--use-random-calib", "--target-device", "aries_rb"],
         "TARGET_ERROR"),
        (["compile", "--model", "{model}", "--output", "{out}", "--use-random-calib", "--config-preset", "detections"],
         "ARGUMENT_ERROR"),
        (["compile", "--model", "{model}", "--output", "{out}", "--use-random-calib", "--pass-pipeline", "a,,b"],
         "PIPELINE_ERROR"),
        (["compile", "--model", "{model}", "--output", "{out}", "--use-random-calib", "--backend", "torch"],
         "UNSUPPORTED_FEATURE"),
        (["compile", "--model", "{model}", "--output", "{out}", "--use-random-calib", "--backend", "caffe"],
         "ARGUMENT_ERROR"),
        (["compile", "--model", "{model}", "--output", "{out}", "--use-random-calib", "--cpu-offload"],
         "UNSUPPORTED_FEATURE"),
        (["compile", "--model", "{model}", "--output", "{out}", "--use-random-calib", "--inference-scheme", "multi",
          "--target-device", "regulus-rb"], "TARGET_ERROR"),
        (["compil", "--model", "{model}"], "ARGUMENT_ERROR"),
        (["compile", "--output", "{out}", "--use-random-calib"], "ARGUMENT_ERROR"),
        (["compile", "--modle", "{model}", "--output", "{out}"], "ARGUMENT_ERROR"),
        (["parse", "--model", "{model}", "--output", "{out}", "--cpu-offload"], "UNSUPPORTED_FEATURE"),
        (["parse", "--model", "{model}", "--output", "{out}", "--input-shape", "x=1x3x0"], "ARGUMENT_ERROR"),
        (["parse", "--model", "{model}", "--output", "{out}", "--input-shape", "z=1x3x8x8"], "ARGUMENT_ERROR"),
        (["quantize", "--mblt", "{model}", "--output", "{out}", "--use-random-calib"], "ARGUMENT_ERROR"),
        (["quantize", "--mblt", "{garbage}", "--output", "{out}", "--use-random-calib"], "INVALID_SNAPSHOT"),
        (["run", "--mxq", "{garbage}"], "INVALID_SNAPSHOT"),
        (["compile", "--model", "{garbage_onnx}", "--output", "{out}", "--use-random-calib"], "INVALID_MODEL"),
        (["target", "show", "arise-rb"], "TARGET_ERROR"),
        (["compile", "--model", "{tflite}", "--output", "{out}", "--use-random-calib"], "UNSUPPORTED_FEATURE"),
        (["compile", "--model", "{text}", "--output", "{out}", "--use-random-calib"], "ARGUMENT_ERROR"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    (tmp_path / "model.tflite").write_bytes(b"TFL3" * 10)
    (tmp_path / "notes.txt").write_text("not a model")
    (tmp_path / "garbage.mblt").write_bytes(b"QBC?" * 100)
    (tmp_path / "garbage.onnx").write_bytes(b"\x08\xff" * 100)
    names = {
        "model": model,
        "missing": tmp_path / "missing.onnx",
        "out": tmp_path / "result.mxq",
        "nowhere": tmp_path / "no" / "such" / "directory" / "x.mxq",
        "tflite": tmp_path / "model.tflite",
        "text": tmp_path / "notes.txt",
        "garbage": tmp_path / "garbage.mblt",
        "garbage_onnx": tmp_path / "garbage.onnx",
    }
    assert main([part.format(**names) for part in arguments]) == 1
    assert _error(capsys).startswith(f"ERROR [{code}]: ")
    assert not (tmp_path / "result.mxq").exists()


@pytest.mark.parametrize("kind", ["empty", "nan", "shape", "object"])
def test_bad_calibration_data(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    directory = tmp_path / "bad"
    directory.mkdir()
    good = np.zeros((1, 3, 8, 8), np.float32)
    arrays = {"nan": good * np.nan, "shape": np.zeros((5, 5), np.float32), "object": np.array([{}], dtype=object)}
    if kind in arrays:
        np.save(directory / "0.npy", arrays[kind], allow_pickle=True)
    assert _run("compile", "--model", model, "--output", tmp_path / "a.mxq", "--calib-data-path", directory) == 1
    assert "CALIBRATION_DATA]" in _error(capsys)
    assert not (tmp_path / "a.mxq").exists()


def test_an_old_target_name_warns(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--use-random-calib", "--target-device", "aries2")
    assert _run("compile", "--model", model, "--output", tmp_path / "a.mxq", *arguments) == 0
    assert "now called 'aries-rb'" in capsys.readouterr().err


def test_interrupt_leaves_no_partial_output(model: Path, samples: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.mxq"
    command = [sys.executable, "-m", "qbcompiler", "compile", "--model", str(model), "--output", str(output)]
    command += ["--calib-data-path", str(samples)]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, preexec_fn=hear_interrupts
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    while "phase" not in line and line:
        line = process.stderr.readline()
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    errors = process.stderr.read()
    assert process.wait() != 0
    assert "ERROR [INTERRUPTED]" in errors and "Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["samples", "small.onnx"]


def test_python_dash_m_names_itself() -> None:
    done = subprocess.run([sys.executable, "-m", "qbcompiler", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: python -m qbcompiler")


def test_target_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("target", "show", "regulus-ra") == 0
    assert "assumed" in capsys.readouterr().out
