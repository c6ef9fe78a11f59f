"""What the driver takes from the configuration: paths, random calibration, what it writes, round trips of builds."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from qbcompiler import BitConfig, CompileConfig, QBCompilerError, mxq_compile
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

MODEL = str(digits_model_path())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    generator = np.random.default_rng(3)
    for index in range(3):
        np.save(directory / f"{index}.npy", generator.random((1, 1, 8, 8), dtype=np.float32))
    return directory


def test_paths_of_the_configuration_are_used(tmp_path: Path, data: Path) -> None:
    given, configured = tmp_path / "a.mxq", tmp_path / "b.mxq"
    mxq_compile(MODEL, "aries-rb", str(data), given)
    config = {"modelPaths": [MODEL], "calibDataPaths": [str(data)], "savePaths": [str(configured)]}
    mxq_compile(target_device="aries-rb", compile_config=config)
    assert configured.read_bytes() == given.read_bytes()
    (tmp_path / "c.json").write_text(json.dumps(config))
    configured.unlink()
    assert (
        main(["compile", "--compile-config", str(tmp_path / "c.json"), "--target-device", "aries-rb", "--quiet"]) == 0
    )
    assert configured.read_bytes() == given.read_bytes()


def test_arguments_go_before_the_paths_of_the_configuration(tmp_path: Path, data: Path) -> None:
    config = CompileConfig(model_paths=["none.onnx"], calib_data_path=["none"], save_paths=["none/x.mxq"])
    mxq_compile(MODEL, "aries-rb", str(data), tmp_path / "a.mxq", compile_config=config)
    mxq_compile(MODEL, "aries-rb", save_path=tmp_path / "b.mxq", compile_config=config, use_random_calib=True)
    assert (tmp_path / "a.mxq").read_bytes() != (tmp_path / "b.mxq").read_bytes()


def test_random_calibration_of_the_configuration(tmp_path: Path) -> None:
    mxq_compile(MODEL, "aries-rb", save_path=tmp_path / "a.mxq", use_random_calib=True)
    mxq_compile(MODEL, "aries-rb", save_path=tmp_path / "b.mxq", compile_config={"useRandomCalib": True})
    assert (tmp_path / "a.mxq").read_bytes() == (tmp_path / "b.mxq").read_bytes()


def test_no_model_anywhere() -> None:
    with pytest.raises(ValueError, match="no model is given"):
        mxq_compile(target_device="aries-rb", use_random_calib=True)


@pytest.mark.parametrize("name", ["c.yaml", "sub/c.json"])
def test_a_saved_configuration_gives_the_same_bytes(tmp_path: Path, data: Path, name: str) -> None:
    first, second = tmp_path / "a.mxq", tmp_path / "b.mxq"
    saved = tmp_path / name
    mxq_compile(
        MODEL, "aries-rb", str(data), first, config_preset="detection", bias_correction=False,
        calibration_config={"mode": 0}, inference_scheme="global4", config_save_path=saved,
    )  # fmt: skip
    mxq_compile(MODEL, "aries-rb", save_path=second, compile_config=saved)
    assert first.read_bytes() == second.read_bytes()
    text = saved.read_text()
    values = yaml.safe_load(text) if name.endswith("yaml") else json.loads(text)
    assert values["modelPaths"] == [MODEL] and values["calibDataPaths"] == [str(data)]
    assert values["savePaths"] == [str(first)]
    assert values["quantization"]["calibration"]["output"] == 1


def test_a_preset_with_pipelines_gives_the_same_bytes_from_its_saved_configuration(tmp_path: Path, data: Path) -> None:
    preset = tmp_path / "mine.yaml"
    text = "convert-mblt-to-quant,quant-assign-bits,quant-collect,quant-group-scales,quant-assign-ranges{mode=0},"
    text += "quant-insert-requant,quant-canonicalize,quant-materialize"
    preset.write_text(yaml.safe_dump({"config": {"calibration": {"method": 1}}, "pipelines": {"quantize": text}}))
    first, second, plain = tmp_path / "a.mxq", tmp_path / "b.mxq", tmp_path / "c.mxq"
    saved = tmp_path / "c.yaml"
    mxq_compile(MODEL, "aries-rb", str(data), first, config_preset=str(preset), config_save_path=saved)
    mxq_compile(MODEL, "aries-rb", save_path=second, compile_config=saved)
    mxq_compile(MODEL, "aries-rb", str(data), plain)
    assert first.read_bytes() == second.read_bytes() != plain.read_bytes()


def test_nothing_is_saved_when_parsing_fails(tmp_path: Path, data: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(QBCompilerError):
        mxq_compile(
            tmp_path / "bad.onnx", "aries-rb", str(data), tmp_path / "a.mxq", config_save_path=tmp_path / "c.json"
        )
    assert not (tmp_path / "c.json").exists()


def test_an_unwritable_configuration_path_is_named(tmp_path: Path, data: Path) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "c.json"
    with pytest.raises(QBCompilerError, match="c.json") as caught:
        mxq_compile(MODEL, "aries-rb", str(data), tmp_path / "a.mxq", config_save_path=target)
    assert caught.value.code == "OUTPUT_WRITE_ERROR"
    assert not (tmp_path / "a.mxq").exists()


def test_the_preset_wins_over_the_file_with_a_warning(
    tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        arguments: dict[str, Any] = {"config_preset": "classification", "compile_config": "none.yaml"}
        mxq_compile(MODEL, "aries-rb", str(data), tmp_path / "a.mxq", **arguments)
    assert any("none.yaml is not read" in record.getMessage() for record in caplog.records)


def test_widths_are_saved(tmp_path: Path, data: Path) -> None:
    """`bit.save_info.save_path` and `bit.layer_overrides.activation_16bits`."""
    widths = tmp_path / "bits.json"
    bits = BitConfig(
        save_info=BitConfig.SaveInfo(save_path=str(widths)), layer_overrides={"activation16Bits": ["block1/*"]}
    )
    mxq_compile(MODEL, "aries-rb", str(data), tmp_path / "a.mxq", bit_config=bits)
    layers = json.loads(widths.read_text())["layers"]
    wide = {name for name, text in layers.items() if "16" in text}
    assert any("block1/conv" in name for name in wide)
    assert not any("stem/conv" in name for name in wide)


def test_the_default_output_is_the_one_of_the_configuration(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["compile", "--model", MODEL, "--target-device", "aries-rb", "--calib-data-path", str(data), "--quiet"]
    assert main(arguments) == 0
    written = (tmp_path / "tmp.mxq").read_bytes()
    (tmp_path / "tmp.mxq").unlink()
    mxq_compile(MODEL, "aries-rb", str(data))
    assert (tmp_path / "tmp.mxq").read_bytes() == written


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"modelPaths": [MODEL, MODEL]}, "modelPaths of the configuration names 2 files"),
        ({"modelPaths": []}, "no model is given"),
        ({"modelPaths": [""]}, "no model is given"),
        ({"modelPaths": [MODEL], "savePaths": ["a.mxq", "b.mxq"]}, "savePaths of the configuration names 2 files"),
        ({"modelPaths": [MODEL], "savePaths": []}, "no output is given"),
    ],
)
def test_one_model_and_one_output(
    config: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text(json.dumps(config))
    assert main(["compile", "--compile-config", str(tmp_path / "c.json"), "--use-random-calib"]) == 1
    assert message in capsys.readouterr().err
    with pytest.raises(ValueError, match=message):
        mxq_compile(target_device="aries-rb", compile_config=config, use_random_calib=True)


@pytest.mark.parametrize(
    "key",
    [
        "modelPaths",
        "calibDataPaths",
        "savePaths",
        "calibration.statistics.savePath",
        "calibration.statistics.loadPath",
        "bit.saveInfo.savePath",
        "saveSample.savePath",
    ],
)
def test_a_path_with_nul_is_an_error_that_names_the_key(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value: Any = ["a\0b"] if key.endswith("Paths") else "a\0b"
    for part in reversed(key.split(".")):
        value = {part: value}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(value))
    given = ["--compile-config", str(tmp_path / "c.yaml"), "--use-random-calib", "--quiet"]
    assert main(["compile", "--model", MODEL, "--output", str(tmp_path / "m.mxq"), *given]) == 1
    errors = capsys.readouterr().err
    assert "ERROR [CONFIG_ERROR]" in errors and key in errors and "NUL" in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.yaml"]
