"""Runs kernel calls on codes, and the one formula that all references share, on Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from qbc.kernels import KernelCall, TensorSpec, prepare
from qbc.kernels.storage import load_codes, store_codes

RANGES = {"i8": (-128, 127), "i16": (-32768, 32639)}


def execute(
    kind: str,
    inputs: list[tuple[np.ndarray, str]],
    output: tuple[tuple[int, ...], str],
    attributes: dict[str, Any],
    constants: dict[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Run one call; inputs and result are codes."""
    specs = tuple(TensorSpec(tuple(codes.shape), dtype) for codes, dtype in inputs)
    call = KernelCall(kind, specs, TensorSpec(*output), attributes, constants or {})
    stored = [store_codes(np.asarray(codes), dtype) for codes, dtype in inputs]
    out = np.empty(output[0], call.output.numpy_dtype)
    prepare(call)(*stored, out)
    return load_codes(out) if output[1] == "f32" else load_codes(out).astype(np.int64)


def rescale(acc: Any, m: Any, s: Any, z: int, lo: int, hi: int) -> np.ndarray:
    """`clamp(z + ((acc*m + 2^(s-1)) >> s))` on Python integers (arrays of objects), so nothing can overflow."""
    acc, m, s = (np.asarray(v).astype(object) for v in (acc, m, s))
    halves = np.vectorize(lambda v: 1 << (v - 1), otypes=[object])(s)
    powers = np.vectorize(lambda v: 1 << v, otypes=[object])(s)
    return np.clip(z + (acc * m + halves) // powers, lo, hi).astype(np.int64)


def codes(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "i8") -> np.ndarray:
    """Random codes of a type, with its extreme values among them."""
    low, high = RANGES[dtype]
    values = rng.integers(low, high + 1, shape)
    extreme = rng.random(shape)
    return np.where(extreme < 0.05, low, np.where(extreme > 0.95, high, values))
