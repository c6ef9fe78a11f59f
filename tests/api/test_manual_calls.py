"""The calls that the manual shows, word for word: commands and functions, in a directory with the files they name."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from qbc.store import read_container
from qbcompiler import CompileConfig, mxq_compile
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `model.onnx`, `calib` and `calibration/resnet50`."""
    directory = tmp_path_factory.mktemp("project")
    shutil.copy(digits_model_path(), directory / "model.onnx")
    generator = np.random.default_rng(3)
    for samples in (directory / "calib", directory / "calibration" / "resnet50"):
        samples.mkdir(parents=True)
    for index in range(3):
        image = generator.random((1, 1, 8, 8), dtype=np.float32)
        for samples in (directory / "calib", directory / "calibration" / "resnet50"):
            np.save(samples / f"{index}.npy", image)
    return directory


@pytest.fixture(scope="module")
def plain(project: Path) -> dict[str, bytes]:
    """The programs of the plain route, by target."""
    found = {}
    for target in ("aries-rb", "regulus-rb"):
        paths = ["--model", str(project / "model.onnx"), "--calib-data-path", str(project / "calib")]
        output = project / f"plain-{target}.mxq"
        assert main(["compile", *paths, "--target-device", target, "--output", str(output), "--quiet"]) == 0
        found[target] = output.read_bytes()
    return found


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(project)
    yield project
    (project / "model.mxq").unlink(missing_ok=True)


def command(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program, *rest = shlex.split(text)
    assert program == "python"
    whole = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run([sys.executable, *rest], capture_output=True, text=True, check=True, env=whole)


def test_compile_command(inside: Path, plain: dict[str, bytes]) -> None:
    command(
        "python -m qbcompiler compile --model model.onnx --backend onnx --calib-data-path calibration/resnet50 "
        "--target-device regulus-rb --output model.mxq"
    )
    assert (inside / "model.mxq").read_bytes() == plain["regulus-rb"]


def test_parse_and_quantize_commands(inside: Path, plain: dict[str, bytes]) -> None:
    """Neither names a target: the usual one is taken, with a notice."""
    done = command("python -m qbcompiler parse --model model.onnx --backend onnx --output model.mblt")
    assert "target" not in done.stderr
    done = command(
        "python -m qbcompiler quantize --mblt model.mblt --calib-data-path calibration/resnet50 --output model.mxq"
    )
    assert "notice: no target device given, using aries-rb" in done.stderr
    assert (inside / "model.mxq").read_bytes() == plain["aries-rb"]


def test_dump_config_commands(inside: Path) -> None:
    command("python -m qbcompiler dump-config --output compile_config.yaml")
    assert yaml.safe_load((inside / "compile_config.yaml").read_text()) == CompileConfig().grouped()
    command("python -m qbcompiler dump-config --preset yolo_640 --output yolo_640.yaml")
    assert CompileConfig.from_file("yolo_640.yaml") == CompileConfig.from_preset("yolo_640")


@pytest.mark.parametrize("value", ["1", "true", "yes", "on", "YES"])
def test_json_lines(inside: Path, value: str) -> None:
    done = command("python -m qbcompiler presets", QBCOMPILER_JSONL=value)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["kind"] for event in events] == ["status", "result", "status"]
    assert done.stderr == ""


@pytest.mark.parametrize("value", ["", "0", "no", "off", "false"])
def test_no_json_lines(inside: Path, value: str) -> None:
    done = command("python -m qbcompiler presets", QBCOMPILER_JSONL=value)
    assert done.stdout.startswith("preset ")


def test_json_lines_of_a_compilation(inside: Path, plain: dict[str, bytes]) -> None:
    done = command(
        "python -m qbcompiler compile --model model.onnx --calib-data-path calib --target-device aries-rb "
        "--output model.mxq",
        QBCOMPILER_JSONL="on",
    )
    kinds = {json.loads(line)["kind"] for line in done.stdout.splitlines()}
    assert kinds >= {"status", "progress", "result"} and done.stderr == ""
    assert (inside / "model.mxq").read_bytes() == plain["aries-rb"]


@pytest.mark.parametrize(
    "arguments, target",
    [
        (
            dict(  # noqa: C408
                model="model.onnx", target_device="aries-rb", calib_data_path="calib", save_path="model.mxq",
                backend="onnx", device="gpu", config_preset="classification", compile_config=None,
            ),
            "aries-rb",
        ),
        (
            dict(  # noqa: C408
                model="model.onnx", backend="onnx", calib_data_path="calibration/resnet50",
                target_device="regulus-rb", save_path="model.mxq",
            ),
            "regulus-rb",
        ),
    ],
)  # fmt: skip
def test_python_calls(inside: Path, plain: dict[str, bytes], arguments: dict[str, Any], target: str) -> None:
    mxq_compile(**arguments)
    (inside / "plain.mxq").write_bytes(plain[target])
    assert program(inside / "model.mxq") == program(inside / "plain.mxq")  # the record names the preset


def program(path: Path) -> dict[str, bytes]:
    """Return all sections but the record of how the file was made."""
    container = read_container(path, "MXQ")
    return {name: bytes(container.section(name)) for name in container.sections if name != "manifest"}
