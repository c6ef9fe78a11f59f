"""Section saveSample: what is written equals what the compiler consumed and computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from qbc.calibration import InputSpec, open_samples
from qbc.runtime import load
from qbcompiler import QBCompilerError, SaveSampleConfig, mxq_compile
from qbcompiler.demo import digits_model_path


def compile_digits(tmp_path: Path, **settings: Any) -> tuple[Path, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    session = onnxruntime.InferenceSession(str(digits_model_path()))
    shape = [size if isinstance(size, int) else 1 for size in session.get_inputs()[0].shape]
    samples = [rng.random(shape, dtype=np.float32) for _ in range(12)]
    section = SaveSampleConfig(apply=True, save_path=str(tmp_path / "saved"), **settings)
    mxq_compile(digits_model_path(), "aries-rb", samples, tmp_path / "a.mxq", device="cpu", save_sample_config=section)
    return tmp_path / "saved", samples


def test_inputs_and_outputs(tmp_path: Path) -> None:
    saved, samples = compile_digits(tmp_path, num_samples=3, stages=["float", "integer"])
    session = onnxruntime.InferenceSession(str(digits_model_path()))
    (name,), (output,) = [item.name for item in session.get_inputs()], [item.name for item in session.get_outputs()]
    program = load(tmp_path / "a.mxq")
    for index in range(3):
        (want,) = session.run(None, {name: samples[index]})
        assert np.allclose(np.load(saved / "float" / f"{index:05}_{output}.npy"), want, atol=1e-4)
        exact = program.run({name: samples[index]})[output]
        assert np.array_equal(np.load(saved / "integer" / f"{index:05}_{output}.npy"), exact)
    content = json.loads((saved / "samples.json").read_text())
    assert len(content["calib paths"]) == 3 and content["info"]["input names"] == [name]
    spec = InputSpec(name, tuple(content["info"]["input shapes"][0]), "float32")
    again = [sample[name] for sample in open_samples(saved / "samples.json", [spec])]
    assert np.array_equal(again[1].reshape(-1), samples[1].reshape(-1))


def test_layers_and_limits(tmp_path: Path) -> None:
    saved, _ = compile_digits(tmp_path, layers=["*"], inputs=False, outputs=False, dtype="float16", num_samples=2)
    assert not (saved / "inputs").exists()
    files = list((saved / "float").iterdir())
    assert len(files) > 2 and all(np.load(file).dtype == np.float16 for file in files)


def test_too_large_stops_with_a_notice(tmp_path: Path) -> None:
    saved, samples = compile_digits(tmp_path, max_bytes_mb=3 * 400 / 2**20)
    assert 0 < len(list((saved / "inputs").iterdir())) < len(samples)


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError, match="nothing_like_it"):
        compile_digits(tmp_path, layers=["nothing_like_it"])
    (tmp_path / "saved").write_text("a file")
    with pytest.raises(QBCompilerError) as caught:
        compile_digits(tmp_path)
    assert caught.value.code == "OUTPUT_WRITE_ERROR"
