"""Precedence of the sources of settings, and equality of all ways to say the same (property tests)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qbc.config import CalibrationConfig, CompileConfig
from qbc.config.resolve import Request, resolve
from qbc.config.section import ConfigSection, section_class
from qbc.driver.plan import CompileOptions, make_plan
from qbc.errors import QBCompilerError
from qbcompiler.configs import get_preset


def test_precedence() -> None:
    preset = {"calibration": {"mode": 0, "method": 1, "tieRatio": 1.1}, "bufferMode": 5}
    own = {"quantization": {"calibration": {"mode": 2, "method": 1}}}

    def mode(**sources: Any) -> int:
        return resolve(Request(**sources)).config.calibration.mode

    assert mode() == 1
    assert mode(config=preset) == 0
    assert mode(presets=[preset], preset_name="p", config=own) == 0
    assert mode(presets=[preset, own], preset_name="p") == 2
    assert mode(presets=[preset], preset_name="p", sections={"calibration": CalibrationConfig(mode=2)}) == 2
    assert mode(presets=[preset], preset_name="p", sections={"calibration": CalibrationConfig(method=0)}) == 0
    arguments = {"calibration": {"mode": 1}}
    assert mode(config=preset, sections={"calibration": {"mode": 2}}, arguments=arguments) == 1


def test_untouched_fields_of_a_section_keep_the_preset() -> None:
    preset = {"calibration": {"maxPercentile": {"percentile": 0.99, "topkRatio": 0.5}}}
    section = CalibrationConfig()
    section.max_percentile.percentile = 0.9
    config = resolve(Request(presets=[preset], preset_name="p", sections={"calibration": section})).config
    assert config.calibration.max_percentile.percentile == 0.9
    assert config.calibration.max_percentile.topk_ratio == 0.5


def test_warnings_of_files_become_notices(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("resourceManagement: {useGPUOnlyForCalibration: true}\ncalibration: {clusteringMethods: 1}\n")
    notices = resolve(Request(config=path)).notices
    assert len(notices) == 2
    assert any("useGPUOnlyForCalibration" in text for text in notices)


@pytest.mark.parametrize("name", ["classification_torchvision", "yolo_640", "llm_fast", "vision_transformer"])
def test_presets_as_objects(name: str) -> None:
    config = get_preset(name)
    dumped = config.model_dump(by_alias=True, exclude_none=True)
    assert CompileConfig.model_validate(dumped) == config == CompileConfig.from_preset(name)


def test_what_presets_say() -> None:
    vision = get_preset("classification_torchvision")
    assert vision.uint8_input.apply and vision.preprocessing.auto_convert_format and vision.image_channels == 3
    assert [op.op for op in vision.preprocessing.pipeline] == ["resize", "centerCrop", "normalize"]
    assert (vision.calibration.mode, vision.calibration.output) == (1, 0)
    assert get_preset("yolo_1280").calibration.output == 1
    assert get_preset("llm").equivalent_transformation.spin_r1.apply
    assert not get_preset("llm_fast").equivalent_transformation.spin_r1.apply
    assert get_preset("llm_fast").llm.attributes.max_cache_length == 4096
    assert get_preset("vision_transformer").bit.transformer.activation.ffn.gate == 16
    assert get_preset("multimodal").calibration.method == 3


def test_the_hint_of_a_refusal_names_the_preset_only_where_it_is_the_cause() -> None:
    with pytest.raises(QBCompilerError) as caught:
        make_plan(CompileOptions(preset="llm"))
    assert caught.value.hint == "choose another preset than 'llm'"
    with pytest.raises(QBCompilerError) as caught:
        make_plan(CompileOptions(preset="detection", arguments={"cpu_offload": True}))
    assert caught.value.hint == "leave cpuOffload at its default"


# --- every way to say the same -----------------------------------------------------------------------------------

CALIBRATION = st.fixed_dictionaries(
    {},
    optional={
        "method": st.sampled_from([0, 1, 2, 3]),
        "mode": st.sampled_from([0, 1, 2]),
        "output": st.sampled_from([0, 1, 2]),
        "tie_ratio": st.sampled_from([1.0, 1.25, 2.5]),
        "max_percentile": st.fixed_dictionaries(
            {}, optional={"percentile": st.sampled_from([0.9, 0.999]), "topk_ratio": st.sampled_from([0.02, 0.5])}
        ),
    },
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "calibration": CALIBRATION,
        "bias_correction": st.fixed_dictionaries({"apply": st.booleans()}),
        "bit": st.fixed_dictionaries(
            {"layer_overrides": st.fixed_dictionaries({"activation_16bits": st.lists(st.sampled_from("abc"))})}
        ),
        "buffer_mode": st.integers(0, 3),
        "inference_scheme": st.sampled_from(["single", "global4", "all"]),
    },
)


def camel(cls: type[ConfigSection], values: dict[str, Any]) -> dict[str, Any]:
    """Return `values` in the spelling of files."""
    result = {}
    for name, value in values.items():
        inner = section_class(cls, name)
        result[str(cls.model_fields[name].alias)] = value if inner is None else camel(inner, value)
    return result


def in_groups(values: dict[str, Any]) -> dict[str, Any]:
    """Move sections into their groups."""
    grouped = dict(values)
    if "calibration" in grouped:
        grouped.setdefault("quantization", {})["calibration"] = grouped.pop("calibration")
    if "bit" in grouped:
        grouped.setdefault("quantization", {})["bit"] = grouped.pop("bit")
    if "biasCorrection" in grouped:
        grouped["advancedQuantization"] = {"biasCorrection": grouped.pop("biasCorrection")}
    return grouped


def as_objects(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return sections as objects and the other settings."""
    sections = {}
    for name, value in values.items():
        cls = section_class(CompileConfig, name)
        if cls is not None:
            sections[name] = cls.model_validate(value)
    return sections, {name: value for name, value in values.items() if name not in sections}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SETTINGS)
def test_all_ways_to_say_the_same(tmp_path: Path, values: dict[str, Any]) -> None:
    flat = camel(CompileConfig, values)
    sections, rest = as_objects(values)
    (tmp_path / "flat.json").write_text(json.dumps(flat))
    (tmp_path / "flat.yaml").write_text(yaml.safe_dump(flat))
    (tmp_path / "grouped.json").write_text(json.dumps(in_groups(flat)))
    (tmp_path / "snake.yml").write_text(yaml.safe_dump(values))
    ways = [
        CompileOptions(compile_config=tmp_path / name)
        for name in ("flat.json", "flat.yaml", "grouped.json", "snake.yml")
    ]
    ways += [
        CompileOptions(compile_config=flat),
        CompileOptions(compile_config=CompileConfig.model_validate(flat)),
        CompileOptions(arguments=values),
        CompileOptions(sections=sections, arguments=rest),
        CompileOptions(sections=values),
    ]
    first, *others = [make_plan(way) for way in ways]
    for other in others:
        assert other.text() == first.text()
        assert other.config_dict() == first.config_dict()
    again = make_plan(CompileOptions(compile_config=first.config_dict()))
    assert (again.text(), again.config_dict()) == (first.text(), first.config_dict())
