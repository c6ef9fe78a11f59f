"""Presets and phases as data, and how configuration reaches options of passes."""

from __future__ import annotations

import pytest

from qbc.driver.plan import CompileOptions, make_plan
from qbc.errors import QBCompilerError
from qbc.pipelines.grammar import PassCall, PipelineError, parse_pipeline
from qbc.pipelines.phases import (
    PHASES,
    load_preset,
    merge,
    preset_names,
    split_by_phase,
    with_options,
    without_pass,
)
from qbc.pipelines.registry import complete


def test_presets_inherit_pipelines_and_merge_configuration() -> None:
    assert preset_names() == ("classification", "default", "detection")
    default, detection = load_preset("default"), load_preset("detection")
    assert detection.base == "default"
    assert detection.pipelines == default.pipelines
    assert set(default.pipelines) == set(PHASES)
    assert detection.config == {"calibration": {"mode": 1, "output": 1}}


def test_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(QBCompilerError, match="did you mean 'detection'"):
        load_preset("detections")


def test_merge_goes_key_by_key_and_replaces_lists() -> None:
    base = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    assert merge(base, {"a": {"y": [3]}, "c": 2}) == {"a": {"x": 1, "y": [3]}, "b": 1, "c": 2}
    assert base == {"a": {"x": 1, "y": [1, 2]}, "b": 1}


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
    plan = make_plan(CompileOptions(calibration_config=settings))
    calls = {call.name: dict(call.options) for call in plan.pipelines["quantize"].calls()}
    assert calls["convert-mblt-to-quant"]["method"] == 0
    assert calls["quant-group-scales"]["method"] == 0
    assert calls["quant-assign-ranges"]["mode"] == 2
    assert calls["quant-assign-ranges"]["percentile"] == 0.99


def test_a_setting_that_no_pass_takes_gives_a_notice() -> None:
    from qbc.config import pipeline_changes, resolve_config
    from qbc.pipelines.registry import option_infos, pass_class

    taken = any(
        info.name == option
        for name, option, _ in pipeline_changes(resolve_config({}, None))["calibration.output"]
        for info in option_infos(pass_class(name))
    )
    plan = make_plan(CompileOptions(calibration_config={"output": 1}))
    assert ("calibration.output has no effect in this version" in plan.notices) == (not taken)
    assert not make_plan(CompileOptions()).notices


def test_every_setting_reaches_a_pass_or_is_noted() -> None:
    changed = {"method": 1, "mode": 0, "output": 2, "maxPercentile": {"percentile": 0.9, "topkRatio": 0.2}}
    default, other = make_plan(CompileOptions()), make_plan(CompileOptions(calibration_config=changed))
    for field in ("method", "mode", "output"):
        only = make_plan(CompileOptions(calibration_config={field: changed[field]}))
        assert only.text() != default.text() or any(field in notice for notice in only.notices)
    assert other.text() != default.text()


def test_an_edited_pipeline_replaces_the_preset() -> None:
    plan = make_plan(CompileOptions(pipeline="convert-mblt-to-quant{method=1},quant-collect"))
    calls = plan.pipelines["quantize"].calls()
    assert [call.name for call in calls] == ["convert-mblt-to-quant", "quant-collect"]
    assert isinstance(calls[0], PassCall) and dict(calls[0].options)["method"] == 1
    assert not plan.pipelines["lower"].calls()
