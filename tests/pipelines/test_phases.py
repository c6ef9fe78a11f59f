"""Presets and phases as data, and how configuration reaches options of passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbc.driver.plan import CompileOptions, make_plan
from qbc.errors import QBCompilerError
from qbc.pipelines.grammar import PassCall, PipelineError, parse_pipeline
from qbc.pipelines.phases import (
    PHASES,
    load_preset,
    preset_names,
    split_by_phase,
    with_options,
    without_pass,
)
from qbc.pipelines.registry import complete

NINE = (
    "classification", "detection", "classification_torchvision", "yolo_640", "yolo_1280",
    "llm", "llm_fast", "vision_transformer", "multimodal",
)  # fmt: skip


def test_presets_inherit_pipelines_and_merge_configuration() -> None:
    assert set(preset_names()) == {*NINE, "default"}
    default, detection = load_preset("default"), load_preset("detection")
    assert detection.base == "default"
    assert detection.pipelines == default.pipelines
    assert set(default.pipelines) == set(PHASES)
    assert detection.layers == ({}, {"calibration": {"mode": 1, "output": 1}})


def test_presets_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("base: other\nconfig: {calibration: {mode: 0}}\npipelines: {encode: npu.program()}\n")
    (tmp_path / "other.yaml").write_text("description: theirs\nbase: detection\n")
    preset = load_preset(str(mine))
    assert (preset.name, preset.base) == ("mine", "other")
    assert [dict(layer) for layer in preset.layers[-3:]] == [
        {"calibration": {"mode": 1, "output": 1}}, {}, {"calibration": {"mode": 0}},
    ]  # fmt: skip
    assert preset.pipelines == {**load_preset("default").pipelines, "encode": "npu.program()"}
    monkeypatch.setenv("QBCOMPILER_PRESETS", str(tmp_path))
    assert {"mine", "other"} <= set(preset_names())
    assert load_preset("mine") == preset
    mine.write_text("description: changed\n")
    assert load_preset("mine").description == "changed"


@pytest.mark.parametrize(
    "text, message",
    [
        ("[1]", "must be a mapping"),
        ("config: [", "expected"),
        ("konfig: {}", "unknown key 'konfig'"),
        ("config: [1]", "config must be a mapping"),
        ("pipelines: {emit: x}", "'emit' is not a phase"),
        ("base: null", "needs pipelines of all phases"),
        ("base: bad", "inherits from itself"),
        ("base: clasification", "did you mean 'classification'"),
    ],
)
def test_a_file_that_is_no_preset(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(QBCompilerError, match=message):
        load_preset(str(tmp_path / "bad.yaml"))


def test_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(QBCompilerError, match="did you mean 'detection'"):
        load_preset("detections")


def test_options_are_set_wherever_the_pass_has_them() -> None:
    pipeline = parse_pipeline("quant-assign-ranges{mode=0},quant-verify")
    changed, placed = with_options(
        pipeline, [("quant-assign-ranges", "mode", 2), ("quant-verify", "nosuch", 1), ("absent", "x", 1)]
    )
    assert str(changed) == "builtin.module(quant-assign-ranges{mode=2},quant-verify)"
    assert placed == {("quant-assign-ranges", "mode")}


def test_a_pass_can_be_left_out() -> None:
    assert str(without_pass(parse_pipeline("a,func.func(b,a),c"), "a")) == "builtin.module(func.func(b),c)"


def test_a_whole_pipeline_is_cut_at_the_conversions() -> None:
    plan = make_plan(CompileOptions())
    parts = split_by_phase(parse_pipeline(plan.text()))
    assert {phase: complete(part) for phase, part in parts.items()} == dict(plan.pipelines)


def test_conversions_out_of_order_are_refused() -> None:
    with pytest.raises(PipelineError, match="comes after the phase"):
        split_by_phase(parse_pipeline("convert-mblt-to-quant,convert-framework-to-mblt"))


def test_configuration_reaches_the_passes() -> None:
    settings = {"method": 0, "mode": 2, "maxPercentile": {"percentile": 0.99}}
    plan = make_plan(CompileOptions(sections={"calibration": settings}))
    calls = {call.name: dict(call.options) for call in plan.pipelines["quantize"].calls()}
    assert calls["quant-group-scales"]["method"] == 0
    assert calls["quant-assign-ranges"]["mode"] == 2
    assert calls["quant-assign-ranges"]["percentile"] == 0.99


def test_a_field_without_effect_gives_one_notice() -> None:
    plan = make_plan(CompileOptions(arguments={"buffer_mode": 2, "calibration": {"seed": 1}}))
    assert len(plan.notices) == 1
    assert "bufferMode" in plan.notices[0] and "calibration.seed" in plan.notices[0]
    assert not make_plan(CompileOptions()).notices


def test_a_pipeline_of_the_configuration_replaces_the_phase() -> None:
    config = {"pipelines": {"quantize": "convert-mblt-to-quant,quant-collect{samples=3}"}, "calibration": {"mode": 0}}
    plan = make_plan(CompileOptions(compile_config=config))
    calls = plan.pipelines["quantize"].calls()
    assert [call.name for call in calls] == ["convert-mblt-to-quant", "quant-collect"]
    assert dict(calls[1].options)["samples"] == 3
    assert plan.notices == ("calibration.mode has no effect: no pass of the pipelines takes it",)
    assert plan.pipelines["lower"] == make_plan(CompileOptions()).pipelines["lower"]


def test_an_edited_pipeline_replaces_the_preset() -> None:
    plan = make_plan(CompileOptions(pipeline="convert-mblt-to-quant{method=1},quant-collect"))
    calls = plan.pipelines["quantize"].calls()
    assert [call.name for call in calls] == ["convert-mblt-to-quant", "quant-collect"]
    assert isinstance(calls[0], PassCall) and dict(calls[0].options)["method"] == 1
    assert not plan.pipelines["lower"].calls()


@pytest.mark.parametrize(
    ("text", "first", "phase"),
    [
        ("cse,convert-mblt-to-quant", "import", "import"),
        ("cse,convert-mblt-to-quant", "quantize", "quantize"),
        ("cse,convert-framework-to-mblt", "quantize", "import"),
        ("cse", "lower", "lower"),
        ("cse,npu-emit", "lower", "lower"),
    ],
)
def test_leading_passes_belong_to_the_run(text: str, first: str, phase: str) -> None:
    """Passes in front of the first conversion run, unless that conversion lies behind the input."""
    parts = split_by_phase(parse_pipeline(text), first)
    assert [name for name, part in parts.items() if any(call.name == "cse" for call in part.calls())] == [phase]
