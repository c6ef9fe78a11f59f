"""Random parts of kernel calls: codes at and near the ends of their range, multipliers, clamps."""

from __future__ import annotations

import numpy as np

from qbc.kernels import CODE_RANGES, KernelCall
from tests.oracle_checks.compare import spec

Case = tuple[KernelCall, list[np.ndarray]]
Rng = np.random.Generator


def codes(rng: Rng, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Random codes; a quarter of them at the ends of the range."""
    low, high = CODE_RANGES[dtype]
    values = rng.integers(low, high + 1, shape)
    ends = rng.choice([low, high], shape)
    return np.where(rng.random(shape) < 0.25, ends, values)


def near(rng: Rng, values: np.ndarray, center: int, dtype: str) -> np.ndarray:
    """Codes of which half are replaced by ones at most two away from a center."""
    low, high = CODE_RANGES[dtype]
    close = np.clip(center + rng.integers(-2, 3, values.shape), low, high)
    return np.where(rng.random(values.shape) < 0.5, close, values)


def zero_point(rng: Rng, dtype: str) -> int:
    return int(rng.integers(-128, 128)) if dtype == "i8" else 0


EXTREME_MULTIPLIERS = ((0, 1), (1, 1), (3, 1), (5, 2), ((1 << 31) - 1, 62), (1 << 30, 62), (1 << 30, 31))


def multiplier(rng: Rng, acc_bound: float, dtype: str) -> tuple[int, int]:
    """A long multiplier and shift that map `acc_bound` to about the range of the output type; some at the ends."""
    if rng.random() < 0.08:
        m, s = EXTREME_MULTIPLIERS[int(rng.integers(len(EXTREME_MULTIPLIERS)))]
        return (m, s) if acc_bound * m < 2.0**61 else (1, 1)
    ratio = (CODE_RANGES[dtype][1] + 1) / max(acc_bound, 1.0) * rng.uniform(0.3, 3.0)
    exponent = int(np.floor(np.log2(ratio))) + 1
    m = int(rng.integers(1 << 30, 1 << 31))
    return m, int(np.clip(31 - exponent, 1, 62))


def clamps(rng: Rng, dtype: str) -> dict[str, int]:
    low, high = CODE_RANGES[dtype]
    if rng.random() < 0.5:
        return {"lo": low, "hi": high}
    a, b = sorted(int(v) for v in rng.integers(low, high + 1, 2))
    return {"lo": a, "hi": b}


def output(rng: Rng, dtype: str) -> dict[str, int]:
    return {"z": zero_point(rng, dtype), **clamps(rng, dtype)}


def types(rng: Rng) -> tuple[str, str]:
    return str(rng.choice(["i8", "i8", "i16"])), str(rng.choice(["i8", "i8", "i16"]))


def make_call(kind: str, inputs: list[tuple[np.ndarray, str]], shape, y_type: str, attributes, constants=None) -> Case:
    specs = tuple(spec(array.shape, dtype) for array, dtype in inputs)
    return KernelCall(kind, specs, spec(shape, y_type), attributes, constants or {}), [array for array, _ in inputs]
