"""Models that are no models, external data that is not there, outputs that cannot be written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from qbc.driver.opt import main as qbc_opt
from qbcompiler.cli import main
from tests.robustness.conftest import Fails, Files

LIMIT_BYTES = 4096


def external_model(files: Files, path: Path, location: str, *, offset: str = "0") -> Path:
    """Write the zoo with one weight in another file."""
    model = onnx.load(files.model)
    tensor = next(tensor for tensor in model.graph.initializer if len(tensor.raw_data) > 512)
    (path.parent / "weights.bin").write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    tensor.external_data.add(key="offset", value=offset)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("location", "offset", "code"),
    [
        ("nowhere.bin", "0", "MISSING_EXTERNAL_DATA"),
        ("weights.bin", "64", "MISSING_EXTERNAL_DATA"),
        ("x" * 5000, "0", "MISSING_EXTERNAL_DATA"),
        ("circle", "0", "MISSING_EXTERNAL_DATA"),
        ("pipe", "0", "MISSING_EXTERNAL_DATA"),
        (".", "0", "MISSING_EXTERNAL_DATA"),
        ("../weights.bin", "0", "INVALID_MODEL"),
        ("/etc/passwd", "0", "INVALID_MODEL"),
        ("a/../../weights.bin", "0", "INVALID_MODEL"),
        ("..\\weights.bin", "0", "INVALID_MODEL"),
        ("outside", "0", "INVALID_MODEL"),
        ("", "0", "INVALID_MODEL"),
        ("a\0b", "0", "INVALID_MODEL"),
        ("weights.bin", "-1", "INVALID_MODEL"),
        ("weights.bin", "1e3", "INVALID_MODEL"),
    ],
)
def test_external_data(files: Files, fails: Fails, tmp_path: Path, location: str, offset: str, code: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "outside").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    model = external_model(files, tmp_path / "model.onnx", location, offset=offset)
    error = fails("parse", "--model", model, "--output", tmp_path / "out.mblt")
    assert error.startswith(f"ERROR [{code}]")
    assert len(error) < 1000
    assert not (tmp_path / "out.mblt").exists()


def test_newer_opset(files: Files, fails: Fails, tmp_path: Path) -> None:
    model = onnx.load(files.model)
    model.opset_import[0].version = 26
    onnx.save(model, tmp_path / "new.onnx")
    error = fails("parse", "--model", tmp_path / "new.onnx", "--output", tmp_path / "out.mblt")
    assert error.startswith("ERROR [UNSUPPORTED_OPSET]") and "26" in error and "25" in error


@pytest.mark.parametrize("suffix", ["onnx", "mblt", "mlir", "mxq"])
def test_things_that_are_no_files(fails: Fails, tmp_path: Path, suffix: str) -> None:
    directory, pipe = tmp_path / f"directory.{suffix}", tmp_path / f"pipe.{suffix}"
    directory.mkdir()
    os.mkfifo(pipe)
    places = [directory, pipe, tmp_path / f"nowhere.{suffix}", tmp_path / f"{'x' * 5000}.{suffix}", f"a\0b.{suffix}"]
    for place in places:
        arguments = {
            "mblt": ["quantize", "--mblt", place, "--use-random-calib", "--output", tmp_path / "out.mxq"],
            "mxq": ["run", "--mxq", place],
        }.get(suffix, ["compile", "--model", place, "--use-random-calib", "--output", tmp_path / "out.mxq"])
        assert fails(*arguments).startswith("ERROR [ARGUMENT_ERROR]"), place
    assert not (tmp_path / "out.mxq").exists()


@pytest.mark.parametrize("content", [b"", b"\0", b"no model", b"\x7fELF" + bytes(200), bytes(range(256)) * 9])
@pytest.mark.parametrize("suffix", ["onnx", "mblt", "mxq"])
def test_foreign_files(fails: Fails, tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"foreign.{suffix}"
    path.write_bytes(content)
    arguments = {
        "onnx": ["parse", "--model", path, "--output", tmp_path / "out"],
        "mblt": ["quantize", "--mblt", path, "--use-random-calib", "--output", tmp_path / "out"],
        "mxq": ["run", "--mxq", path],
    }[suffix]
    code = "INVALID_MODEL" if suffix == "onnx" else "INVALID_SNAPSHOT"
    assert fails(*arguments).startswith(f"ERROR [{code}]")


def test_places_where_nothing_can_be_written(files: Files, fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "directory.mblt").mkdir()
    os.mkfifo(tmp_path / "pipe.mblt")
    places = ["file/out.mblt", "nowhere/out.mblt", "directory.mblt", "pipe.mblt", "x" * 300 + ".mblt"]
    before = sorted(tmp_path.iterdir())
    for place in places:
        error = fails("parse", "--model", files.model, "--output", tmp_path / place)
        assert error.startswith("ERROR [OUTPUT_WRITE_ERROR]"), place
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "pipe.mblt").is_fifo()
    error = fails("run", "--mxq", files.mxq, "--output-dir", tmp_path / "file" / "out")
    assert error.startswith("ERROR [OUTPUT_WRITE_ERROR]")


def test_a_device_takes_any_output(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    """What goes to /dev/null is made and gone: the device stays, nothing appears beside it, no notice is given."""
    null, before = Path("/dev/null"), set(os.listdir("/dev"))
    data = ["--calib-data-path", str(files.samples), "--target-device", "aries-rb"]
    both = ["--output", str(null), "--report", str(null), "--quiet"]
    assert main(["parse", "--model", str(files.model), *both]) == 0
    assert main(["quantize", "--mblt", str(files.mblt), *data, *both]) == 0
    assert main(["quantize", "--mblt", str(files.mblt), *data, *both, "--compile-to", "lower"]) == 0
    assert qbc_opt([str(files.mblt), "-o", str(null)]) == 0
    assert "notice" not in capfd.readouterr().err
    assert null.is_char_device() and set(os.listdir("/dev")) == before


def test_full_disk(files: Files, tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk; the old file stays."""
    output = tmp_path / "out.mblt"
    output.write_text("old")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))

    command = [sys.executable, "-B", "-m", "qbcompiler", "parse", "--model", str(files.model), "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    assert len(errors) == 1 and errors[0].startswith("ERROR [OUTPUT_WRITE_ERROR]"), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out.mblt"]
    assert output.read_text() == "old"


def test_outputs_of_a_run_are_whole(files: Files, tmp_path: Path) -> None:
    from qbcompiler.cli import main

    assert main(["run", "--mxq", str(files.mxq), "--output-dir", str(tmp_path / "out")]) == 0
    shapes = {path.name: np.load(path).shape for path in (tmp_path / "out").iterdir()}
    assert sorted(shapes.values()) == [(1, 10), (1, 16, 14, 4)]


def test_an_input_that_is_an_output_too(files: Files, tmp_path: Path) -> None:
    from qbcompiler.cli import main

    model = onnx.load(files.model)
    through = onnx.helper.make_tensor_value_info("through", onnx.TensorProto.FLOAT, [1, 3])
    model.graph.input.append(through)
    model.graph.output.append(through)
    onnx.save(model, tmp_path / "through.onnx")
    arguments = ["--model", str(tmp_path / "through.onnx"), "--use-random-calib", "--target-device", "aries-rb"]
    assert main(["compile", *arguments, "--output", str(tmp_path / "out.mxq"), "--quiet"]) == 0
    assert main(["run", "--mxq", str(tmp_path / "out.mxq"), "--output-dir", str(tmp_path / "out")]) == 0
    assert np.load(tmp_path / "out" / "through.npy").shape == (1, 3)
