"""What infer and run decide about inputs is told once: the layout where two fit, what NaN becomes, codes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbcompiler.run import run_program
from qbcompiler.runtime import Accelerator, Model
from tests.support.npu_programs import MAX_POOL, ProgramBuilder


def saved(path: Path, size: int) -> Path:
    """Write a program that takes [1, size, size, size] and keeps it as it is (pooling windows of one)."""
    builder = ProgramBuilder()
    image, out = builder.value((1, size, size, size)), builder.value((1, size, size, size))
    builder.input(image, 1.0, 0)
    builder.output(out, 1.0, 0)
    builder.command("max_pool2d", [image], out, {**MAX_POOL, "kernel": (1, 1), "strides": (1, 1)})
    builder.save(path)
    return path


def launched(path: Path) -> Model:
    model = Model(path)
    model.launch(Accelerator())
    return model


def test_layout_that_the_shape_does_not_tell(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = launched(saved(tmp_path / "m.mxq", 3))
    x = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
    with caplog.at_level(logging.WARNING, "qbcompiler.runtime"):
        model.infer_chw(x)
        model.infer_hwc(x)
        assert not caplog.records
        model.infer(x)
        model.infer(x)
    (record,) = caplog.records
    assert "shape [3, 3, 3] fits both layouts, it is read as channel-last" in record.getMessage()


def test_a_single_number_has_no_layout(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    launched(saved(tmp_path / "m.mxq", 1)).infer(np.zeros((1, 1, 1), np.float32))
    assert not caplog.records


def test_nan_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = launched(saved(tmp_path / "m.mxq", 3))
    x = np.full((3, 3, 3), 7, np.float32)
    x[1, 1, 1] = np.nan
    with caplog.at_level(logging.WARNING, "qbcompiler.runtime"):
        (result,) = model.infer_hwc(x)
        model.infer_hwc(x)
    assert result[1, 1, 1] == 0
    assert [record.getMessage() for record in caplog.records] == ["input 'x' holds NaN, which is read as 0"]


@pytest.mark.parametrize(("dtype", "meaning"), [("uint8", "codes + 128"), ("int8", "codes")])
def test_integers_for_a_float_input(dtype: str, meaning: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = launched(saved(tmp_path / "m.mxq", 2))
    with caplog.at_level(logging.WARNING, "qbcompiler.runtime"):
        for _ in range(2):
            model.infer_hwc(np.full((2, 2, 2), 5, dtype))
    (record,) = caplog.records
    assert f"input 'x': {dtype} values are read as {meaning} of the program, not as pixels" in record.getMessage()


def run(path: Path, array: np.ndarray[Any, Any], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    np.save(path.parent / "x.npy", array)
    run_program(str(path), [str(path.parent / "x.npy")], path.parent, 2)
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_run_tells_on_the_console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "m.mxq", 3)
    _, told = run(path, np.full((1, 3, 3, 3), np.nan, np.float32), capsys)
    assert told.count("notice: input 'x' holds NaN") == 1
    _, told = run(path, np.full((1, 3, 3, 3), 200, np.uint8), capsys)
    assert "notice: input 'x': uint8 values are read as codes + 128 of the program, not as pixels" in told
    assert np.load(tmp_path / "y.npy").max() == 200
    _, told = run(path, np.full((1, 3, 3, 3), 5, np.int8), capsys)
    assert "int8 values are read as codes of the program" in told


def test_run_takes_a_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "m.mxq", 2)
    batch = np.arange(32, dtype=np.float32).reshape(4, 2, 2, 2)
    shown, _ = run(path, batch, capsys)
    assert "4x2x2x2" in shown
    assert np.array_equal(np.load(tmp_path / "y.npy"), batch)
