"""Files of every released format version are read and run; files of newer versions are refused by their version."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbc.artifact.ir_table import TABLE_VERSION
from qbc.artifact.mblt import IR_SECTION, read_mblt
from qbc.artifact.mxq import read_mxq_info
from qbc.driver.context import make_context
from qbc.driver.samples import main_function
from qbc.errors import QBCompilerError
from qbc.modes import MODE_NAMES
from qbc.program.image import PROGRAM_VERSION
from qbc.runtime.golden import replay
from qbc.runtime.load import load, open_model
from qbc.store import BlobStore, read_container, write_container
from qbc.store.container import FORMAT_VERSIONS
from qbcompiler import mxq_compile, read_provenance
from qbcompiler.cli import main
from tests.artifact.released import DATA, INPUT, OUTPUT, SHAPE, float_outputs, samples, write_network

VERSIONS = {kind: range(1, newest + 1) for kind, newest in FORMAT_VERSIONS.items()}


def expectation(version: int) -> tuple[np.ndarray, dict[str, Any]]:
    table = json.loads((DATA / f"v{version}.json").read_text())
    return np.array(table["input"], np.float32).reshape(SHAPE), table


@pytest.mark.parametrize("version", VERSIONS["MBLT"])
def test_released_mblt_is_read_and_compiled(version: int, tmp_path: Path) -> None:
    from qbc.execute.float_torch import run

    path = DATA / f"v{version}.mblt"
    assert read_container(path, "MBLT").version == version
    image, expected = expectation(version)
    opened = read_mblt(path, make_context(store=BlobStore()))
    (outputs,) = run(main_function(opened.module), opened.store, {INPUT: image.transpose(0, 2, 3, 1)}).values()
    assert np.allclose(outputs.ravel(), expected["float"], atol=1e-5)
    assert read_provenance(path) is not None
    mxq_compile(path, "aries-rb", samples(), tmp_path / "a.mxq", device="cpu")
    fresh = load(tmp_path / "a.mxq").run({INPUT: image})[OUTPUT]
    assert np.allclose(fresh.ravel(), expected["float"], atol=0.1)


@pytest.mark.parametrize("version", VERSIONS["MXQ"])
@pytest.mark.parametrize("mode", MODE_NAMES)
def test_released_mxq_runs_as_it_did(version: int, mode: str) -> None:
    path = DATA / f"v{version}.mxq"
    image, expected = expectation(version)
    opened = open_model(path)
    simulator = opened.simulator(mode)
    outputs = simulator.run({INPUT: image})[OUTPUT]
    assert outputs.ravel().tolist() == expected["output"]
    assert np.allclose(outputs.ravel(), expected["float"], atol=0.1)
    assert replay(simulator, opened.package.container.section(f"golden/{mode}/0")).passed
    info = read_mxq_info(path)
    assert info.container.version == version and info.manifest.target == "aries-rb" and "npu.program" in info.ir_text


def test_expectations_are_those_of_the_source_model(tmp_path: Path) -> None:
    image, expected = expectation(FORMAT_VERSIONS["MXQ"])
    model = write_network(tmp_path / "model.onnx")
    assert np.allclose(float_outputs(model, image), expected["float"], atol=1e-5)


def with_version(source: Path, target: Path, version: int) -> Path:
    data = bytearray(source.read_bytes())
    data[8:12] = struct.pack("<I", version)
    target.write_bytes(data)
    return target


@pytest.mark.parametrize("kind", sorted(FORMAT_VERSIONS))
def test_newer_versions_are_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suffix, newest = f".{kind.lower()}", FORMAT_VERSIONS[kind]
    newer = with_version(DATA / f"v1{suffix}", tmp_path / f"newer{suffix}", newest + 1)
    assert main(["info", str(newer)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("ERROR [UNSUPPORTED_VERSION]") and f"version {newest + 1}" in error and str(newer) in error
    with pytest.raises(QBCompilerError) as caught:
        read_container(with_version(DATA / f"v1{suffix}", tmp_path / f"zero{suffix}", 0), kind)
    assert caught.value.code == "INVALID_SNAPSHOT"


def rewritten(name: str, target: Path, section: str, data: bytes) -> Path:
    opened = read_container(DATA / name)
    sections = {key: bytes(part) for key, part in opened.sections.items()}
    write_container(target, opened.kind, {**sections, section: data})
    return target


def test_newer_sections_are_refused(tmp_path: Path) -> None:
    table = json.loads(bytes(read_container(DATA / "v1.mblt").section(IR_SECTION)))
    table["version"] = TABLE_VERSION + 1
    mblt = rewritten("v1.mblt", tmp_path / "a.mblt", IR_SECTION, json.dumps(table).encode())
    with pytest.raises(QBCompilerError) as caught:
        read_mblt(mblt, make_context(store=BlobStore()))
    assert caught.value.code == "UNSUPPORTED_VERSION"
    program = bytearray(read_container(DATA / "v1.mxq").section("program/single/0"))
    program[4:8] = struct.pack("<I", PROGRAM_VERSION + 1)
    mxq = rewritten("v1.mxq", tmp_path / "a.mxq", "program/single/0", bytes(program))
    with pytest.raises(QBCompilerError) as caught:
        load(mxq)
    assert caught.value.code == "UNSUPPORTED_VERSION"
    debug = b'{"version": 2, "records": []}'
    with pytest.raises(QBCompilerError) as caught:
        load(rewritten("v1.mxq", tmp_path / "b.mxq", "debug/single/0", debug))
    assert caught.value.code == "UNSUPPORTED_VERSION"
    opened = open_model(DATA / "v1.mxq")
    golden = json.loads(bytes(opened.package.container.section("golden/single/0")))
    with pytest.raises(QBCompilerError) as caught:
        replay(opened.simulator(), json.dumps({**golden, "version": 2}).encode())
    assert caught.value.code == "UNSUPPORTED_VERSION"


def test_additions_within_a_version_are_ignored(tmp_path: Path) -> None:
    manifest = json.loads(bytes(read_container(DATA / "v1.mxq").section("manifest")))
    added = json.dumps({**manifest, "later": [1]}).encode()
    path = rewritten("v1.mxq", tmp_path / "a.mxq", "manifest", added)
    path = tmp_path / "b.mxq"
    opened = read_container(tmp_path / "a.mxq")
    write_container(path, "MXQ", {**{key: bytes(part) for key, part in opened.sections.items()}, "later": b"?"})
    image, expected = expectation(1)
    assert load(path).run({INPUT: image})[OUTPUT].ravel().tolist() == expected["output"]
    assert read_mxq_info(path).manifest.target == "aries-rb"
