"""How codes lie in memory: i8 tensors as offset-binary bytes (code + 128), i16 and i32 tensors as they are."""

from __future__ import annotations

import numpy as np

from qbc.kernels.compile import Array
from qbc.kernels.spec import CODE_RANGES

STORAGE_OFFSETS: dict[str, int] = {"i8": 128, "i16": 0, "i32": 0}


def to_bytes(codes: Array) -> Array:
    """Return i8 codes (any integer dtype, values -128..127) as offset-binary uint8: `code + 128`."""
    if codes.dtype == np.int8:
        return np.asarray(np.asarray(codes, order="C").view(np.uint8) ^ np.uint8(128))
    return (codes.astype(np.int64) + 128).astype(np.uint8)


def to_codes(stored: Array) -> Array:
    """Return offset-binary uint8 as int8 codes; the inverse of `to_bytes`."""
    return np.asarray(np.asarray(stored, order="C") ^ np.uint8(128)).view(np.int8)


def store_codes(codes: Array, dtype: str) -> Array:
    """Return codes in the storage form of `dtype` (`i8`, `i16` or `i32`)."""
    if dtype == "i8":
        return to_bytes(codes)
    return np.asarray(codes, dtype=np.int16 if dtype == "i16" else np.int32, order="C")


def load_codes(stored: Array) -> Array:
    """Return stored codes as plain integers: int8 for bytes, everything else unchanged."""
    return to_codes(stored) if stored.dtype == np.uint8 else stored


def quantize_to_codes(x: Array, scale: float | Array, z: int, dtype: str) -> Array:
    """Quantize floats at the graph boundary; `scale` is one number, or one for each channel of the last axis.

    `clamp(rint(x / scale), qmin - z, qmax - z) + z`: one float32 division by the float32 scale, halves to even, NaN
    becomes z, infinities saturate. Returns int8 codes for `i8` and int16 codes for `i16`.
    """
    low, high = CODE_RANGES[dtype]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        steps = np.rint(np.asarray(x, dtype=np.float32) / np.asarray(scale, np.float32))
    steps = np.clip(np.nan_to_num(steps, nan=0.0), np.float32(low - z), np.float32(high - z))
    codes = steps.astype(np.int32) + np.int32(z)
    return np.asarray(codes.astype(np.int8 if dtype == "i8" else np.int16))


def dequantize(codes: Array, scale: float | Array, z: int) -> Array:
    """Return `float32(code - z) * scale`, one float32 multiplication; `codes` are codes, not offset-binary bytes.

    `scale` is one number, or one for each channel of the last axis.
    """
    return np.asarray((codes.astype(np.int32) - np.int32(z)).astype(np.float32) * np.asarray(scale, np.float32))
