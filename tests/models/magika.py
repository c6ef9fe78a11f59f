"""The file-type network of the magika package and its input features."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np

from tests.models.fetch import fetch_package

EDGE_BYTES = 1024
PADDING_TOKEN = 256


def magika_path() -> Path:
    """Return the ONNX file (int32 input `bytes` [N, 2048])."""
    return next(fetch_package("magika", "1.0.3").rglob("standard_v3_3/model.onnx"))


def features(content: bytes) -> np.ndarray:
    """First and last 1,024 bytes without surrounding white space, padded with token 256: int32 [1, 2048]."""
    head = content[: 4 * EDGE_BYTES].lstrip()[:EDGE_BYTES]
    tail = content[-4 * EDGE_BYTES :].rstrip()[-EDGE_BYTES:]
    row = np.full(2 * EDGE_BYTES, PADDING_TOKEN, np.int32)
    row[: len(head)] = np.frombuffer(head, np.uint8)
    row[2 * EDGE_BYTES - len(tail) :] = np.frombuffer(tail, np.uint8)
    return row[None]


def local_files(count: int, seed: int = 0) -> list[Path]:
    """A seeded choice of files of this Python installation, of many types."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found = sorted(
        p
        for p in root.rglob("*")
        if p.is_file() and 64 <= p.stat().st_size <= 1_000_000 and "site-packages" not in p.parts
    )
    by_suffix: dict[str, list[Path]] = {}
    for path in found:
        by_suffix.setdefault(path.suffix, []).append(path)
    rng = np.random.default_rng(seed)
    for group in by_suffix.values():
        rng.shuffle(group)  # type: ignore[arg-type]
    chosen: list[Path] = []
    while len(chosen) < count and any(by_suffix.values()):
        for group in by_suffix.values():
            if group and len(chosen) < count:
                chosen.append(group.pop())
    return chosen
