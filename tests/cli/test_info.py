"""`info` of an executable shows what it takes and gives, not what its source model did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path
from qbcompiler.records import record_text
from qbcompiler.runtime import Model


def compiled(folder: Path, capsys: pytest.CaptureFixture[str], config: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the data and the text of `info` for the digits network under a configuration."""
    pixels = np.random.default_rng(0).integers(0, 256, (4, 1, 1, 8, 8))
    is_uint8 = "uint8Input" in config
    np.save(folder / "samples.npy", pixels.astype(np.uint8) if is_uint8 else (pixels / 255).astype(np.float32))
    (folder / "c.json").write_text(json.dumps(config))
    call = ["compile", "--model", str(digits_model_path()), "--output", str(folder / "a.mxq"), "--quiet"]
    call += ["--target-device", "aries-rb", "--calib-data-path", str(folder / "samples.npy")]
    assert main([*call, "--compile-config", str(folder / "c.json")]) == 0
    capsys.readouterr()
    assert main(["info", "--json", str(folder / "a.mxq")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert main(["info", str(folder / "a.mxq")]) == 0
    return data, capsys.readouterr().out


def test_an_input_of_pixels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pixels are uint8, 8 x 8 x 1, and stand for 0..1: one step is 1/255, the code of 0 is -128."""
    data, text = compiled(tmp_path, capsys, {"uint8Input": {"apply": True}})
    (taken,), (given,) = data["inputs"], data["outputs"]
    assert taken["scales"] == pytest.approx([1 / 255])
    assert taken | {"scales": []} == {
        "name": "image",
        "shape": [8, 8, 1],
        "dtype": "uint8",
        "codes": "int8",
        "scales": [],
        "zero_point": -128,
    }
    assert (given["name"], given["shape"], given["dtype"], len(given["scales"])) == ("logits", [10], "float32", 1)
    assert "takes         image: uint8 8x8x1, codes int8, scale 0.00392156" in text
    assert "gives         logits: float32 10, codes int8" in text
    assert "source input  image 1x1x8x8 f32" in text


def test_a_float_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, text = compiled(tmp_path, capsys, {})
    model = Model(tmp_path / "a.mxq")
    (taken,), (given,) = data["inputs"], data["outputs"]
    assert (taken["dtype"], taken["shape"]) == ("float32", list(model.get_model_input_shape()[0]))
    assert given["scales"] == model.get_output_scale()[0].scale_list
    assert "takes         image: float32 8x8x1, codes int8, scale" in text


def test_text_of_other_values() -> None:
    """Scales of channels are counted, integers have none."""
    row = {"name": "y", "shape": [4, 2], "dtype": "float32", "codes": "int16", "scales": [0.5, 0.25], "zero_point": 0}
    index = {"name": "i", "shape": [], "dtype": "int32", "codes": "int32", "scales": [1.0], "zero_point": 0}
    text = record_text(".mxq", 1, None, {"inputs": [index], "outputs": [row]})
    assert "takes   i: int32 a number, integers as they are\n" in text
    assert "gives   y: float32 4x2, codes int16, 2 scales up to 0.5, zero point 0" in text


def test_a_graph_has_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--model", str(digits_model_path()), "--output", str(tmp_path / "a.mblt"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["info", str(tmp_path / "a.mblt")]) == 0
    assert "takes" not in capsys.readouterr().out
    assert main(["info", "--json", str(tmp_path / "a.mblt")]) == 0
    assert not {"inputs", "outputs"} & set(json.loads(capsys.readouterr().out))
