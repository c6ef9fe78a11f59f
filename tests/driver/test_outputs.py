"""Outputs never replace inputs, and their names say what they hold."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from qbc.driver.opt import main as opt
from qbcompiler.cli import main
from tests.robustness.zoo import write_zoo


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model, its parsed graph and its executable."""
    folder = tmp_path_factory.mktemp("outputs")
    found = {"onnx": write_zoo(folder / "m.onnx"), "mblt": folder / "m.mblt", "mxq": folder / "m.mxq"}
    assert main(["parse", "--model", str(found["onnx"]), "--output", str(found["mblt"]), "--quiet"]) == 0
    common = ["--use-random-calib", "--quiet", "--target-device", "regulus-rb"]
    assert main(["quantize", "--mblt", str(found["mblt"]), "--output", str(found["mxq"]), *common]) == 0
    return found


REPLACING = [
    ["compile", "--model", "{onnx}", "--output", "{onnx}", "--use-random-calib"],
    ["parse", "--model", "{onnx}", "--output", "{onnx}"],
    ["quantize", "--mblt", "{mblt}", "--output", "{mblt}", "--use-random-calib"],
    ["quantize", "--mblt", "{mblt}", "--output", "{folder}/new.mxq", "--use-random-calib", "--report", "{mblt}"],
    [
        "quantize",
        "--mblt",
        "{mblt}",
        "--output",
        "{folder}/new.mxq",
        "--use-random-calib",
        "--crash-reproducer",
        "{mblt}",
    ],
    ["extract-body", "--mblt", "{mblt}", "--output", "{mblt}"],
    ["export", "--mblt", "{mblt}", "--output", "{mblt}"],
    ["compile", "--model", "{onnx}", "--output", "{folder}/a.mxq", "--use-random-calib", "--report", "{folder}/a.mxq"],
]


@pytest.mark.parametrize("arguments", REPLACING, ids=" ".join)
def test_an_output_never_replaces_an_input(
    arguments: list[str], files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in files.values()}
    values = {"folder": files["onnx"].parent, **files}
    assert main([part.format(**values) for part in arguments]) == 1
    assert "ERROR [ARGUMENT_ERROR]" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in files.values()} == before
    assert sorted(files["onnx"].parent.iterdir()) == sorted(files.values())


@pytest.mark.parametrize("read", ["onnx", "mxq"])
@pytest.mark.parametrize(
    "section",
    [
        {"bit": {"saveInfo": {"savePath": "{path}"}}},
        {"calibration": {"statistics": {"apply": True, "savePath": "{path}"}}},
    ],
)
def test_files_of_the_configuration_replace_nothing(
    section: dict[str, object], read: str, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model, and the result of the same run."""
    output = tmp_path / "a.mxq"
    path = files["onnx"] if read == "onnx" else output
    before = files["onnx"].read_bytes()
    (tmp_path / "c.json").write_text(json.dumps(section).replace("{path}", str(path)))
    arguments = ["--output", str(output), "--compile-config", str(tmp_path / "c.json"), "--use-random-calib"]
    assert main(["compile", "--model", str(files["onnx"]), *arguments]) == 1
    assert f"ERROR [ARGUMENT_ERROR]: {str(path)!r} is " in capsys.readouterr().err
    assert files["onnx"].read_bytes() == before and not output.exists()


def test_files_are_compared_as_files(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "link.mblt"
    os.link(files["mblt"], link)
    assert main(["extract-body", "--mblt", str(files["mblt"]), "--output", str(link)]) == 1
    assert "is read by this run" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["onnx", "mblt", "mxq"])
def test_qbc_opt_writes_text_and_never_its_input(
    kind: str, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files[kind].read_bytes()
    for output in (files[kind], tmp_path / f"other.{kind}"):
        assert opt([str(files[kind]), "-o", str(output)]) == 1
        assert "error[ARGUMENT_ERROR]" in capsys.readouterr().err
    assert files[kind].read_bytes() == before and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "phase, name",
    [("convert", "o.mxq"), ("quantize", "o.mxq"), ("encode", "o.mblt"), ("encode", "o.mlir"), ("import", "o.mblt")],
)
def test_a_suffix_of_another_format_is_refused(
    phase: str, name: str, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compile", "--model", str(files["onnx"]), "--output", str(tmp_path / name), "--compile-to", phase]
    assert main([*arguments, "--use-random-calib"]) == 1
    assert "ERROR [ARGUMENT_ERROR]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_suffix_of_no_format_is_a_notice(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", "--model", str(files["onnx"]), "--output", str(tmp_path / "o.txt")]) == 0
    assert "holds a parsed graph" in capsys.readouterr().err


def test_directories_that_do_not_exist_are_refused_alike(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing"
    common = ["--model", str(files["onnx"])]
    assert main(["parse", *common, "--output", str(missing / "m.mblt")]) == 1
    assert main(["parse", *common, "--output", str(tmp_path / "m.mblt"), "--report", str(missing / "r.json")]) == 1
    assert opt([str(files["onnx"]), "-o", str(missing / "m.mlir")]) == 1
    assert capsys.readouterr().err.count("[OUTPUT_WRITE_ERROR]") == 3
    assert list(tmp_path.iterdir()) == []


def test_qbc_opt_takes_the_target_of_an_executable(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import qbcompiler.tools

    _, _, manifest = qbcompiler.tools.read_record(files["mxq"])
    assert manifest is not None and manifest["target"] == "regulus-rb", json.dumps(manifest)
    text = tmp_path / "m.mlir"
    assert opt([str(files["mxq"]), "-p", "npu-verify-plan", "-o", str(text)]) == 0
    assert opt([str(text), "-p", "npu-verify-plan", "-o", str(tmp_path / "n.mlir")]) == 0
    assert "no target device" not in capsys.readouterr().err
    assert opt([str(files["mxq"]), "-p", "npu-assign-mode{mode=multi}"]) == 1
    assert "regulus-rb has no core mode 'multi'" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--report", "--dump-ir"])
def test_programs_of_a_sweep_are_no_other_output(
    flag: str, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics = {"apply": True, "savePath": str(tmp_path / "s.npz"), "percentiles": [0.99, 0.999], "sweep": True}
    (tmp_path / "c.json").write_text(json.dumps({"calibration": {"mode": 1, "statistics": statistics}}))
    given = ["--use-random-calib", "--target-device", "regulus-rb", "--compile-config", str(tmp_path / "c.json")]
    command = ["compile", "--model", str(files["onnx"]), "--output", str(tmp_path / "m.mxq"), *given]
    assert main([*command, flag, str(tmp_path / "m_0.999.mxq")]) == 1
    errors = capsys.readouterr().err
    assert "ERROR [ARGUMENT_ERROR]" in errors and "m_0.999.mxq' is named for two outputs" in errors
    (tmp_path / "m_0.99.mxq").mkdir()
    assert main(command) == 1
    assert "ERROR [OUTPUT_WRITE_ERROR]" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json", "m_0.99.mxq"]


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files of more than 100 bytes cannot be written, as on a disk that is almost full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize(
    "command",
    [
        "qbcompiler parse --model {onnx} --output {out}/x.mlir --compile-to import --quiet",
        "qbcompiler parse --model {onnx} --output /dev/null --dump-ir {out}/deep/dump --quiet",
        "qbc-opt {onnx} -o {out}/o.mlir",
        "qbc-opt {onnx} -o /dev/null --blobs {out}/deep/weights",
        "qbcompiler run --mxq {mxq} --output-dir {out}/deep/results",
    ],
)
def test_nothing_is_left_of_outputs_that_cannot_be_written(
    command: str, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = command.format(out=tmp_path, **files).split()
    assert {"qbc-opt": opt, "qbcompiler": main}[name](rest) == 1
    assert "[OUTPUT_WRITE_ERROR]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_before_stays(files: dict[str, Path], tmp_path: Path, small_files: None) -> None:
    (tmp_path / "o.blobs").mkdir()
    (tmp_path / "o.blobs" / "mine").touch()
    assert opt([str(files["onnx"]), "-o", str(tmp_path / "o.mlir")]) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["o.blobs", "mine"]


def test_a_pipe_among_weights_is_no_weight(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, weights = tmp_path / "o.mlir", tmp_path / "o.blobs"
    assert opt([str(files["onnx"]), "-o", str(text)]) == 0
    blob = sorted(weights.iterdir())[0]
    blob.unlink()
    os.mkfifo(blob)
    assert opt([str(text), "-p", "convert-framework-to-mblt", "-o", str(tmp_path / "p.mlir")]) == 1
    errors = capsys.readouterr().err
    assert blob.name in errors and "it is not a regular file" in errors
    assert opt([str(files["onnx"]), "-o", str(text)]) == 1
    assert "[OUTPUT_WRITE_ERROR]" in capsys.readouterr().err
