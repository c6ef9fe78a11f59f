"""Damaged configuration files and calibration manifests, seeded: each must be valid or end in one documented error."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml

from qbc.calibration import InputSpec, open_samples
from qbc.config import CompileConfig, ConfigWarning
from qbc.errors import QBCompilerError

TOKENS = [
    "true", "null", "[]", "{}", "-1", "1e400", "x", "*a", "&a", ": ", "\n", "  ", "'", "{", "]", "\t", "0x", "#",
    "!!int", "? ", "~", "\x00", "é", "\ud7ff", '"', "- ", "NaN", "9" * 30, "../", "/", ",",
]  # fmt: skip
OLD = """calibration: {quantization_method: 1, percentile: 0.9}
advancedQuantization:
  layerBiasCorrection: {apply: true}
optq: {apply: false, actOrder: true}
"""


def damaged(text: str, generator: random.Random) -> str:
    """Return the text with lines moved, lost or repeated, and tokens written into it."""
    lines = text.split("\n")
    for _ in range(generator.choice([0, 0, 1, 3])):
        first, second = generator.randrange(len(lines)), generator.randrange(len(lines))
        kind = generator.randrange(3)
        if kind == 0:
            lines[first], lines[second] = lines[second], lines[first]
        elif kind == 1:
            lines[first] = ""
        else:
            lines.insert(first, lines[second])
    text = "\n".join(lines)
    for _ in range(generator.choice([0, 1, 1, 2, 5])):
        position = generator.randrange(len(text) + 1)
        text = text[:position] + generator.choice(TOKENS) + text[position + generator.randrange(4) :]
    return text


def configurations(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield suffix and content of damaged configuration files."""
    generator = random.Random(seed)
    sources = [
        (".yaml", yaml.safe_dump(CompileConfig().grouped(), sort_keys=False)),
        (".json", json.dumps(CompileConfig.from_preset("yolo_640").grouped(), indent=1)),
        (".yml", OLD),
    ]
    for _ in range(count):
        suffix, text = generator.choice(sources)
        yield suffix, damaged(text, generator).encode("utf-8", "surrogatepass")


def try_configurations(directory: Path, seed: int, count: int) -> tuple[int, int]:
    """Read damaged configurations; returns how many were valid and how many were refused."""
    valid = 0
    for suffix, content in configurations(seed, count):
        path = directory / f"damaged{suffix}"
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConfigWarning)
                CompileConfig.from_file(path)
            valid += 1
        except QBCompilerError as error:
            if error.code != "CONFIG_ERROR":
                raise
    return valid, count - valid


def try_manifests(directory: Path, seed: int, count: int) -> tuple[int, int]:
    """Read the samples of damaged manifests; returns how many were valid and how many were refused."""
    generator = random.Random(seed)
    specs = [InputSpec("image", (1, 2, 2, 3)), InputSpec("mask", (1, 2, 2, 1))]
    for index in range(2):
        for spec in specs:
            np.save(directory / f"{spec.name}{index}.npy", np.zeros(spec.shape, np.float32))
    manifest = {
        "info": {"input names": ["image", "mask"], "input shapes": [[1, -1, -1, 3], [1, 2, 2, 1]]},
        "calib paths": [["image0.npy", "mask0.npy"], ["image1.npy", "mask1.npy"]],
    }
    text = json.dumps(manifest, indent=1)
    valid = 0
    for _ in range(count):
        path = directory / "damaged.json"
        path.write_bytes(damaged(text, generator).encode("utf-8", "surrogatepass"))
        try:
            for _ in open_samples(str(path), specs, lambda notice: None):
                pass
            valid += 1
        except QBCompilerError as error:
            if error.code in ("INTERNAL_ERROR", "CONFIG_ERROR"):
                raise
    return valid, count - valid
