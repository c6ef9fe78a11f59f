"""Section calibration.statistics: kept statistics give the same program without running the samples again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbcompiler import QBCompilerError, mxq_compile
from qbcompiler.demo import digits_model_path

RNG = np.random.default_rng(0)
SAMPLES = [RNG.random((1, 1, 8, 8), dtype=np.float32) for _ in range(12)]


def compile_digits(output: Path, data: Any, calibration: dict[str, Any] | None = None, **statistics: Any) -> bytes:
    section = {**(calibration or {}), **({"statistics": {"apply": True, **statistics}} if statistics else {})}
    mxq_compile(digits_model_path(), "aries-rb", data, output, device="cpu", calibration_config=section or None)
    return output.read_bytes()


def weights_of(path: Path) -> dict[str, Any]:
    from qbc.runtime import load

    program = load(path)
    return {"y": [program.run({program.program.inputs[0].name: sample}) for sample in SAMPLES[:4]]}


def equal(first: Path, second: Path) -> bool:
    pairs = zip(weights_of(first)["y"], weights_of(second)["y"], strict=True)
    return all(np.array_equal(a[name], b[name]) for a, b in pairs for name in a)


def test_saved_statistics_make_the_same_program(tmp_path: Path) -> None:
    kept = tmp_path / "new" / "statistics.npz"
    compile_digits(tmp_path / "plain.mxq", SAMPLES)
    first = compile_digits(tmp_path / "a.mxq", SAMPLES, savePath=str(kept))
    assert equal(tmp_path / "plain.mxq", tmp_path / "a.mxq")
    assert first == compile_digits(tmp_path / "b.mxq", SAMPLES, savePath=str(tmp_path / "other.npz"))
    assert kept.read_bytes() == (tmp_path / "other.npz").read_bytes()
    with_data = compile_digits(tmp_path / "c.mxq", [np.zeros_like(SAMPLES[0])], loadPath=str(kept))
    without = compile_digits(tmp_path / "d.mxq", None, loadPath=str(kept))
    assert with_data and without
    assert equal(tmp_path / "a.mxq", tmp_path / "c.mxq") and equal(tmp_path / "a.mxq", tmp_path / "d.mxq")


def test_candidates(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = str(tmp_path / "s.npz")
    compile_digits(tmp_path / "a.mxq", SAMPLES, {"maxPercentile": {"percentile": 0.95}}, savePath=kept)
    compile_digits(tmp_path / "b.mxq", None, loadPath=kept, percentiles=[1.0, 0.95], percentileIndex=1)
    assert "the program is made with percentile 0.95, candidate 1 (percentileIndex) of the list" in caplog.text
    assert equal(tmp_path / "a.mxq", tmp_path / "b.mxq")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".mxq", ".mxq", ".npz"]
    compile_digits(tmp_path / "b.mxq", None, loadPath=kept, percentiles=[1.0, 0.95])
    assert not equal(tmp_path / "a.mxq", tmp_path / "b.mxq")


@pytest.mark.parametrize("route", ["save", "load"])
def test_a_sweep_writes_a_program_for_each_candidate(
    tmp_path: Path, route: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each equals the program of a compilation with that percentile; the asked file is the chosen one of them."""
    kept, folder = str(tmp_path / "s.npz"), tmp_path / "out"
    folder.mkdir()
    paths = {"savePath": kept}
    if route == "load":
        compile_digits(tmp_path / "first.mxq", SAMPLES, savePath=kept)
        paths = {"loadPath": kept}
    data = SAMPLES if route == "save" else None
    compile_digits(folder / "m.mxq", data, percentiles=[1.0, 0.95], percentileIndex=1, sweep=True, **paths)
    assert sorted(path.name for path in folder.iterdir()) == ["m.mxq", "m_0.95.mxq", "m_1.0.mxq"]
    for percentile in (1.0, 0.95):
        plain = tmp_path / f"plain{percentile}.mxq"
        compile_digits(plain, SAMPLES, {"maxPercentile": {"percentile": percentile}})
        assert equal(plain, folder / f"m_{percentile}.mxq")
    assert equal(folder / "m.mxq", folder / "m_0.95.mxq")
    assert "sweep wrote" in caplog.text and caplog.text.count("m_0.95.mxq") == caplog.text.count("m_1.0.mxq") == 1
    assert "candidate" not in caplog.text
    assert not equal(folder / "m.mxq", folder / "m_1.0.mxq")


def test_a_sweep_replaces_no_input(tmp_path: Path) -> None:
    sample = tmp_path / "m_0.9.mxq"
    sample.write_bytes(b"an input")
    statistics = {"savePath": str(tmp_path / "s.npz"), "percentiles": [0.9], "sweep": True}
    with pytest.raises(QBCompilerError, match="m_0.9.mxq") as caught:
        compile_digits(tmp_path / "m.mxq", [str(sample)], **statistics)
    assert caught.value.code == "ARGUMENT_ERROR"
    assert sample.read_bytes() == b"an input" and not (tmp_path / "m.mxq").exists()


def test_files_beside_the_program_belong_to_the_asked_one(tmp_path: Path) -> None:
    def run(name: str, statistics: dict[str, Any]) -> dict[str, bytes]:
        folder = tmp_path / name
        config = {
            "calibration": {"statistics": {"apply": True, "savePath": str(tmp_path / f"{name}.npz"), **statistics}},
            "saveSample": {"apply": True, "savePath": str(folder), "numSamples": 1, "stages": ["integer"]},
        }
        mxq_compile(digits_model_path(), "aries-rb", SAMPLES, tmp_path / f"{name}.mxq", compile_config=config)
        return {path.name: path.read_bytes() for path in folder.rglob("*.npy")}

    plain = run("plain", {"percentiles": [1.0]})
    assert plain and run("sweep", {"percentiles": [1.0, 0.9], "sweep": True}) == plain


def test_percentiles_without_effect_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = str(tmp_path / "s.npz")
    compile_digits(tmp_path / "a.mxq", SAMPLES, {"mode": 0}, savePath=kept, percentiles=[1.0, 0.95], sweep=True)
    assert "calibration.statistics.percentiles has no effect: calibration.mode is 0, not 1" in caplog.text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mxq", "s.npz"]


def test_mistakes(tmp_path: Path) -> None:
    kept = tmp_path / "s.npz"
    compile_digits(tmp_path / "a.mxq", SAMPLES, savePath=str(kept))

    def refused(code: str, word: str, calibration: dict[str, Any] | None = None, **statistics: Any) -> None:
        with pytest.raises(QBCompilerError, match=word) as caught:
            compile_digits(tmp_path / "x.mxq", None, calibration, **statistics)
        assert caught.value.code == code

    refused("INVALID_CALIBRATION_DATA", "another graph", {"maxPercentile": {"topkRatio": 0.5}}, loadPath=str(kept))
    refused("INVALID_CALIBRATION_DATA", "no such", loadPath=str(tmp_path / "nowhere"))
    refused("CONFIG_ERROR", "percentileIndex", loadPath=str(kept), percentiles=[1.0], percentileIndex=1)
    refused("CONFIG_ERROR", "twice", loadPath=str(kept), percentiles=[0.99, 0.99])
    refused("CONFIG_ERROR", "percentileIndex needs percentiles", loadPath=str(kept), percentileIndex=1)
    refused("CONFIG_ERROR", "sweep needs percentiles", loadPath=str(kept), sweep=True)
    with pytest.raises(QBCompilerError, match="savePath or loadPath"):
        compile_digits(tmp_path / "x.mxq", SAMPLES, percentiles=[1.0])
    original = kept.read_bytes()
    rng = np.random.default_rng(0)
    for size in (0, 10, len(original) // 2, len(original) - 3):
        kept.write_bytes(original[:size])
        refused("INVALID_CALIBRATION_DATA", "s.npz", loadPath=str(kept))
    kept.write_bytes(rng.bytes(100))
    refused("INVALID_CALIBRATION_DATA", "s.npz", loadPath=str(kept))


def test_changed_arrays_are_one_error(tmp_path: Path) -> None:
    """Files that are whole but hold other arrays: each ends as a program or as one error."""
    kept = tmp_path / "s.npz"
    compile_digits(tmp_path / "a.mxq", SAMPLES, savePath=str(kept))
    with np.load(kept) as archive:
        original = dict(archive)
    rng, refused = np.random.default_rng(1), 0
    names = [name for name in original if name.startswith("a/")]
    changes = (
        lambda array: array[..., :-1] if array.ndim else array[None],
        lambda array: array.astype(np.int8),
        lambda array: np.stack([array, array]),
        lambda array: np.zeros(0),
        lambda array: array * np.nan,
        lambda array: -array,
        lambda array: None,
    )
    for number in range(28):
        arrays = dict(original)
        name = names[int(rng.integers(len(names)))]
        array = changes[number % len(changes)](arrays.pop(name))
        arrays |= {} if array is None else {name if number % 7 else f"{name}9": array}
        np.savez(kept, allow_pickle=False, **arrays)
        try:
            compile_digits(tmp_path / "b.mxq", None, loadPath=str(kept))
        except QBCompilerError as error:
            assert error.code in ("INVALID_CALIBRATION_DATA", "QUANTIZATION_ERROR", "VERIFY_ERROR"), (name, number)
            refused += 1
    assert refused > 18
