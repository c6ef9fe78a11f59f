"""Wrong names of layers and inputs are told by the configuration key that brought them, or by the pass option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbc.driver.compile import compile_model
from qbc.driver.plan import CompileOptions, make_plan
from qbc.errors import OptionError, QBCompilerError
from qbcompiler.demo import digits_model_path

SAMPLES = [np.zeros((1, 1, 8, 8), np.float32), np.ones((1, 1, 8, 8), np.float32)]
FUSED = [{"op": "normalize", "fuseIntoFirstLayer": True}]


@pytest.mark.parametrize(
    "config, message, code",
    [
        (
            {"bit": {"layerOverrides": {"activation16Bits": ["block1_conv"]}}},
            "bit.layerOverrides.activation16Bits: 'block1_conv' is the name of no layer",
            "ARGUMENT_ERROR",
        ),
        (
            {"biasCorrection": {"attributes": {"applyLayers": ["classifer"]}}},
            "biasCorrection.attributes.applyLayers: 'classifer' is the name of no layer",
            "ARGUMENT_ERROR",
        ),
        (
            {"biasCorrection": {"attributes": {"excludeLayers": ["x*"]}}},
            "biasCorrection.attributes.excludeLayers: 'x*' matches no layer",
            "ARGUMENT_ERROR",
        ),
        (
            {"extraOutput": {"apply": True, "layers": ["nosuch"]}},
            "extraOutput.layers: 'nosuch' is the name of no layer",
            "ARGUMENT_ERROR",
        ),
        (
            {"bit": {"layerOverrides": {"weight8Bits": ["block1_conv"]}}},
            "bit.layerOverrides.weight8Bits: 'block1_conv' is the name of no layer",
            "ARGUMENT_ERROR",
        ),
        (
            {"saveSample": {"apply": True, "layers": ["nosuch"]}},
            "saveSample.layers: 'nosuch' is the name of no layer",
            "ARGUMENT_ERROR",
        ),
        (
            {"uint8Input": {"apply": True, "inputs": ["imge"]}},
            "uint8Input.inputs: 'imge' is no input of the model (did you mean 'image'?)",
            "CONFIG_ERROR",
        ),
        (
            {"preprocessing": {"apply": True, "inputConfigs": {"imge": {"pipeline": FUSED}}}},
            "preprocessing.inputConfigs: 'imge' is no input of the model (did you mean 'image'?)",
            "CONFIG_ERROR",
        ),
    ],
)
def test_the_key_of_the_configuration(config: dict[str, Any], message: str, code: str, tmp_path: Path) -> None:
    options = CompileOptions(target="aries-rb", calibration=SAMPLES, compile_config=config)
    with pytest.raises(QBCompilerError) as caught:
        compile_model(digits_model_path(), tmp_path / "a.mxq", options)
    assert str(caught.value).startswith(message)
    assert caught.value.code == code
    assert not (tmp_path / "a.mxq").exists()


def test_the_pass_option_of_an_edited_pipeline(tmp_path: Path) -> None:
    config = {"bit": {"layerOverrides": {"activation16Bits": ["nosuch"]}}}
    text = make_plan(CompileOptions(target="aries-rb", compile_config=config)).text()
    options = CompileOptions(target="aries-rb", calibration=SAMPLES, pipeline=text, compile_config=config)
    with pytest.raises(OptionError, match="^activation16: 'nosuch' is the name of no layer") as caught:
        compile_model(digits_model_path(), tmp_path / "a.mxq", options)
    assert caught.value.pass_name == "quant-assign-bits"


def test_layers_whose_weights_have_8_bits_anyway_are_accepted(tmp_path: Path) -> None:
    config = {"bit": {"layerOverrides": {"weight8Bits": ["*"]}}}
    options = CompileOptions(target="aries-rb", calibration=SAMPLES, compile_config=config)
    result = compile_model(digits_model_path(), tmp_path / "a.mxq", options)
    assert any("weight8Bits" in notice and "without effect" in notice for notice in result.ctx.notices)
