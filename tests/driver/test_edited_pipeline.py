"""An edited pipeline text beside a configuration: what the text does not follow is told, key by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbc.driver.compile import compile_model, parse, quantize
from qbc.driver.plan import CompileOptions, make_plan
from qbc.errors import QBCompilerError
from qbcompiler.demo import digits_model_path

NORMALIZE = {"op": "normalize", "mean": [0.5], "std": [0.25], "scaleToUint8": True, "fuseIntoFirstLayer": True}
SAMPLES = np.random.default_rng(0).integers(0, 256, (2, 1, 8, 8), dtype=np.uint8)
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


def compiled(output: Path, **options: Any) -> bytes:
    values = {"target": "aries-rb", "calibration": SAMPLES, **options}
    compile_model(digits_model_path(), output, CompileOptions(**values))
    return output.read_bytes()


def test_a_saved_configuration_holds_the_edited_text(tmp_path: Path) -> None:
    """Given again it makes the same bytes, in one step and in two; settings that the text overrules stay overruled."""
    config = {"calibration": {"mode": 2}, "uint8Input": {"apply": True}, "biasCorrection": {"apply": False}}
    usual = make_plan(CompileOptions(target="aries-rb", compile_config=config)).text()
    text = usual.replace("quant-assign-ranges{mode=2", "quant-assign-ranges{mode=0")
    assert text != usual
    saved = tmp_path / "saved.yaml"
    first = compiled(tmp_path / "a.mxq", compile_config=config, pipeline=text, config_save_path=saved)
    assert first != compiled(tmp_path / "b.mxq", compile_config=config)
    assert compiled(tmp_path / "c.mxq", compile_config=saved) == first
    parse(digits_model_path(), tmp_path / "m.mblt", CompileOptions(compile_config=saved))
    quantize(
        tmp_path / "m.mblt", tmp_path / "d.mxq", CompileOptions("aries-rb", calibration=SAMPLES, compile_config=saved)
    )
    assert (tmp_path / "d.mxq").read_bytes() == first


def test_the_argument_goes_before_the_text_of_the_configuration() -> None:
    usual = make_plan(CompileOptions()).text()
    config = {"passPipeline": usual.replace("quant-assign-ranges{mode=1", "quant-assign-ranges{mode=0")}
    assert "quant-assign-ranges{mode=0" in make_plan(CompileOptions(compile_config=config)).text()
    assert make_plan(CompileOptions(compile_config=config, pipeline=usual)).text() == usual


def test_parsing_takes_its_part_of_a_configured_text() -> None:
    usual = make_plan(CompileOptions()).text()
    config = {"passPipeline": usual.replace("mblt-fuse-gelu,", "")}
    assert "mblt-fuse-gelu" not in make_plan(CompileOptions(compile_config=config), ("import", "convert")).text()
    with pytest.raises(QBCompilerError, match="comes after the phase 'convert'"):
        make_plan(CompileOptions(pipeline=usual), ("import", "convert"))
