"""Sums of products: convolution, transposed convolution, linear, matrix product, and the fused add after them."""

from __future__ import annotations

import numpy as np

from .arithmetic import Attributes, clamp, exact, planes, requantize, rounded_shift


def conv2d(inputs: list[np.ndarray], a: Attributes, c: Attributes, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Convolution with padded positions that hold zx; weight [OC,KH,KW,C/g]."""
    x = inputs[0].astype(np.int64)
    return _finish(lambda part, zx: _conv_sum(part, c["weight"].astype(np.int64), a, zx, shape), x, inputs, a, c, dtype)


def transpose_conv2d(
    inputs: list[np.ndarray], a: Attributes, c: Attributes, shape: tuple[int, ...], dtype: str
) -> np.ndarray:
    """Transposed convolution: zero insertion writes zx into the gaps, then every tap counts."""
    x = inputs[0].astype(np.int64)
    weight = c["weight"].astype(np.int64)
    return _finish(lambda part, zx: _transposed_sum(part, weight, a, zx, shape), x, inputs, a, c, dtype)


def linear(inputs: list[np.ndarray], a: Attributes, c: Attributes, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """`x @ weight^T` over the last axis; weight [OC,IC]."""
    x = inputs[0].astype(np.int64)
    weight = c["weight"].astype(np.int64)
    return _finish(lambda part, zx: part @ weight.T, x, inputs, a, c, dtype)


def matmul(inputs: list[np.ndarray], a: Attributes, c: Attributes, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Product of two activations, both zero points removed exactly."""
    left = inputs[0].astype(np.int64) - a["za"]
    right = inputs[1].astype(np.int64) - a["zb"]
    if a["transpose_b"]:
        right = np.swapaxes(right, -1, -2)
    return requantize(left @ right, a["m"], a["s"], a["z"], a["lo"], a["hi"])


def _finish(total, x: np.ndarray, inputs: list[np.ndarray], a: Attributes, c: Attributes, dtype: str) -> np.ndarray:
    plane = a.get("plane", "full")
    if plane == "hi":
        return exact(total(planes(x)[0], 0))
    rest = list(inputs[1:])
    acc = 256 * rest.pop(0).astype(np.int64) + total(planes(x)[1], 0) if plane == "lo" else total(x, a["zx"])
    codes = requantize(exact(acc) + exact(c["bias"]), c["multiplier"], c["shift"], a["z"], a["lo"], a["hi"])
    if "table" in c:
        codes = exact(c["table"])[(codes + 128).astype(np.int64)]
    return _fused_add(codes, rest[0], a) if rest else codes


def _fused_add(codes: np.ndarray, residual: np.ndarray, a: Attributes) -> np.ndarray:
    left = (codes - a["add_za"]) * a["add_ma"]
    right = (exact(residual) - a["add_zb"]) * a["add_mb"]
    return clamp(a["add_z"] + rounded_shift(left + right, a["add_s"]), a["add_lo"], a["add_hi"])


def _conv_sum(x: np.ndarray, weight: np.ndarray, a: Attributes, zx: int, shape: tuple[int, ...]) -> np.ndarray:
    (sh, sw), (dh, dw), groups = a["strides"], a["dilations"], a["groups"]
    top, left = a["padding"][:2]
    _, height, width, out_channels = shape
    _, kh, kw, per_group = weight.shape
    below = max(0, (height - 1) * sh + (kh - 1) * dh + 1 - top - x.shape[1])
    right = max(0, (width - 1) * sw + (kw - 1) * dw + 1 - left - x.shape[2])
    padded = np.pad(x, ((0, 0), (top, below), (left, right), (0, 0)), constant_values=zx)
    acc = np.zeros(shape, np.int64)
    step = out_channels // groups
    for ky in range(kh):
        for kx in range(kw):
            rows = padded[:, ky * dh : ky * dh + (height - 1) * sh + 1 : sh]
            taps = rows[:, :, kx * dw : kx * dw + (width - 1) * sw + 1 : sw]
            if per_group == 1 and groups == out_channels == x.shape[3]:
                acc += taps * weight[:, ky, kx, 0]
                continue
            for g in range(groups):
                part = weight[g * step : (g + 1) * step, ky, kx]
                acc[..., g * step : (g + 1) * step] += taps[..., g * per_group : (g + 1) * per_group] @ part.T
    return acc


def _transposed_sum(x: np.ndarray, weight: np.ndarray, a: Attributes, zx: int, shape: tuple[int, ...]) -> np.ndarray:
    (sh, sw), (dh, dw), groups = a["strides"], a["dilations"], a["groups"]
    top, left = a["padding"][:2]
    _, kh, kw, per_group = weight.shape
    step = weight.shape[0] // groups
    acc = np.zeros(shape, np.int64)
    for oy in range(shape[1]):
        for ox in range(shape[2]):
            for ky in range(kh):
                for kx in range(kw):
                    value = _inserted(x, oy + top - ky * dh, ox + left - kx * dw, sh, sw, zx)
                    for g in range(groups):
                        part = weight[g * step : (g + 1) * step, ky, kx]
                        acc[:, oy, ox, g * step : (g + 1) * step] += (
                            value[:, g * per_group : (g + 1) * per_group] @ part.T
                        )
    return acc


def _inserted(x: np.ndarray, y: int, column: int, sh: int, sw: int, zx: int) -> np.ndarray:
    inside = y % sh == 0 and column % sw == 0 and 0 <= y // sh < x.shape[1] and 0 <= column // sw < x.shape[2]
    if inside:
        return x[:, y // sh, column // sw]
    return np.full((x.shape[0], x.shape[3]), zx, np.int64)
