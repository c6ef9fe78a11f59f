"""Wrong calibration samples and run inputs: one error that names the file, what fits, what was found, and the way."""

from __future__ import annotations

import io
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.robustness.conftest import Fails, Files
from tests.robustness.zoo import SHAPE

GOOD = np.random.default_rng(3).standard_normal(SHAPE).astype(np.float32)


class Bomb:
    """Unpickling makes a file: a sample that was loaded would leave it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def calibrate(fails: Fails, files: Files, data: Path, output: Path) -> str:
    arguments = ["--target-device", "aries-rb", "--calib-data-path", data, "--output", output]
    error = fails("quantize", "--mblt", files.mblt, *arguments)
    assert not output.exists()
    return error


BAD_ARRAYS = {
    "transposed": (GOOD.transpose(3, 2, 1, 0), r"found \[16, 16, 3, 1\].*transpose the sample with axes"),
    "channels first without batch, turned": (GOOD[0].transpose(1, 0, 2), r"found \[16, 3, 16\].*transpose .* axes"),
    "other size": (np.zeros((1, 3, 17, 16), np.float32), r"expects shape \[1, 16, 16, 3\].*found \[1, 3, 17, 16\]"),
    "other channels": (np.zeros((1, 1, 16, 16), np.float32), r"found \[1, 1, 16, 16\]"),
    "flat": (GOOD.reshape(-1), r"found \[768\]"),
    "scalar": (np.float32(3), r"found \[\]"),
    "empty": (np.zeros((0, 3, 16, 16), np.float32), "empty|no sample"),
    "complex": (GOOD.astype(np.complex64), "expects float32, found complex64"),
    "text": (np.full(SHAPE, "a"), "expects float32, found <U1"),
    "times": (np.zeros(SHAPE, "M8[s]"), "expects float32, found datetime64"),
    "records": (np.zeros(SHAPE, [("a", "<f4")]), "expects float32, found"),
    "nan": (np.where(np.arange(768).reshape(SHAPE) == 5, np.nan, GOOD), r"holds nan at index \[0, 0, 5, 0\]"),
    "inf": (np.where(np.arange(768).reshape(SHAPE) == 5, np.inf, GOOD), r"holds inf at index \[0, 0, 5, 0\]"),
    "beyond float32": (GOOD.astype(np.float64) * 1e300, "holds -?inf"),
}


@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_calibration_arrays(files: Files, fails: Fails, tmp_path: Path, kind: str) -> None:
    array, message = BAD_ARRAYS[kind]
    samples = tmp_path / "samples"
    samples.mkdir()
    np.save(samples / "0.npy", GOOD)
    np.save(samples / "wrong.npy", array)
    error = calibrate(fails, files, samples, tmp_path / "out.mxq")
    assert re.match(r"ERROR \[(INVALID|NO)_CALIBRATION_DATA\]", error)
    assert "wrong.npy" in error
    assert re.search(message, error), error


@pytest.mark.parametrize("kind", ["no bytes", "text", "cut", "pickle", "pickled array", "huge claim", "zip of nothing"])
def test_calibration_files(files: Files, fails: Fails, tmp_path: Path, kind: str) -> None:
    samples = tmp_path / "samples"
    samples.mkdir()
    np.save(samples / "0.npy", GOOD)
    trace = tmp_path / "loaded"
    whole = (samples / "0.npy").read_bytes()
    pickled = io.BytesIO()
    np.save(pickled, np.array([Bomb(trace)], dtype=object), allow_pickle=True)
    content = {
        "no bytes": b"",
        "text": b"not an array\n" * 9,
        "cut": whole[:200],
        "pickle": pickle.dumps(Bomb(trace)),
        "pickled array": pickled.getvalue(),
        "huge claim": whole.replace(b"(1, 3, 16, 16)", b"(1<<40,)      ").replace(
            b"(1<<40,)", b"(999999999999999,)"[:8]
        ),
        "zip of nothing": b"PK\x05\x06" + bytes(18),
    }[kind]
    (samples / "wrong.npy").write_bytes(content)
    error = calibrate(fails, files, samples, tmp_path / "out.mxq")
    assert error.startswith("ERROR [INVALID_CALIBRATION_DATA]") and "wrong.npy" in error
    assert not trace.exists()


def test_archives_are_bounded(files: Files, fails: Fails, tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 3, 16, 16)}
    )
    samples = tmp_path / "samples"
    samples.mkdir()
    with zipfile.ZipFile(samples / "claims.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(1 << 16))
    assert "claims.npz" in calibrate(fails, files, samples, tmp_path / "out.mxq")


def test_directories(files: Files, fails: Fails, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert calibrate(fails, files, empty, tmp_path / "out.mxq").startswith("ERROR [NO_CALIBRATION_DATA]")
    (empty / "notes.txt").write_text("nothing here")
    assert calibrate(fails, files, empty, tmp_path / "out.mxq").startswith("ERROR [NO_CALIBRATION_DATA]")
    error = calibrate(fails, files, tmp_path / "nowhere", tmp_path / "out.mxq")
    assert error.startswith("ERROR [INVALID_CALIBRATION_DATA]") and "nowhere" in error


def test_lists(files: Files, fails: Fails, tmp_path: Path) -> None:
    listing = tmp_path / "list.txt"
    for content in (b"\xff\xfe\x00", b"list.txt\n", b"nowhere.npy\n", b"\n\n# nothing\n", b"a\0b.npy\n", b"x" * 9000):
        listing.write_bytes(content)
        error = calibrate(fails, files, listing, tmp_path / "out.mxq")
        assert "CALIBRATION_DATA]" in error, content[:20]


def test_run_inputs(files: Files, fails: Fails, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    cases: dict[str, tuple[Any, str]] = {
        "transposed": (GOOD.transpose(3, 2, 1, 0), r"x.npy.*\[16, 16, 3, 1\].*\[1, 16, 16, 3\].*transpose .* axes"),
        "size": (GOOD[..., :-1], r"x.npy.*has shape \[1, 3, 16, 15\], expected \[1, 16, 16, 3\] or \[1, 3, 16, 16\]"),
        "dtype": (GOOD.astype(np.complex64), r"x.npy.*complex64, expected float32"),
        "empty": (np.zeros(0, np.float32), r"x.npy.*has shape \[0\]"),
        "integers": (GOOD.astype(np.int64), r"x.npy.*int64, expected float32, or codes as int8 or uint8"),
    }
    for array, message in cases.values():
        np.save(path, array)
        error = fails("run", "--mxq", files.mxq, "--input", path)
        assert error.startswith("ERROR [INVALID_INPUT]") and re.search(message, error), error
    np.save(path, np.array([Bomb(tmp_path / "loaded")], dtype=object), allow_pickle=True)
    assert fails("run", "--mxq", files.mxq, "--input", path).startswith("ERROR [INVALID_INPUT]")
    assert not (tmp_path / "loaded").exists()
    for content in (b"", b"text", b"\x93NUMPY\x01\x00"):
        path.write_bytes(content)
        assert fails("run", "--mxq", files.mxq, "--input", path).startswith("ERROR [INVALID_INPUT]")
    np.save(path, GOOD)
    assert "no_such" in fails("run", "--mxq", files.mxq, "--input", f"no_such={path}")
    assert "ARGUMENT_ERROR" in fails("run", "--mxq", files.mxq, "--input", tmp_path)
