"""Views of blobs are recognised by their place; everything else is read."""

from __future__ import annotations

import numpy as np
import pytest

import qbc.store.store as store_module
from qbc.store import BlobStore, content_key


def test_reshaped_views_are_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = BlobStore()
    data = np.random.default_rng(0).normal(size=(64, 32, 1, 1)).astype(np.float32)
    key = store.put(data)
    found = store.get(key, "float32", data.shape)
    monkeypatch.setattr(store_module, "content_key", lambda raw: pytest.fail("was hashed"))
    assert store.put(found) == key
    assert store.put(found.transpose(0, 2, 3, 1)) == key
    assert store.put(found.reshape(-1)) == key


def test_other_arrays_are(monkeypatch: pytest.MonkeyPatch) -> None:
    store = BlobStore()
    data = np.random.default_rng(0).normal(size=(64, 32)).astype(np.float32)
    found = store.get(store.put(data), "float32", data.shape)
    assert store.put(found.T) == content_key(np.ascontiguousarray(found.T).tobytes())
    assert store.put(found[:48]) == content_key(found[:48].tobytes())
    transposed = store.put(data.T)
    frozen = data + 1
    frozen.setflags(write=False)
    kept = store.put(frozen)
    assert np.shares_memory(store.get(kept, "float32", frozen.shape), frozen)
    before = data[0, 0]
    data[0, 0] += 1
    assert store.get(transposed, "float32", (32, 64))[0, 0] == before
    assert store.put(data) == content_key(data.tobytes())
