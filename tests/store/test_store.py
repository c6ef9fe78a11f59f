"""The blob store and its containers: identity, read-only views, spooling, damage, atomic writes."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from qbc.errors import QBCompilerError
from qbc.store import BlobStore, adopt_blobs, atomic_write, blob_sections, read_container, write_container


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int64", "bool", "float16"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    store = BlobStore()
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    key = store.put(array)
    assert key == store.put(array.tobytes()) and len(key) == 32 and int(key, 16) >= 0
    assert array.size == 0 or key != store.put(array.tobytes() + b"x")
    back = store.get(key, dtype, shape)
    assert back.dtype == array.dtype and np.array_equal(back, array)
    assert not back.flags.writeable


def test_views_and_order_do_not_matter() -> None:
    store = BlobStore()
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert store.put(np.asfortranarray(array)) == store.put(array) == store.put(array.astype(">f4"))
    assert len(store) == 1


def test_spooled_blobs_stay_readable() -> None:
    store = BlobStore(spool_threshold_bytes=10_000)
    arrays = [np.full(5_000, value, np.int32) for value in range(6)]
    keys = [store.put(array) for array in arrays]
    for key, array in zip(keys, arrays, strict=True):
        assert np.array_equal(store.get(key, "int32", (5_000,)), array)


def test_missing_and_misfit_blobs() -> None:
    store = BlobStore()
    with pytest.raises(QBCompilerError, match="not in the store"):
        store.get("0" * 32, "int8", (1,))
    key = store.put(b"abcd")
    with pytest.raises(QBCompilerError, match="holds 4 bytes"):
        store.get(key, "int8", (5,))


def _container(path: Path) -> BlobStore:
    store = BlobStore()
    keys = [store.put(np.arange(n, dtype=np.int32)) for n in (1, 100, 3000)]
    write_container(path, "MBLT", {"manifest": b"{}", **blob_sections(store, keys)})
    return store


def test_container_round_trip_is_deterministic(tmp_path: Path) -> None:
    store = _container(tmp_path / "a.mblt")
    keys = sorted(store.keys())
    _container(tmp_path / "b.mblt")
    assert (tmp_path / "a.mblt").read_bytes() == (tmp_path / "b.mblt").read_bytes()
    container = read_container(tmp_path / "a.mblt", "MBLT")
    loaded = BlobStore()
    assert sorted(adopt_blobs(container, loaded)) == keys
    assert all(bytes(loaded.bytes(key)) == bytes(store.bytes(key)) for key in keys)


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.mblt"
    _container(path)
    good = path.read_bytes()
    rng = np.random.default_rng(1)
    for position in [*range(64), *rng.integers(64, len(good), 60)]:
        if 40 <= position < 64 or _is_padding(good, position):
            continue
        damaged = bytearray(good)
        damaged[position] ^= 0x41
        path.write_bytes(damaged)
        with pytest.raises(QBCompilerError) as caught:
            adopt_blobs(read_container(path, "MBLT"), BlobStore())
        assert caught.value.code in ("INVALID_SNAPSHOT", "UNSUPPORTED_VERSION")


def test_bytes_outside_of_the_index_are_noticed(tmp_path: Path) -> None:
    _container(tmp_path / "a.mblt")
    container = read_container(tmp_path / "a.mblt", "MBLT")
    sections = {name: bytes(view) for name, view in container.sections.items()}
    for damaged in (sections["blobs"] + b"x", sections["blobs"][:4] + b"x" + sections["blobs"][5:]):
        write_container(tmp_path / "b.mblt", "MBLT", {**sections, "blobs": damaged})
        with pytest.raises(QBCompilerError, match="damaged blob index"):
            adopt_blobs(read_container(tmp_path / "b.mblt"), BlobStore())


def _is_padding(data: bytes, position: int) -> bool:
    count = struct.unpack_from("<I", data, 12)[0]
    rows = [struct.unpack_from("<24sQQ16sQ", data, 64 + 64 * index) for index in range(count)]
    in_table = 64 <= position < 64 + 64 * count
    return not in_table and not any(offset <= position < offset + size for _, offset, size, _, _ in rows)


@pytest.mark.parametrize("size", [0, 3, 63, 64, 200])
def test_truncation(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.mblt"
    _container(path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(QBCompilerError) as caught:
        read_container(path)
    assert caught.value.code == "INVALID_SNAPSHOT"


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as handle:
        handle.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.bin"]


@pytest.mark.parametrize("names", [["x" * 25], ["ä"], ["a\0"], [f"s{i}" for i in range(65)]])
def test_tables_hold_only_so_much(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(QBCompilerError) as caught:
        write_container(tmp_path / "out", "MXQ", dict.fromkeys(names, b"x"))
    assert caught.value.code == "INTERNAL_ERROR"
    assert os.listdir(tmp_path) == []
    fitting = {f"{'s' * 22}{i:02}": b"x" for i in range(64)}
    write_container(tmp_path / "out", "MXQ", fitting)
    assert list(read_container(tmp_path / "out").sections) == list(fitting)


def test_unwritable_output_names_the_path(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "such" / "dir.bin", tmp_path):
        with pytest.raises(QBCompilerError) as caught, atomic_write(path) as handle:
            handle.write(b"x")
        assert caught.value.code == "OUTPUT_WRITE_ERROR"
        assert str(path) in str(caught.value)
