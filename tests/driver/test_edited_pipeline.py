"""An edited pipeline text beside a configuration: what the text does not follow is told, key by key."""

from __future__ import annotations

from typing import Any

import pytest

from qbc.driver.plan import CompileOptions, make_plan

NORMALIZE = {"op": "normalize", "mean": [0.5], "std": [0.25], "scaleToUint8": True, "fuseIntoFirstLayer": True}
CONFIG: dict[str, Any] = {
    "inferenceScheme": "multi",
    "calibration": {"method": 1, "mode": 1, "maxPercentile": {"percentile": 0.99, "topkRatio": 0.05}},
    "bit": {"layerOverrides": {"activation16Bits": ["a", "b*"]}},
    "biasCorrection": {"attributes": {"excludeLayers": ["c"]}},
    "tuning": {"autoPromote": {"apply": False}, "outputMargin": 0.5},
    "uint8Input": {"apply": True},
    "preprocessing": {"apply": True, "pipeline": [NORMALIZE]},
    "extraOutput": {"apply": True, "layers": ["d"]},
}


def notices(text: str, config: dict[str, Any]) -> list[str]:
    options = CompileOptions(target="aries-rb", pipeline=text, compile_config=config)
    why = " has no effect: the pipeline text says otherwise"
    return [notice.removesuffix(why) for notice in make_plan(options).notices if notice.endswith(why)]


def test_the_printed_text_follows_its_configuration() -> None:
    text = make_plan(CompileOptions(target="aries-rb", compile_config=CONFIG)).text()
    assert notices(text, CONFIG) == []


@pytest.mark.parametrize(
    "config, keys",
    [
        ({"calibration": {"mode": 0}}, ["calibration.mode"]),
        ({"inferenceScheme": "all"}, ["inferenceScheme"]),
        ({"bit": {"layerOverrides": {"activation16Bits": ["x"]}}}, ["bit.layerOverrides.activation16Bits"]),
        ({"biasCorrection": {"apply": False}}, ["biasCorrection.apply"]),
        ({"tuning": {"autoPromote": {"apply": False}}}, ["tuning.autoPromote.apply"]),
        ({"uint8Input": {"apply": True}}, ["uint8Input"]),
        ({"preprocessing": {"apply": True, "pipeline": [NORMALIZE]}}, ["preprocessing"]),
        ({"extraOutput": {"apply": True, "layers": ["d"]}}, ["extraOutput"]),
        ({}, []),
    ],
)
def test_what_the_usual_text_does_not_follow(config: dict[str, Any], keys: list[str]) -> None:
    text = make_plan(CompileOptions(target="aries-rb")).text()
    assert notices(text, config) == keys


def test_parsing_is_not_concerned() -> None:
    text = make_plan(CompileOptions(), ("import", "convert")).text()
    options = CompileOptions(pipeline=text, compile_config={"calibration": {"mode": 0}})
    assert make_plan(options, ("import", "convert")).notices == ()
