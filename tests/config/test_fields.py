"""A walk over the schema: every field has an effect that a test shows, is noted, or is refused."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from qbc.config import CompileConfig
from qbc.config.fields import TREATMENTS, check_features, is_active, key_of, leaves, treatment, value_at
from qbc.driver.plan import PARSE_PHASES, QUANTIZE_PHASES, CompileOptions, make_plan
from qbc.driver.scheme import SCHEMES
from qbc.errors import QBCompilerError
from qbc.pipelines.phases import PHASES
from qbc.pipelines.registry import option_infos, pass_class
from qbcompiler.parser import PHASE_NAMES

ROOT = Path(__file__).parents[2]
LEAVES = dict(leaves())
BY_KIND = {
    kind: [path for path in LEAVES if treatment(path).kind == kind]
    for kind in ("option", "driver", "notice", "refused")
}

# Where the effects of fields that steer the driver are tested.
TESTED_IN = {
    "model_paths": "tests/config/test_paths.py",
    "calib_data_path": "tests/config/test_paths.py",
    "save_paths": "tests/config/test_paths.py",
    "use_random_calib": "tests/config/test_paths.py",
    "device": "tests/api/*.py",
    "inference_scheme": "tests/driver/test_scheme.py",
    "config_version": "tests/config/test_sections.py",
    "image_channels": "tests/calibration/*.py",
    "preprocessing": "tests/calibration/*.py",
    "uint8_input": "tests/api/*.py",
    "save_sample": "tests/api/test_save_sample.py",
    "extra_output": "tests/api/test_extra_outputs.py",
    "calibration.statistics": "tests/api/test_statistics.py",
    "bit.save_info.save_path": "tests/config/test_paths.py",
    "bias_correction.apply": "tests/config/test_fields.py",
    "tuning.auto_promote.apply": "tests/config/test_fields.py",
    "pipelines": "tests/pipelines/test_phases.py",
    "pass_pipeline": "tests/driver/test_edited_pipeline.py",
    "origin": "tests/driver/test_provenance.py",
}


def other_values(info: FieldInfo) -> list[Any]:
    """Return candidates for a value that is not the default."""
    found: list[Any] = [
        True,
        False,
        9999,
        0,
        1,
        2,
        3,
        4,
        8,
        16,
        0.03,
        0.3,
        0.7,
        1.7,
        "x",
        ["x"],
        [1],
        [0.5],
        [{"op": "x"}],
    ]
    found += [{"x": 1}, {"x": "y"}, {"quantize": "x"}, {"x": 0.5}, ["float", "integer"], [{"layer": "x"}]]
    stack = [info.annotation, *info.metadata]
    while stack:
        kind = stack.pop()
        if typing.get_origin(kind) is typing.Literal:
            found += typing.get_args(kind)
        stack.extend(item for item in typing.get_args(kind) if not isinstance(item, str | int))
    return found


def changed(path: str) -> CompileConfig:
    """Return a configuration with one field changed and the sections around it switched on."""
    *parents, last = path.split(".")
    for value in other_values(LEAVES[path]):
        config = CompileConfig()
        section: Any = config
        for part in parents:
            section = getattr(section, part)
            if last != "apply" and "apply" in type(section).model_fields:
                section.apply = True
        try:
            setattr(section, last, value)
        except ValueError:
            continue
        if value_at(config, path) != value_at(CompileConfig(), path):
            return config
    raise AssertionError(f"no other value for {path}")


def test_every_field_has_a_treatment_and_every_treatment_a_field() -> None:
    for path in LEAVES:
        assert treatment(path).text
    for prefix in TREATMENTS:
        assert any(path == prefix or path.startswith(f"{prefix}.") for path in LEAVES), prefix
    assert sum(len(paths) for paths in BY_KIND.values()) == len(LEAVES) > 200


def test_choices_are_those_of_the_compiler() -> None:
    """Names that stand in the schema, or in the command line for a quick start, and in the compiler."""
    assert typing.get_args(LEAVES["inference_scheme"].annotation) == SCHEMES
    phases, _ = typing.get_args(LEAVES["pipelines"].annotation)
    assert typing.get_args(phases) == PHASES == PHASE_NAMES == (*PARSE_PHASES, *QUANTIZE_PHASES)


@pytest.mark.parametrize("path", BY_KIND["refused"])
def test_refused_fields_are_named(path: str) -> None:
    with pytest.raises(QBCompilerError) as caught:
        check_features(changed(path))
    assert caught.value.code == "UNSUPPORTED_FEATURE"
    top = key_of(path).split(".")[0]
    assert key_of(path) in caught.value.message or f"{top}.apply" in caught.value.message


@pytest.mark.parametrize("path", BY_KIND["notice"])
def test_noted_fields_are_named_in_one_notice(path: str) -> None:
    (notice,) = check_features(changed(path))
    assert notice.startswith("accepted without effect: ") and key_of(path) in notice


@pytest.mark.parametrize("path", BY_KIND["option"])
def test_option_fields_reach_their_passes(path: str) -> None:
    config = changed(path)
    value = value_at(config, path)
    plan = make_plan(CompileOptions(compile_config=config))
    calls = {call.name: dict(call.options) for pipeline in plan.pipelines.values() for call in pipeline.calls()}
    for name, option in treatment(path).options:
        assert calls[name][option] == (tuple(value) if isinstance(value, list) else value)
    assert plan.text() != make_plan(CompileOptions()).text()


@pytest.mark.parametrize("path", BY_KIND["option"])
def test_defaults_are_those_of_the_passes(path: str) -> None:
    default = value_at(CompileConfig(), path)
    for name, option in treatment(path).options:
        (info,) = [info for info in option_infos(pass_class(name)) if info.name == option]
        assert info.default == (tuple(default) if isinstance(default, list) else default), (name, option)


@pytest.mark.parametrize("path", BY_KIND["driver"])
def test_driver_fields_have_a_test(path: str) -> None:
    (prefix,) = [prefix for prefix in TESTED_IN if path == prefix or path.startswith(f"{prefix}.")]
    text = "".join(path.read_text() for path in ROOT.glob(TESTED_IN[prefix]))
    names = (path.rsplit(".", 1)[-1], key_of(path).rsplit(".", 1)[-1])
    assert any(name in text for name in names), path


def test_switches_leave_passes_out() -> None:
    def names(config: dict[str, Any]) -> set[str]:
        plan = make_plan(CompileOptions(compile_config=config))
        return {call.name for pipeline in plan.pipelines.values() for call in pipeline.calls()}

    whole = names({})
    assert whole - names({"biasCorrection": {"apply": False}}) == {"quant-bias-correction"}
    assert whole - names({"tuning": {"autoPromote": {"apply": False}}}) == {"quant-promote-16"}


def test_fields_of_a_section_that_is_off_are_noted() -> None:
    config = CompileConfig.model_validate({"hessianQuant": {"solver": "asymmetric_refit"}})
    assert not is_active(config, "hessian_quant.solver")
    (notice,) = check_features(config)
    assert "hessianQuant.solver (its section is switched off by apply)" in notice
