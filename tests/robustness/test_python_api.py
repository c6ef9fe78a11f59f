"""The Python interface raises QBCompilerError for every mistake, and leaves no file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbcompiler import QBCompilerError, mblt_compile, mxq_compile
from qbcompiler.runtime import Accelerator, Model
from tests.robustness.conftest import Files
from tests.robustness.zoo import SHAPE

GOOD = np.zeros(SHAPE, np.float32)
TARGET = {"target_device": "aries-rb"}


def cases(files: Files, directory: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Expected codes and arguments beside those that work."""
    return {
        "no such model": ("ARGUMENT_ERROR", {"model": str(directory / "nowhere.onnx")}),
        "a directory": ("ARGUMENT_ERROR", {"model": str(directory)}),
        "a path nobody has": ("ARGUMENT_ERROR", {"model": "x" * 5000 + ".onnx"}),
        "no data": ("NO_CALIBRATION_DATA", {"calib_data_path": None}),
        "no samples": ("NO_CALIBRATION_DATA", {"calib_data_path": []}),
        "nan": ("INVALID_CALIBRATION_DATA", {"calib_data_path": [GOOD * np.nan]}),
        "wrong shape": ("INVALID_CALIBRATION_DATA", {"calib_data_path": [GOOD[..., :3]]}),
        "wrong dtype": ("INVALID_CALIBRATION_DATA", {"calib_data_path": [GOOD.astype("c8")]}),
        "objects": ("INVALID_CALIBRATION_DATA", {"calib_data_path": [object()]}),
        "a number": ("ARGUMENT_ERROR", {"calib_data_path": 5}),
        "wrong name": ("INVALID_CALIBRATION_DATA", {"calib_data_path": [{"nope": GOOD}]}),
        "unknown target": ("TARGET_ERROR", {"target_device": "aries-xx"}),
        "no directory": ("OUTPUT_WRITE_ERROR", {"save_path": str(directory / "no" / "out.mxq")}),
        "output is a directory": ("OUTPUT_WRITE_ERROR", {"save_path": str(directory)}),
        "wrong feed": ("ARGUMENT_ERROR", {"feed_dict": {"nope": GOOD}}),
        "feed of another rank": ("SHAPE_ERROR", {"feed_dict": {"x": np.zeros(3, np.float32)}}),
    }


NAMES = tuple(cases(Files(*[Path()] * 4), Path()))


@pytest.mark.parametrize("name", NAMES)
def test_compile(files: Files, tmp_path: Path, name: str) -> None:
    code, changed = cases(files, tmp_path)[name]
    arguments = {"model": str(files.model), "save_path": str(tmp_path / "out.mxq"), "calib_data_path": [GOOD], **TARGET}
    with pytest.raises(QBCompilerError) as caught:
        mxq_compile(**{**arguments, **changed})
    assert caught.value.code == code
    assert os.listdir(tmp_path) == []


def test_parse(files: Files, tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    for model, output in (("bad.onnx", "out.mblt"), ("nowhere.onnx", "out.mblt"), (str(files.model), "no/out.mblt")):
        with pytest.raises(QBCompilerError):
            mblt_compile(str(tmp_path / model), str(tmp_path / output))
    assert os.listdir(tmp_path) == ["bad.onnx"]


def test_interruption(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a program that uses the interface arrives as an error with a code."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("qbc.driver.compile.run_pipeline", interrupted)
    with pytest.raises(QBCompilerError) as caught:
        mblt_compile(str(files.model), str(tmp_path / "out.mblt"))
    assert caught.value.code == "INTERRUPTED"
    assert os.listdir(tmp_path) == []


def test_runtime(files: Files, tmp_path: Path) -> None:
    (tmp_path / "bad.mxq").write_bytes(files.mxq.read_bytes()[:500])
    wrong: list[Callable[[], Any]] = [
        lambda: Model(str(tmp_path / "nowhere.mxq")),
        lambda: Model(str(tmp_path / "bad.mxq")),
        lambda: Model(str(tmp_path)),
    ]
    model = Model(str(files.mxq))
    model.launch(Accelerator())
    wrong += [
        lambda: model.infer([GOOD[..., :3]]),
        lambda: model.infer([]),
        lambda: model.infer([GOOD, GOOD]),
        lambda: model.infer([GOOD.astype("c8")]),
        lambda: model.infer([np.array([object()])]),
    ]
    for call in wrong:
        with pytest.raises(QBCompilerError):
            call()
    assert model.infer([GOOD])
