"""The dtype of outputs follows the inputs: expected values come from the published encodings by plain arithmetic."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from qbcompiler.run import run_program
from qbcompiler.runtime import Accelerator, Model
from tests.support.npu_programs import MAX_POOL, ProgramBuilder

SCALE, ZERO_POINT = 0.5, -28
KEEP = {**MAX_POOL, "kernel": (1, 1), "strides": (1, 1)}
CODES = np.arange(-64, 64, dtype=np.int8).reshape(4, 8, 4)
VALUES = (CODES.astype(np.float64) - ZERO_POINT) * SCALE


def launched(path: Path, inputs: int = 1, scale: float = SCALE, dtype: str = "i8") -> Model:
    """Return a program of so many inputs, each of which becomes an output as it is."""
    builder = ProgramBuilder()
    for number in range(inputs):
        value, out = builder.value((1, 4, 8, 4), dtype), builder.value((1, 4, 8, 4), dtype)
        builder.input(value, scale, ZERO_POINT, name=f"x{number}")
        builder.output(out, scale, ZERO_POINT, name=f"y{number}")
        builder.command("max_pool2d", [value], out, KEEP)
    builder.save(path)
    model = Model(path)
    model.launch(Accelerator())
    return model


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", "longdouble"])
def test_floats(tmp_path: Path, dtype: str) -> None:
    model = launched(tmp_path / "m.mxq")
    x = VALUES.astype(dtype)
    for call, given in ((model.infer, x), (model.infer_hwc, x[None]), (model.infer_to_float, x)):
        (result,) = call(given)
        assert result.dtype == np.dtype(dtype).newbyteorder("=")
        assert np.array_equal(result.reshape(x.shape), VALUES)
    (chw,) = model.infer_chw(x.transpose(2, 0, 1))
    assert chw.dtype == np.dtype(dtype).newbyteorder("=")
    assert np.array_equal(chw, VALUES.transpose(2, 0, 1))
    batch = model.infer(np.stack([x, -x]))[0]
    assert (batch.shape, batch.dtype) == ((2, 4, 8, 4), np.dtype(dtype).newbyteorder("="))


def test_codes(tmp_path: Path) -> None:
    model = launched(tmp_path / "m.mxq")
    offset = (CODES.astype(np.int16) + 128).astype(np.uint8)
    for given in (CODES, offset):
        (result,) = model.infer(given)
        assert result.dtype == given.dtype
        assert np.array_equal(result, given)
        (floats,) = model.infer_to_float(given)
        assert floats.dtype == np.float32
        assert np.array_equal(floats, VALUES)
    target = [np.zeros_like(offset)]
    model.infer(offset, target)
    assert np.array_equal(target[0], offset)
    (result,) = launched(tmp_path / "wide.mxq", dtype="i16").infer(CODES.astype(np.int16))
    assert result.dtype == np.int16
    assert np.array_equal(result, CODES)


def test_several_inputs(tmp_path: Path) -> None:
    model = launched(tmp_path / "m.mxq", inputs=2)
    offset = (CODES.astype(np.int16) + 128).astype(np.uint8)
    pairs = (
        (VALUES.astype(np.float16), VALUES.astype(np.float32), "float32"),
        (VALUES.astype(np.float16), VALUES.astype(np.float16), "float16"),
        (VALUES.astype(np.float16), VALUES, "float64"),
        (CODES, VALUES.astype(np.float16), "float16"),
        (CODES, offset, "int8"),
        (offset, offset, "uint8"),
    )
    for first, second, dtype in pairs:
        results = model.infer([first, second])
        assert [result.dtype.name for result in results] == [dtype] * 2
        assert np.array_equal(*results)


def test_indices_do_not_count(tmp_path: Path) -> None:
    builder = ProgramBuilder()
    table, index, out = builder.value((1, 4, 3)), builder.value((2,), "i32"), builder.value((1, 2, 3))
    builder.input(table, SCALE, ZERO_POINT, name="table")
    builder.input(index, 1.0, 0, name="index")
    builder.output(out, SCALE, ZERO_POINT)
    builder.command("gather", [table, index], out, {"axis": 1})
    builder.save(tmp_path / "m.mxq")
    model = Model(tmp_path / "m.mxq")
    model.launch(Accelerator())
    codes = np.arange(12, dtype=np.int8).reshape(1, 4, 3)
    (result,) = model.infer([codes, np.array([3, 1])])
    assert result.dtype == np.int8
    assert np.array_equal(result, codes[:, [3, 1]])
    assert model.infer([codes.astype(np.float16), np.array([3, 1])])[0].dtype == np.float16


def test_what_float16_cannot_hold_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = launched(tmp_path / "m.mxq", scale=1000.0)
    x = np.full((4, 8, 4), 60000, np.float16)
    with caplog.at_level(logging.WARNING, "qbcompiler.runtime"):
        assert np.array_equal(model.infer(x)[0], x)
        assert not caplog.records
        x[0, 0, 0] = np.inf
        (result,) = model.infer(x)
        model.infer(x)
    assert np.isposinf(result[0, 0, 0])
    assert np.isfinite(result[1]).all()
    (record,) = caplog.records
    assert "output 'y0' holds values beyond float16" in record.getMessage()


def test_files_of_the_command(tmp_path: Path) -> None:
    launched(tmp_path / "m.mxq")
    for dtype in ("float16", "float64", "uint8"):
        np.save(tmp_path / "x.npy", np.zeros((4, 8, 4), dtype))
        assert run_program(str(tmp_path / "m.mxq"), [str(tmp_path / "x.npy")], tmp_path / "out", 1) == 0
        assert np.load(tmp_path / "out" / "y0.npy").dtype == dtype
