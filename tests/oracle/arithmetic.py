"""Rounding, requantization and number ranges, in Python integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np

CODE_RANGES = {"i8": (-128, 127), "i16": (-32768, 32639)}
Attributes = Mapping[str, Any]


def exact(array: np.ndarray) -> np.ndarray:
    """Return the same numbers as an object array of Python integers."""
    flat = [int(value) for value in np.asarray(array).reshape(-1)]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(np.shape(array))


def clamp(values: np.ndarray, low: int, high: int) -> np.ndarray:
    """Clamp Python integers."""
    return np.minimum(np.maximum(values, low), high)


def rounded_shift(product: np.ndarray, shift: np.ndarray | int) -> np.ndarray:
    """`(product + 2^(shift-1)) >> shift`: one rounding, halves toward plus infinity."""
    half = exact(np.asarray(shift)) - 1
    return (product + 2**half) >> exact(np.asarray(shift))


def requantize(acc: np.ndarray, m: Any, s: Any, z: int, low: int, high: int) -> np.ndarray:
    """`clamp(z + ((acc*m + 2^(s-1)) >> s))` with scalars or per-channel arrays over the last axis."""
    return clamp(z + rounded_shift(exact(acc) * exact(np.asarray(m)), s), low, high)


def planes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split 16-bit codes into signed bytes: `x = 256*hi + lo`."""
    hi = (x + 128) >> 8
    return hi, x - 256 * hi


@cache
def softmax_exponentials() -> Sequence[int]:
    """257 nodes `E[k] = floor(2^(30 - k/256) + 1/2)`."""
    with localcontext() as context:
        context.prec = 60
        return [int(Decimal(2) ** (Decimal(30) - Decimal(k) / 256) + Decimal("0.5")) for k in range(257)]


@cache
def log2_nodes() -> Sequence[int]:
    """257 nodes `floor(2^24 * log2(1 + i/256) + 1/2)`."""
    with localcontext() as context:
        context.prec = 60
        ln2 = Decimal(2).ln()
        return [int(Decimal(2**24) * (1 + Decimal(i) / 256).ln() / ln2 + Decimal("0.5")) for i in range(257)]
