"""The documented functions beside `mxq_compile`."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import qbcompiler
from qbcompiler import (
    CalibrationConfig,
    QBCompilerError,
    mblt_compile,
    mblt_compile_with_callback,
    mxq_compile_from_mblt,
    mxq_compile_from_source,
    mxq_compile_with_callback,
)
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

MODEL = str(digits_model_path())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("data")
    generator = np.random.default_rng(3)
    for index in range(3):
        np.save(directory / f"{index}.npy", generator.random((1, 1, 8, 8), dtype=np.float32))
    return str(directory)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, data: str) -> bytes:
    """The bytes of the plain command-line route."""
    output = tmp_path_factory.mktemp("reference") / "a.mxq"
    arguments = ["--output", str(output), "--target-device", "aries-rb", "--calib-data-path", data, "--quiet"]
    assert main(["compile", "--model", MODEL, *arguments]) == 0
    return output.read_bytes()


@pytest.fixture(scope="module")
def mblt(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("mblt") / "digits.mblt"
    mblt_compile(MODEL, path)
    return str(path)


# --- the other compile functions ---------------------------------------------------------------------------------


def test_from_source_and_from_mblt(
    tmp_path: Path, data: str, mblt: str, reference: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    mxq_compile_from_source(MODEL, "aries-rb", data, tmp_path / "a.mxq", backend="ONNX")
    assert (tmp_path / "a.mxq").read_bytes() == reference
    only_parsing: dict[str, Any] = {
        "save_subgraph_type": 2, "output_subgraph_path": "x", "feed_dict": {"image": None}, "dynamic_axes": {"a": 1},
        "multi_shape": {"a": 1}, "yolo_decode_include": True, "exclude_first_subgraph": True,
    }  # fmt: skip
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        mxq_compile_from_mblt(mblt, "aries-rb", data, tmp_path / "b.mxq", **only_parsing)
    assert (tmp_path / "b.mxq").read_bytes() == reference
    for name in only_parsing:
        assert any(f"{name} is ignored" in record.getMessage() for record in caplog.records), name
    with pytest.raises(ValueError, match="model_part_options cannot be chosen"):
        mxq_compile_from_mblt(mblt, model_part_options={"last_token_only": True})
    with pytest.raises(ValueError, match="is not a .mblt file"):
        mxq_compile_from_mblt(MODEL)
    with pytest.raises(ValueError, match="is not a source model"):
        mxq_compile_from_source(mblt)


def test_arguments_by_position_and_by_name(tmp_path: Path, data: str) -> None:
    with pytest.raises(ValueError, match="target_device is given twice, by position and by name"):
        mxq_compile_from_source(MODEL, "aries-rb", data, tmp_path / "a.mxq", target_device="regulus-rb")
    with pytest.raises(ValueError, match="40 positional arguments, at most 39"):
        mxq_compile_from_source(MODEL, *[None] * 39)


def test_parsing_takes_a_preset_and_tells_what_it_ignores(
    tmp_path: Path, mblt: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        mblt_compile(
            MODEL, tmp_path / "a.mblt", config_preset="classification", save_subgraph_type=2, output_subgraph_path="x"
        )
    texts = [record.getMessage() for record in caplog.records]
    assert [text.partition(" is ignored")[0] for text in texts] == ["save_subgraph_type", "output_subgraph_path"]
    assert (tmp_path / "a.mblt").read_bytes() == Path(mblt).read_bytes()
    with pytest.raises(ValueError, match="unknown config preset"):
        mblt_compile(MODEL, tmp_path / "b.mblt", config_preset="nosuch")


def test_callbacks(tmp_path: Path, data: str, reference: bytes) -> None:
    events: list[dict[str, Any]] = []
    mxq_compile_with_callback(MODEL, "aries-rb", data, tmp_path / "a.mxq", callback=events.append)
    assert (tmp_path / "a.mxq").read_bytes() == reference
    assert {event["event"] for event in events} >= {"phase", "pass", "sample", "result"}
    fractions = [event["fraction"] for event in events if event["event"] in ("phase", "pass")]
    assert fractions == sorted(fractions) and fractions[0] == 0.0
    assert events[-1]["event"] == "result" and events[-1]["fraction"] == 1.0
    events.clear()
    mblt_compile_with_callback(MODEL, tmp_path / "a.mblt", progress_callback=events.append)
    assert [event["name"] for event in events if event["event"] == "phase"] == ["import", "convert"]
    with pytest.raises(ValueError, match="no callback"):
        mxq_compile_with_callback(MODEL)


class Stopped(Exception):
    """What callbacks of these tests raise; its context must stay its own."""


@pytest.mark.parametrize(
    "error", [Stopped("enough"), OSError(28, "disk full"), QBCompilerError("mine", code="CONFIG_ERROR")]
)
@pytest.mark.parametrize("kind", ["phase", "pass", "sample", "notice", "write"])
def test_a_callback_can_stop_the_compilation(tmp_path: Path, data: str, kind: str, error: Exception) -> None:
    (tmp_path / "a.mxq").write_bytes(b"older")
    seen: list[str] = []

    def stop(event: dict[str, Any]) -> None:
        seen.append(event["event"])
        if event["event"] == kind:
            raise error

    with pytest.raises(type(error)) as raised:
        mxq_compile_with_callback(MODEL, None, data, tmp_path / "a.mxq", callback=stop)
    assert raised.value is error and error.__cause__ is None and error.__context__ is None
    assert seen.count(kind) == 1 and seen[-1] == kind
    assert [path.name for path in tmp_path.iterdir()] == ["a.mxq"]
    assert (tmp_path / "a.mxq").read_bytes() == b"older"


def test_the_file_is_complete_when_its_result_is_told(tmp_path: Path, data: str, reference: bytes) -> None:
    found: list[bytes] = []

    def look(event: dict[str, Any]) -> None:
        if event["event"] == "result":
            found.append(Path(event["name"]).read_bytes())
            raise Stopped

    with pytest.raises(Stopped):
        mxq_compile_with_callback(MODEL, "aries-rb", data, tmp_path / "a.mxq", callback=look)
    assert found == [reference] == [(tmp_path / "a.mxq").read_bytes()]


def test_a_callback_can_stop_parsing(tmp_path: Path) -> None:
    def stop(event: dict[str, Any]) -> None:
        if event["event"] == "write":
            raise Stopped

    with pytest.raises(Stopped):
        mblt_compile_with_callback(MODEL, tmp_path / "a.mblt", callback=stop)
    assert not list(tmp_path.iterdir())


def test_payloads_hold_what_the_documentation_says(tmp_path: Path, data: str) -> None:
    events: list[dict[str, Any]] = []
    mxq_compile_with_callback(MODEL, None, data, tmp_path / "a.mxq", callback=events.append)
    keys, rest = str(mxq_compile_with_callback.__doc__).split("Keys: ")[1].split("An exception")[0].split("; with ")
    common, sample_only = set(re.findall(r"`(\w+)`", keys)), set(re.findall(r"`(\w+)`", rest))
    kinds = set(re.findall(r'"(\w+)"', keys))
    assert {event["event"] for event in events} == kinds
    assert sample_only == {"remaining_seconds"}
    for event in events:
        assert set(event) == common | (sample_only if event["event"] == "sample" else set())


# --- tools -------------------------------------------------------------------------------------------------------


def test_all_members_exist_and_configs_has_the_classes() -> None:
    import qbcompiler.configs

    for name in qbcompiler.__all__:
        assert getattr(qbcompiler, name) is not None
    assert qbcompiler.configs.CalibrationConfig is CalibrationConfig
    assert "get_preset" in dir(qbcompiler.configs)
    with pytest.raises(AttributeError):
        qbcompiler.nosuch  # noqa: B018


def test_presets_and_default_configurations(tmp_path: Path) -> None:
    entries = {entry["name"]: entry for entry in qbcompiler.list_presets()}
    assert entries["yolo_640"]["base"] == "detection" and entries["default"]["base"] is None
    assert entries["detection"]["config"] == {"quantization": {"calibration": {"mode": 1, "output": 1}}}
    assert set(entries["llm"]["config"]) == {"llm", "quantization", "advancedQuantization"}
    qbcompiler.dump_default_config(tmp_path / "a.yaml", preset="llm")
    values = yaml.safe_load((tmp_path / "a.yaml").read_text())
    assert values["advancedQuantization"]["EquivalentTransformation"]["QK"]["apply"] is True
    assert qbcompiler.CompileConfig.from_file(tmp_path / "a.yaml") == qbcompiler.CompileConfig.from_preset("llm")
    with pytest.raises(QBCompilerError, match="did you mean 'llm'"):
        qbcompiler.dump_default_config(tmp_path / "b.yaml", preset="lm")


def test_graph_of_a_snapshot(mblt: str) -> None:
    _, (graph,) = qbcompiler.read_mblt_graph_info(mblt)
    assert [op.layertype.name for op in graph.operators][:3] == ["Input", "Convolution", "Convolution"]
    assert graph.inputs == (0,)
    assert graph.operators[0].options.outputs == graph.operators[1].options.inputs == graph.inputs
    assert graph.operators[-1].options.outputs == graph.outputs
    made: set[int] = set()
    for operator in graph.operators:
        assert set(operator.options.inputs) <= made
        made |= set(operator.options.outputs)


def test_body_of_a_snapshot(tmp_path: Path, mblt: str) -> None:
    body = qbcompiler.get_body_subgraph(mblt, tmp_path / "body.mblt")
    assert body.read_bytes() == Path(mblt).read_bytes()
    with pytest.raises(QBCompilerError):
        qbcompiler.get_body_subgraph(MODEL, tmp_path / "other.mblt")


def test_validation() -> None:
    found = qbcompiler.validate_model(MODEL)
    image = {"name": "image", "shape": [1, 8, 8, 1], "source_shape": [1, 1, 8, 8], "type": "f32"}
    assert found["inputs"] == [image] and found["differences"] == []
    assert found["unconverted"] == found["refused"] == [] and found["uncounted"] == 0 and found["npu_mac_share"] == 1.0
    # 3x3 convolutions 1->16 and 16->32 on 8x8, twice 32->32 on 4x4, and the classifier
    assert found["macs"] == 64 * 9 * 16 + 64 * 9 * 16 * 32 + 2 * 16 * 9 * 32 * 32 + 32 * 10
    with pytest.raises(ValueError, match="unknown backend"):
        qbcompiler.validate_model(MODEL, backend="caffe")


def test_provenance(mblt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert qbcompiler.read_provenance(mblt)
    monkeypatch.setenv("QBCOMPILER_PROVENANCE", "0")
    mblt_compile(MODEL, tmp_path / "a.mblt")
    assert qbcompiler.read_provenance(tmp_path / "a.mblt") is None


def test_log_level() -> None:
    logger = logging.getLogger("qbcompiler")
    before = logger.level
    try:
        qbcompiler.set_log_level("debug")
        assert logger.level == logging.DEBUG
        qbcompiler.set_log_level(logging.ERROR)
        assert logger.level == logging.ERROR
        with pytest.raises(ValueError, match="unknown log level"):
            qbcompiler.set_log_level("loud")
        with pytest.raises(ValueError, match="neither"):
            qbcompiler.set_log_level(None)  # type: ignore[arg-type]
    finally:
        logger.setLevel(before)


def test_the_vendors_package_in_the_same_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    from qbcompiler.capabilities import problems

    assert problems() == []
    owners = {"qbcompiler": ["qbcompiler", "qbcompiler-vendor"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: owners)
    (text,) = problems()
    assert "separate environments" in text and "qbcompiler-vendor" in text


def test_error_paths_do_not_load_torch(tmp_path: Path) -> None:
    code = (
        "import sys, qbcompiler\n"
        "for call in ({'in_dformats': 1}, {'backend': 'caffe'}, {'config_preset': 'nosuch', 'model': 'x.onnx'},\n"
        "             {'compile_config': 'x.toml', 'model': 'x.onnx'}):\n"
        "    try: qbcompiler.mxq_compile(**{'model': 'x.onnx', 'save_path': 'x.mxq', **call})\n"
        "    except qbcompiler.QBCompilerError: pass\n"
        "    else: raise SystemExit('no error')\n"
        "assert not {'torch', 'onnx', 'onnxruntime'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize("entry", qbcompiler.list_presets(), ids=lambda entry: entry["name"])
def test_presets_that_are_refused_say_so(
    entry: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`missing` of a preset and the refusal of a compilation name the same features, in lists and on the page."""
    call = ["compile", "--model", str(MODEL), "--config-preset", entry["name"], "--print-pipeline"]
    assert (main(call) == 0) == (entry["missing"] == [])
    error = capsys.readouterr().err
    assert all(feature in error for feature in entry["missing"])
    page = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()
    section = page.partition(f"## {entry['name']}\n")[2].partition("\n## ")[0]
    assert ("Cannot compile yet" in section) == bool(entry["missing"])
    assert main(["presets", "--name", entry["name"]]) == 0
    shown = capsys.readouterr().out
    if entry["base"] is None:  # only `default`, whose pipelines are not shown
        return
    (tmp_path / "copy.yaml").write_text(shown)
    assert qbcompiler.CompileConfig.from_preset(str(tmp_path / "copy.yaml"))


def test_a_file_that_is_no_preset_hides_no_other(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = {
        "mine": "config: {calibration: {mode: 0}}",
        "wrong_key": "config: {calibration: {mdoe: 0}}",
        "no_yaml": "config: [",
        "no_base": "base: nix",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    missing = tmp_path / "missing"
    monkeypatch.setenv("QBCOMPILER_PRESETS", f"{tmp_path}{os.pathsep}{missing}")
    with caplog.at_level("WARNING", "qbcompiler"):
        names = {entry["name"] for entry in qbcompiler.list_presets()}
    assert {"mine", "detection"} <= names and not names & {"wrong_key", "no_yaml", "no_base"}
    expected = [f"QBCOMPILER_PRESETS: {str(missing)!r} is no directory"]
    expected += [f"preset file {str(tmp_path / f'{name}.yaml')!r} is left out: " for name in ("no_base", "no_yaml")]
    expected += [f"preset file {str(tmp_path / 'wrong_key.yaml')!r} is left out: calibration.mdoe: unknown key"]
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 4 and all(text.startswith(start) for text, start in zip(told, expected, strict=True))
    assert main(["presets"]) == 0 and main(["check"]) == 0
    shown = capsys.readouterr()
    for text in told:
        assert text in shown.err and text in shown.out


def test_an_unknown_preset_beside_a_directory_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QBCOMPILER_PRESETS", "nodir")
    with pytest.raises(QBCompilerError) as caught:
        qbcompiler.CompileConfig.from_preset("mine")
    assert caught.value.hint is not None and "'nodir' is no directory" in caught.value.hint
