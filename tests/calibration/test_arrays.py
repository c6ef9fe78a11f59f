"""Array files and tensors: what is read of them, how often, and which tensors are no arrays."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from qbc.calibration import InputSpec, arrays, files, open_samples
from qbc.errors import QBCompilerError

X = InputSpec("x", (1, 4, 6, 3))
Y = InputSpec("y", (1, 5))


def collected(data: Any, *specs: InputSpec) -> list[dict[str, np.ndarray]]:
    return list(open_samples(data, specs or [X]))


def refused(data: Any, *specs: InputSpec) -> QBCompilerError:
    with pytest.raises(QBCompilerError) as caught:
        collected(data, *specs)
    assert caught.value.code == "INVALID_CALIBRATION_DATA" and caught.value.hint
    return caught.value


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_floats_that_numpy_does_not_have(dtype: torch.dtype, tmp_path: Path) -> None:
    tensor = torch.linspace(-2, 2, 72).reshape(4, 6, 3).to(dtype)
    torch.save(tensor, tmp_path / "a.pt")
    for data in (tensor, tmp_path / "a.pt"):
        (sample,) = collected(data)
        assert np.array_equal(sample["x"][0], tensor.float().numpy())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(4, 6, 3).to_sparse(),
        lambda: torch.quantize_per_tensor(torch.zeros(4, 6, 3), 0.1, 0, torch.quint8),
        lambda: torch.zeros(4, 6, 3, device="meta"),
    ],
    ids=["sparse", "quantized", "meta"],
)
def test_tensors_that_are_no_arrays(make: Any) -> None:
    for data in (make(), [make()], {"x": make()}):
        error = refused(data)
        assert "sample 0" in error.message and "to_dense()" in (error.hint or "")


def test_a_parameter_is_a_tensor_and_a_type_is_none() -> None:
    weight = torch.nn.Parameter(torch.randn(4, 6, 3))
    (sample,) = collected(weight)
    assert np.array_equal(sample["x"][0], weight.detach().numpy())
    for wrong in (torch.float32, [torch.float32], torch.Size([4, 6, 3])):
        with pytest.raises(QBCompilerError, match="expected"):
            collected(wrong)


def test_nested_lists_of_unequal_lengths() -> None:
    assert "sample 1" in refused([[np.zeros((4, 6, 3)), np.zeros(5)], [[[1, 2], [3]], np.zeros(5)]], X, Y).message


def stack(path: Path, count: int) -> np.ndarray:
    values = np.random.default_rng(0).standard_normal((count, 4, 6, 3)).astype(np.float32)
    if path.suffix == ".npz":
        np.savez_compressed(path, x=values)
    else:
        torch.save({"x": torch.from_numpy(values)}, path)
    return values


@pytest.mark.parametrize("suffix", [".npz", ".pt"])
def test_a_stack_is_read_once_for_all_its_samples(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = stack(tmp_path / f"a{suffix}", 20)
    second = stack(tmp_path / f"b{suffix}", 10)
    read: list[str] = []
    original = arrays.read_named_arrays
    monkeypatch.setattr(files, "read_named_arrays", lambda path, specs: read.append(path.name) or original(path, specs))
    source = open_samples(tmp_path, [X])
    assert len(source) == 30 and not read
    found = [sample["x"][0] for sample in source]
    assert np.array_equal(found, np.concatenate([first, second])) and read == [f"a{suffix}", f"b{suffix}"]


def test_listing_an_archive_reads_headers_only(tmp_path: Path) -> None:
    """Bytes behind the headers may be damaged: this is told when the sample is read."""
    large = InputSpec("x", (1, 100, 100, 3))
    values = np.random.default_rng(0).standard_normal((100, 100, 3)).astype(np.float32)
    np.savez(tmp_path / "a.npz", x=values, y=np.zeros(5, np.float32))
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[data.find(values.tobytes()) + values.nbytes - 1] ^= 255
    (tmp_path / "a.npz").write_bytes(bytes(data))
    shapes = arrays.read_named_shapes(tmp_path / "a.npz", [large, Y])
    assert dict(shapes) == {"x": (100, 100, 3), "y": (5,)}
    source = open_samples(tmp_path / "a.npz", [large, Y])
    assert len(source) == 1
    with pytest.raises(QBCompilerError, match=r"a\.npz: not a readable array file"):
        list(source)


@pytest.mark.parametrize("order", ["C", "F"])
def test_headers_say_what_numpy_reads(order: str, tmp_path: Path) -> None:
    values = {"x": np.asarray(np.zeros((2, 3, 5)), order=order), "s": np.float64(1), "n": np.zeros((0, 2), np.uint8)}
    np.savez(tmp_path / "a.npz", **values)
    with np.load(tmp_path / "a.npz") as archive:
        want = {name: archive[name].shape for name in archive.files}
    specs = [InputSpec(name, shape) for name, shape in want.items()]
    assert dict(arrays.read_named_shapes(tmp_path / "a.npz", specs)) == want


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_headers_of_every_version(version: tuple[int, int], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, archive.open("x.npy", "w") as handle:
        np.lib.format.write_array(handle, np.zeros((4, 6, 3), np.float32), version)
    assert dict(arrays.read_named_shapes(tmp_path / "a.npz", [X])) == {"x": (4, 6, 3)}
    assert collected(tmp_path / "a.npz")[0]["x"].shape == (1, 4, 6, 3)


@pytest.mark.parametrize(("kind", "claim"), [("<f4", 1 << 40), ("<f4", 3), ("|V0", 1 << 40)])
def test_headers_that_claim_more_than_there_is(kind: str, claim: int, tmp_path: Path) -> None:
    """Samples of a stack are counted from its header: the count must not exceed what the file can hold."""
    header = io.BytesIO()
    fields = {"descr": kind, "fortran_order": False, "shape": (claim, 4, 6, 3)}
    np.lib.format.write_array_header_1_0(header, fields)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(2 * 288))
    error = refused(tmp_path / "a.npz")
    assert "a.npz" in error.message and "ends before its data" in error.message


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((4, 6, 3), np.float32))
    original = (tmp_path / "a.npz").read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(100):
        data = bytearray(original)
        for position in rng.integers(0, len(data), 3):
            data[position] ^= int(rng.integers(1, 256))
        (tmp_path / "a.npz").write_bytes(bytes(data[: int(rng.integers(1, len(data) + 1))]))
        try:
            collected(tmp_path)
        except QBCompilerError as error:
            assert error.code == "INVALID_CALIBRATION_DATA" and "a.npz" in error.message
