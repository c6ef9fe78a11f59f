"""What a snapshot records about its making: digests that other tools compute too, no paths, the same on every route."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from qbc.driver.plan import CompileOptions
from qbc.driver.qdq import quantized
from qbc.store import read_container, write_container
from qbcompiler import mblt_compile, mxq_compile, read_provenance
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

RNG = np.random.default_rng(0)
SAMPLES = [RNG.random((1, 1, 8, 8), dtype=np.float32) for _ in range(3)]


def write_samples(folder: Path, samples: list[Any] = SAMPLES) -> Path:
    folder.mkdir()
    for index, sample in enumerate(samples):
        np.save(folder / f"{index}.npy", sample)
    return folder


def compiled(output: Path, samples: Any = SAMPLES, **settings: Any) -> dict[str, Any]:
    mxq_compile(digits_model_path(), "aries-rb", samples, output, device="cpu", **settings)
    record = read_provenance(output)
    assert record is not None
    return record


def expected_digest(name: str, sample: np.ndarray) -> str:
    """Digest of a channel-last float sample, written from docs/formats.md."""
    head = name.encode() + b"\0<f4\0" + str(list(sample.shape)).encode() + b"\0"
    return hashlib.sha256(head + sample.tobytes()).hexdigest()[:32]


def test_digests_are_those_of_the_data(tmp_path: Path) -> None:
    record = compiled(tmp_path / "a.mxq")
    model = digits_model_path().read_bytes()
    assert record["source"] == {
        "format": "onnx",
        "sha256": hashlib.sha256(model).hexdigest(),
        "bytes": len(model),
        "external_data": [],
    }
    assert record["graph"]["inputs"] == [{"name": "image", "shape": [1, 1, 8, 8], "type": "f32"}]
    calibration = record["calibration"]
    assert calibration["count"] == 3 and not calibration["random"]
    assert calibration["samples"] == [expected_digest("image", sample.reshape(1, 8, 8, 1)) for sample in SAMPLES]
    assert record["target"] == "aries-rb" and record["target_digest"]
    assert record["versions"]["qbcompiler"] and record["config"] and "npu-emit" in record["pipeline"]


def test_record_does_not_depend_on_route_or_place(tmp_path: Path) -> None:
    folder = write_samples(tmp_path / "samples")
    model = tmp_path / "renamed model.onnx"
    model.write_bytes(digits_model_path().read_bytes())
    compiled(tmp_path / "memory.mxq")
    mxq_compile(model, "aries-rb", folder, tmp_path / "files.mxq", device="cpu")
    mblt_compile(model, tmp_path / "m.mblt")
    mxq_compile(tmp_path / "m.mblt", "aries-rb", folder, tmp_path / "stepwise.mxq", device="cpu")
    first = (tmp_path / "memory.mxq").read_bytes()
    assert first == (tmp_path / "files.mxq").read_bytes() == (tmp_path / "stepwise.mxq").read_bytes()
    parsed = read_provenance(tmp_path / "m.mblt")
    assert parsed is not None and parsed["graph"] == read_provenance(tmp_path / "stepwise.mxq")["graph"]
    section = bytes(read_container(tmp_path / "m.mblt").section("ir"))
    assert parsed["graph"]["sha256"] == hashlib.sha256(section).hexdigest()
    for path in (tmp_path / "stepwise.mxq", tmp_path / "m.mblt"):
        assert str(tmp_path).encode() not in path.read_bytes()


def test_samples_count_in_order(tmp_path: Path) -> None:
    digests = [compiled(tmp_path / "a.mxq", samples)["calibration"]["samples"] for samples in (SAMPLES, SAMPLES[::-1])]
    assert digests[0] == digests[1][::-1] and len(set(digests[0])) == 3
    record = compiled(tmp_path / "a.mxq", None, use_random_calib=True)["calibration"]
    assert record["random"] and record["count"] == len(record["samples"]) == 16


def test_only_samples_that_were_used_are_recorded(tmp_path: Path) -> None:
    pipeline = compiled(tmp_path / "a.mxq")["pipeline"].replace("quant-collect{samples=0", "quant-collect{samples=2")
    (tmp_path / "pipeline").write_text(pipeline)
    folder = write_samples(tmp_path / "samples")
    arguments = ["compile", "--model", str(digits_model_path()), "--output", str(tmp_path / "b.mxq")]
    assert main([*arguments, "--calib-data-path", str(folder), "--pass-pipeline", pipeline]) == 0
    record = read_provenance(tmp_path / "b.mxq")
    assert record is not None and record["calibration"]["count"] == 2


def test_loaded_statistics_are_recorded(tmp_path: Path) -> None:
    kept = tmp_path / "statistics.npz"
    compiled(tmp_path / "a.mxq", calibration_config={"statistics": {"apply": True, "savePath": str(kept)}})
    section = {"statistics": {"apply": True, "loadPath": str(kept)}}
    record = compiled(tmp_path / "b.mxq", None, calibration_config=section)["calibration"]
    assert record["statistics"]["sha256"] == hashlib.sha256(kept.read_bytes()).hexdigest()
    assert "samples" not in record


def test_digest_of_the_graph_covers_weights(tmp_path: Path) -> None:
    model = onnx.load(digits_model_path())
    graphs = []
    for scale in (1.0, 2.0):
        weight = onnx.numpy_helper.to_array(model.graph.initializer[0])
        model.graph.initializer[0].CopyFrom(
            onnx.numpy_helper.from_array(weight * np.float32(scale), model.graph.initializer[0].name)
        )
        onnx.save(model, tmp_path / "m.onnx")
        graphs.append(mblt_compile(tmp_path / "m.onnx", tmp_path / "m.mblt").manifest.provenance["graph"])
    assert graphs[0]["sha256"] != graphs[1]["sha256"] and graphs[0]["inputs"] == graphs[1]["inputs"]


def test_external_data_is_recorded_by_digest(tmp_path: Path) -> None:
    model = onnx.load(digits_model_path())
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    record = mblt_compile(tmp_path / "m.onnx", tmp_path / "m.mblt").manifest.provenance["source"]
    weights = (tmp_path / "weights.bin").read_bytes()
    assert record["external_data"] == [{"sha256": hashlib.sha256(weights).hexdigest(), "bytes": len(weights)}]
    assert main(["info", str(tmp_path / "m.mblt"), "--check-source", str(tmp_path / "m.onnx")]) == 0
    (tmp_path / "weights.bin").write_bytes(bytes([weights[0] ^ 1]) + weights[1:])
    assert main(["info", str(tmp_path / "m.mblt"), "--check-source", str(tmp_path / "m.onnx")]) == 1


def test_preset_and_its_resolved_configuration_give_the_same_record(tmp_path: Path) -> None:
    saved = tmp_path / "config.yaml"
    record = compiled(tmp_path / "a.mxq", config_preset="detection", config_save_path=str(saved))
    assert record["preset"]["name"] == "detection" and len(record["preset"]["sha256"]) == 64
    compiled(tmp_path / "b.mxq", compile_config=str(saved))
    assert (tmp_path / "a.mxq").read_bytes() == (tmp_path / "b.mxq").read_bytes()


def test_only_the_preset_that_was_asked_for_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "preset" not in compiled(tmp_path / "a.mxq")
    digests = []
    for folder, mode in (("p", 0), ("q", 0), ("r", 2)):
        preset = tmp_path / folder / "mine.yaml"
        preset.parent.mkdir()
        preset.write_text(f"base: classification\nconfig:\n  calibration:\n    mode: {mode}\n")
        record = compiled(tmp_path / f"{folder}.mxq", config_preset=str(preset))["preset"]
        assert record["name"] == "mine"
        digests.append(record["sha256"])
    assert digests[0] == digests[1] != digests[2]
    assert (tmp_path / "p.mxq").read_bytes() == (tmp_path / "q.mxq").read_bytes()
    capsys.readouterr()
    assert main(["info", str(tmp_path / "p.mxq")]) == 0
    assert f"mine, sha256 {digests[0]}" in capsys.readouterr().out


def test_settings_that_were_changed_since_have_no_preset(tmp_path: Path) -> None:
    saved = tmp_path / "config.yaml"
    compiled(tmp_path / "a.mxq", config_preset="detection", config_save_path=str(saved))
    record = compiled(tmp_path / "b.mxq", compile_config=str(saved), inference_scheme="multi")
    assert "preset" not in record
    assert any("no longer those that preset 'detection' was saved with" in notice for notice in record["notices"])


def test_other_presets_of_the_user_do_not_change_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "mine.yaml").write_text("name: mine\nbase: default\ndescription: Mine.\nconfig: {}\n")
    (folder / "broken.yaml").write_text("name: [")
    compiled(tmp_path / "a.mxq")
    monkeypatch.setenv("QBCOMPILER_PRESETS", str(folder))
    compiled(tmp_path / "b.mxq")
    assert (tmp_path / "a.mxq").read_bytes() == (tmp_path / "b.mxq").read_bytes()


@pytest.mark.parametrize("step", ["parse", "quantize"])
def test_no_record_is_wanted(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if step == "parse":
        monkeypatch.setenv("QBCOMPILER_PROVENANCE", "0")
    mblt_compile(digits_model_path(), tmp_path / "m.mblt")
    assert (read_provenance(tmp_path / "m.mblt") is None) == (step == "parse")
    monkeypatch.setenv("QBCOMPILER_PROVENANCE", "0" if step == "quantize" else "1")
    mxq_compile(tmp_path / "m.mblt", "aries-rb", SAMPLES, tmp_path / "a.mxq", device="cpu")
    record = read_provenance(tmp_path / "a.mxq")
    assert (record is None) == (step == "quantize")
    if record is not None:
        assert "source" not in record and record["graph"]["sha256"] and record["calibration"]["count"] == 3


def test_info_shows_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = compiled(tmp_path / "a.mxq")
    capsys.readouterr()
    assert main(["info", str(tmp_path / "a.mxq")]) == 0
    text = capsys.readouterr().out
    for expected in (record["source"]["sha256"], record["graph"]["sha256"], "3 samples", "aries-rb", "quant-collect"):
        assert expected in text
    for arguments in (["--json", str(tmp_path / "a.mxq")], ["--mxq", str(tmp_path / "a.mxq")]):
        assert main(["info", *arguments]) == 0
        assert json.loads(capsys.readouterr().out)["provenance"]["source"] == record["source"]


def keys_of_the_page(title: str) -> set[str]:
    """Names in the first column of a table of docs/formats.md."""
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    rows = page.split(f"| {title} |")[1].split("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_the_page_describes_every_key(tmp_path: Path) -> None:
    compiled(tmp_path / "a.mxq")
    manifest = json.loads(bytes(read_container(tmp_path / "a.mxq").section("manifest")))
    assert keys_of_the_page("key of the manifest") == set(manifest)
    assert keys_of_the_page("key of the provenance") == {*manifest["provenance"], "preset", "parsed_with"}


def test_other_versions_of_the_parser_are_recorded(tmp_path: Path) -> None:
    mblt_compile(digits_model_path(), tmp_path / "m.mblt")
    opened = read_container(tmp_path / "m.mblt")
    sections: dict[str, Any] = {name: bytes(part) for name, part in opened.sections.items()}
    manifest = json.loads(sections["manifest"])
    manifest["versions"]["onnx"] = "1.0"
    write_container(tmp_path / "old.mblt", "MBLT", {**sections, "manifest": json.dumps(manifest).encode()})
    mxq_compile(tmp_path / "old.mblt", "aries-rb", SAMPLES, tmp_path / "a.mxq", device="cpu")
    record = read_provenance(tmp_path / "a.mxq")
    assert record is not None and record["parsed_with"]["onnx"] == "1.0" != record["versions"]["onnx"]


def test_programs_of_other_percentiles_record_the_preset_too(tmp_path: Path) -> None:
    """Also where the settings of the preset come from a saved configuration."""
    statistics = {"apply": True, "savePath": str(tmp_path / "s.npz"), "percentiles": [0.99, 0.9999], "sweep": True}
    saved = tmp_path / "config.yaml"
    section = {"statistics": statistics}
    compiled(tmp_path / "a.mxq", config_preset="detection", calibration_config=section, config_save_path=str(saved))
    compiled(tmp_path / "b.mxq", compile_config=str(saved))
    for name in ("{}.mxq", "{}_0.99.mxq", "{}_0.9999.mxq"):
        first, second = (tmp_path / name.format(stem) for stem in "ab")
        assert first.read_bytes() == second.read_bytes()
        record = read_provenance(second)
        assert record is not None and record["preset"]["name"] == "detection"


def test_a_pipeline_text_beside_the_preset_changes_no_origin(tmp_path: Path) -> None:
    saved = tmp_path / "config.yaml"
    compiled(tmp_path / "a.mxq", config_preset="detection", config_save_path=str(saved))
    parse = ["parse", "--model", str(digits_model_path()), "--output", str(tmp_path / "m.mblt")]
    assert main(parse) == 0
    options = CompileOptions(target="aries-rb", calibration=SAMPLES, compile_config=saved)
    _, ctx = quantized(tmp_path / "m.mblt", options)
    assert not any("origin" in notice for notice in ctx.notices)


@pytest.mark.parametrize(("phase", "lost"), [("import", 1), ("convert", 2), ("quantize", 3), ("lower", 3)])
def test_what_text_cannot_say_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], phase: str, lost: int
) -> None:
    text, output = tmp_path / "text.mlir", tmp_path / "a.mxq"
    data = ["--calib-data-path", str(write_samples(tmp_path / "samples")), "--quiet"]
    assert (
        main(["compile", "--model", str(digits_model_path()), "--compile-to", phase, "--output", str(text), *data]) == 0
    )
    assert "the record of" not in capsys.readouterr().err  # text has no record
    assert main(["compile", "--compile-from", str(text), "--output", str(output), *data]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "the record of" in line]
    assert len(told) == 1
    parts = told[0].partition(" is without ")[2].partition(":")[0].split(" and ")
    assert parts == [*("the source model", "the samples", "the passes before")] if lost == 3 else len(parts) == lost
    record = read_provenance(output)
    assert record is not None and record["source"]["format"] == "mlir"
    assert "samples" not in record["notices"] and not any(str(tmp_path) in notice for notice in record["notices"])
    assert ("calibration" in record) == (lost < 3)
