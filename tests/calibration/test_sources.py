"""Sample sources: forms, layouts, and one clear error for every bad sample."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from qbc.calibration import InputSpec, RandomSamples, open_samples
from qbc.errors import QBCompilerError

IMAGE = InputSpec("x", (1, 4, 6, 3), "float32", "nchw")
TOKENS = InputSpec("tokens", (1, 8), "int32")


def arrays(count: int, shape: tuple[int, ...] = (1, 4, 6, 3)) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for _ in range(count)]


def save(directory: Path, items: list[np.ndarray]) -> None:
    for index, item in enumerate(items):
        np.save(directory / f"{index:03}.npy", item)


def test_directory_is_sorted_and_repeatable(tmp_path: Path) -> None:
    items = arrays(5)
    save(tmp_path, items[::-1])
    source = open_samples(tmp_path, [IMAGE])
    assert len(source) == 5
    for _ in range(2):
        assert all(np.array_equal(s["x"], want) for s, want in zip(source, items[::-1], strict=True))


@pytest.mark.parametrize("layout", [(0, 1, 2, 3), (0, 3, 1, 2)])
@pytest.mark.parametrize("batch", [True, False])
def test_both_layouts_are_read(layout: tuple[int, ...], batch: bool) -> None:
    item = arrays(1)[0]
    given = item.transpose(layout)
    (sample,) = open_samples([given if batch else given[0]], [IMAGE])
    assert np.array_equal(sample["x"], item) and sample["x"].flags.c_contiguous


def test_ambiguous_layout_is_channel_last() -> None:
    spec = InputSpec("x", (1, 3, 3, 3), "float32", "nchw")
    item = arrays(1, (1, 3, 3, 3))[0]
    (sample,) = open_samples([item], [spec])
    assert np.array_equal(sample["x"], item)


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("form", ["memory", "files", "stack", "manifest"])
def test_ambiguous_layout_is_told(tmp_path: Path, form: str, batch: bool) -> None:
    spec = InputSpec("x", (1, 3, 3, 3), "float32", "nchw")
    items = arrays(2, (1, 3, 3, 3) if batch else (3, 3, 3))
    save(tmp_path, items)
    np.save(tmp_path / "stack.npy", np.stack(items))
    (tmp_path / "manifest.json").write_text('{"calib paths": ["000.npy", "001.npy"]}')
    data = {
        "memory": items,
        "files": [tmp_path / "000.npy", tmp_path / "001.npy"],
        "stack": tmp_path / "stack.npy",
        "manifest": tmp_path / "manifest.json",
    }[form]
    told: list[str] = []
    assert len(list(open_samples(data, [spec], told.append))) == 2
    assert len(set(told)) == 1
    assert f"shape {list(items[0].shape)} fits the layout of the model and channel-last" in told[0]


@pytest.mark.parametrize("shape, layout", [((1, 4, 6, 3), "nchw"), ((1, 1, 1, 1), "nchw"), ((3, 3, 3), None)])
def test_layout_that_is_clear_is_not_told(shape: tuple[int, ...], layout: str | None) -> None:
    told: list[str] = []
    list(open_samples(arrays(1, shape), [InputSpec("x", shape, "float32", layout)], told.append))
    assert told == []


def test_a_single_named_array_must_have_the_name_of_the_input(tmp_path: Path) -> None:
    (item,) = arrays(1)
    np.savez(tmp_path / "unnamed.npz", item)
    np.savez(tmp_path / "named.npz", x=item)
    np.savez(tmp_path / "other.npz", y=item)
    for name in ("unnamed", "named"):
        (sample,) = open_samples(tmp_path / f"{name}.npz", [IMAGE])
        assert np.array_equal(sample["x"], item)
    assert "no array for input 'x'; the file holds y" in refused(tmp_path / "other.npz")


def test_stacks_lists_and_unions(tmp_path: Path) -> None:
    items = arrays(4)
    np.save(tmp_path / "stack.npy", np.concatenate(items))
    (tmp_path / "one").mkdir()
    save(tmp_path / "one", items[:1])
    (tmp_path / "list.txt").write_text("one/000.npy\n\nstack.npy\n")
    assert len(open_samples(tmp_path / "stack.npy", [IMAGE])) == 4
    assert len(open_samples(tmp_path / "list.txt", [IMAGE])) == 5
    union = open_samples([str(tmp_path / "one"), str(tmp_path / "stack.npy")], [IMAGE])
    assert [float(s["x"][0, 0, 0, 0]) for s in union][1:] == [float(i[0, 0, 0, 0]) for i in items]


def test_several_inputs_by_name(tmp_path: Path) -> None:
    item = arrays(1)[0]
    np.savez(tmp_path / "a.npz", x=item, tokens=np.arange(8))
    (sample,) = open_samples(tmp_path, [IMAGE, TOKENS])
    assert sample["tokens"].dtype == np.int32 and np.array_equal(sample["x"], item)
    (again,) = open_samples([{"x": item, "tokens": np.arange(8)}], [IMAGE, TOKENS])
    assert np.array_equal(again["tokens"][0], np.arange(8))


def test_arrays_without_names_go_by_shape() -> None:
    image, tokens = arrays(1)[0], np.arange(8)
    for item in ([image, tokens], (tokens, image)):
        (sample,) = open_samples([item], [IMAGE, TOKENS])
        assert np.array_equal(sample["x"], image) and np.array_equal(sample["tokens"][0], tokens)
    twin = InputSpec("y", IMAGE.shape, "float32", "nchw")
    assert "same shape" in refused([[image, image]], IMAGE, twin)
    assert "no assignment" in refused([[image, image]], IMAGE, TOKENS)


def test_remedies_for_wrong_names(tmp_path: Path) -> None:
    left, right = (InputSpec(name, (1, 4, 6, 3)) for name in ("left", "right"))
    image = arrays(1)[0]
    np.savez(tmp_path / "a.npz", image, image)
    assert "(save one array a name: np.savez('a.npz', left=..., right=...))" in refused(tmp_path / "a.npz", left, right)
    np.savez(tmp_path / "a.npz", left=image, rigth=image)
    assert "(rename 'rigth' to 'right', if that is meant)" in refused(tmp_path / "a.npz", left, right)
    np.savez(tmp_path / "a.npz", left=image, right=image, other=image)
    assert "(leave the array out of the file)" in refused(tmp_path / "a.npz", left, right)
    np.save(tmp_path / "b.npy", image)
    assert "np.savez('b.npz', left=..., right=...)" in refused(tmp_path / "b.npy", left, right)
    dotted = InputSpec("input.1", (1, 4, 6, 3))
    assert "np.savez('b.npz', **{'left': ..., 'input.1': ...})" in refused(tmp_path / "b.npy", left, dotted)
    assert "(did you mean 'right'?)" in refused([{"left": image, "rigth": image}], left, right)
    assert "no array for input 'right'" in refused([{"left": image}], left, right)
    assert "(leave 'other' out)" in refused([{"left": image, "right": image, "other": image}], left, right)


def test_random_is_seeded() -> None:
    first, second = RandomSamples((IMAGE, TOKENS), 3), RandomSamples((IMAGE, TOKENS), 3)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a["x"], b["x"]) and a["tokens"].dtype == np.int32
    assert len({float(s["x"].sum()) for s in first}) == 3


def test_random_pixels() -> None:
    """What the program can take: bytes over the division factor, or pixels that it normalises itself."""
    for spec, factor in (
        (InputSpec("x", (1, 40, 60, 3), division_factor=255.0), 255.0),
        (InputSpec("x", (1, 40, 60, 3), is_raw=True), 1.0),
    ):
        for sample in RandomSamples((spec,), 3):
            pixels = sample["x"] * np.float32(factor)
            assert sample["x"].dtype == np.float32 and np.allclose(pixels, np.rint(pixels), atol=1e-4)
            assert pixels.min() == 0 and np.isclose(pixels.max(), 255)


def refused(data: object, *specs: InputSpec, code: str = "INVALID_CALIBRATION_DATA") -> str:
    with pytest.raises(QBCompilerError) as caught:
        list(open_samples(data, specs or (IMAGE,)))  # type: ignore[arg-type]
    assert caught.value.code == code
    return str(caught.value)


def test_wrong_shape_names_file_and_permutation(tmp_path: Path) -> None:
    save(tmp_path, [arrays(1)[0].transpose(0, 2, 3, 1)])
    message = refused(tmp_path)
    assert (
        "000.npy" in message and "[1, 4, 6, 3]" in message and "[1, 6, 3, 4]" in message and "[0, 3, 1, 2]" in message
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_is_located(bad: float) -> None:
    item = arrays(1)[0]
    item[0, 1, 2, 0] = bad
    assert "[0, 1, 2, 0]" in refused([item])


def test_wrong_dtypes_are_refused() -> None:
    assert "complex64" in refused([arrays(1)[0].astype(np.complex64)])
    assert "int32" in refused([{"tokens": np.zeros(8, np.float32)}], TOKENS)
    assert "9999999999" in refused([{"tokens": np.full(8, 9999999999)}], TOKENS)
    assert "empty" in refused([np.zeros((0, 6, 3), np.float32)])


def test_integer_samples_for_a_float_input_are_noticed() -> None:
    notices: list[str] = []
    (sample,) = open_samples([np.arange(72, dtype=np.uint8).reshape(4, 6, 3)], [IMAGE], notices.append)
    assert sample["x"].dtype == np.float32 and len(notices) == 1


def test_bytes_of_two_values_are_noticed() -> None:
    """0 and 1 where the program takes pixels are a mask, or pixels divided by 255 and cut."""
    bytes_ = InputSpec("x", (1, 4, 6, 3), division_factor=255.0)
    masks = np.random.default_rng(0).integers(0, 2, (1, 4, 6, 3), np.uint8)
    notices: list[str] = []
    list(open_samples([masks, masks], [bytes_], notices.append))
    assert set(notices) == {"calibration samples for input 'x' hold only 0 and 1; the program takes pixels 0..255"}
    notices.clear()
    list(open_samples([masks * 2, masks * 255], [bytes_], notices.append))
    assert not notices


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00garbage")
    assert "bad.npy" in refused(tmp_path)
    with open(tmp_path / "bad.npy", "wb") as handle:
        pickle.dump({"a": 1}, handle)
    assert "bad.npy" in refused(tmp_path)
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "bad.npy" in refused(tmp_path)
    (tmp_path / "bad.npy").unlink()
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04" + bytes(64))
    assert "bad.npz" in refused(tmp_path)


def test_mutated_files_never_escape(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", arrays(1)[0])
    original = (tmp_path / "a.npy").read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(100):
        data = bytearray(original)
        for position in rng.integers(0, 160, 3):
            data[position] ^= int(rng.integers(1, 256))
        (tmp_path / "a.npy").write_bytes(bytes(data[: int(rng.integers(1, len(data) + 1))]))
        try:
            list(open_samples(tmp_path, [IMAGE]))
        except QBCompilerError as error:
            assert error.code == "INVALID_CALIBRATION_DATA"


def test_lists_and_manifests_with_a_byte_order_mark(tmp_path: Path) -> None:
    save(tmp_path, arrays(1))
    (tmp_path / "list.txt").write_bytes(b"\xef\xbb\xbf000.npy\r\n")
    (tmp_path / "manifest.json").write_bytes(b'\xef\xbb\xbf{"calib paths": [["000.npy"]]}')
    for name in ("list.txt", "manifest.json"):
        assert len(open_samples(tmp_path / name, [IMAGE])) == 1


def test_places_without_samples_are_named(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("# nothing yet\n")
    (tmp_path / "manifest.json").write_text('{"calib paths": []}')
    np.save(tmp_path / "stack.npy", np.zeros((0, 4, 6, 3), np.float32))
    for name in ("list.txt", "manifest.json", "stack.npy"):
        assert name in refused(tmp_path / name, code="NO_CALIBRATION_DATA")


def test_missing_empty_and_unsupported(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere")
    refused(tmp_path, code="NO_CALIBRATION_DATA")
    refused([], code="NO_CALIBRATION_DATA")
    (tmp_path / "a.png").write_bytes(b"")
    assert "preprocessing" in refused(tmp_path)
    (tmp_path / "list.txt").write_text("nowhere.npy\n")
    assert "nowhere.npy" in refused(tmp_path / "list.txt")
    refused({"y": arrays(1)[0]})
    refused(arrays(1)[0], IMAGE, TOKENS)
