"""Calibration paths that cannot serve are errors before the model is read, however long that would take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from qbcompiler.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that cannot be read, so whatever is told before was told before parsing; a picture in `pictures`."""
    (tmp_path / "model.onnx").write_text("no model")
    (tmp_path / "pictures").mkdir()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "pictures" / "a.jpg")
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    return tmp_path


def error(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    model, output = folder / "model.onnx", folder / "out.mxq"
    call = ["compile", "--model", model, "--output", output, "--target-device", "aries-rb", *arguments]
    assert main([str(part) for part in call]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("paths", [["nowhere"], ["x.npy", "nowhere"]])
def test_missing(folder: Path, paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    data = [part for path in paths for part in ("--calib-data-path", folder / path)]
    told = error(folder, capsys, *data)
    assert "ERROR [INVALID_CALIBRATION_DATA]" in told and "nowhere: no such file or directory" in told


@pytest.mark.parametrize("place", ["pictures", "pictures/a.jpg"])
def test_pictures_without_preprocessing(folder: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = error(folder, capsys, "--calib-data-path", folder / place)
    assert "ERROR [INVALID_CALIBRATION_DATA]" in told and "a.jpg: images need a preprocessing configuration" in told
    assert "--config-preset" in told and "--compile-config" in told and "docs/calibration.md" in told


def test_what_may_serve_is_left_to_the_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.yaml").write_text("uint8Input: {apply: true}\n")
    config = ["--compile-config", folder / "c.yaml"]
    preset = ["--config-preset", "classification_torchvision"]
    for data, more in (("x.npy", []), ("pictures", preset), ("pictures", config)):
        assert "ERROR [INVALID_MODEL]" in error(folder, capsys, "--calib-data-path", folder / data, *more)
