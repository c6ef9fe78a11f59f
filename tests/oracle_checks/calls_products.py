"""Random convolutions and matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_checks.random_values import Case, Rng, codes, make_call, multiplier, output, types, zero_point


def _channels(
    rng: Rng, weight: np.ndarray, zx: int, x_type: str, y_type: str, taps_axes: tuple[int, ...]
) -> dict[str, np.ndarray]:
    sums = np.abs(weight.astype(np.int64)).sum(taps_axes)
    bound = np.maximum(sums, 1) * (128 if x_type == "i8" else 32768)
    pairs = [multiplier(rng, float(b) / 4, y_type) for b in bound]
    bias = rng.integers(-(1 << 14), 1 << 14, len(weight)) - zx * weight.astype(np.int64).sum(taps_axes)
    return {
        "weight": weight,
        "bias": bias.astype(np.int64),
        "multiplier": np.array([m for m, _ in pairs], np.int64),
        "shift": np.array([s for _, s in pairs], np.int64),
    }


def _fuse(
    rng: Rng, attributes: dict[str, Any], constants: dict[str, Any], inputs: list[Any], shape, y_type: str
) -> str:
    """Sometimes add a table or a residual; returns the type of the final output."""
    choice = rng.random()
    if choice < 0.25 and y_type == "i8":
        final = str(rng.choice(["i8", "i16"]))
        constants["table"] = codes(rng, (256,), final).astype(np.int8 if final == "i8" else np.int16)
        return final
    if choice < 0.5 and attributes.get("plane", "full") == "full":
        residual_type = y_type
        m, s = multiplier(rng, 2.0 ** (8 if y_type == "i8" else 16), y_type)
        za = attributes["z"]
        other = {"add_za": za, "add_zb": zero_point(rng, residual_type), "add_ma": m, "add_s": s}
        other["add_mb"] = int(rng.integers(-m, m + 1))
        end = output(rng, y_type)
        attributes.update(other, add_z=end["z"], add_lo=end["lo"], add_hi=end["hi"])
        inputs.append((codes(rng, shape, residual_type), residual_type))
    return y_type


def _convolution_shape(rng: Rng) -> tuple[tuple[int, int, int, int], int, int]:
    """Input [N, H, W, C] (without the reach of the kernel), output channels and groups; a third depthwise."""
    kind = rng.random()
    if kind < 0.15:  # depthwise with output rows longer than one segment of the loops
        channels = int(rng.choice([8, 24, 33, 64, 130]))
        width = 600 // channels + int(rng.integers(1, 20))
        return (int(rng.integers(1, 3)), int(rng.integers(1, 4)), width, channels), channels, channels
    groups = int(rng.choice([1, 1, 2, 3]))
    channels, out_channels = groups * int(rng.integers(1, 6)), groups * int(rng.integers(1, 6))
    if kind < 0.4:
        groups = out_channels = channels = int(rng.choice([channels, 8, 16]))
    if kind > 0.9:
        channels, out_channels = groups * 40, groups * 18
    size = (int(rng.integers(1, 9)), int(rng.integers(1, 9)))
    return (int(rng.integers(1, 3)), *size, channels), out_channels, groups


def conv2d(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    (batch, height, width, channels), out_channels, groups = _convolution_shape(rng)
    kh, kw, sh, sw, dh, dw = (int(rng.integers(1, n)) for n in (5, 5, 4, 4, 3, 3))
    padding = tuple(int(rng.integers(0, 4)) for _ in range(4))
    height, width = height + dh * (kh - 1), width + dw * (kw - 1)
    shape = (
        batch,
        (height + padding[0] + padding[2] - dh * (kh - 1) - 1) // sh + 1,
        (width + padding[1] + padding[3] - dw * (kw - 1) - 1) // sw + 1,
        out_channels,
    )
    weight = rng.integers(-127, 128, (out_channels, kh, kw, channels // groups)).astype(np.int8)
    zx = zero_point(rng, x_type)
    attributes = {"strides": (sh, sw), "padding": padding, "dilations": (dh, dw), "groups": groups, "zx": zx}
    attributes.update(plane="full", **output(rng, y_type))
    constants = _channels(rng, weight, zx, x_type, y_type, (1, 2, 3))
    inputs = [(codes(rng, (batch, height, width, channels), x_type), x_type)]
    final = _fuse(rng, attributes, constants, inputs, shape, y_type)
    return make_call("conv2d", inputs, shape, final, attributes, constants)


def transpose_conv2d(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    kh, kw, sh, sw, dh, dw = (int(rng.integers(1, 4)) for _ in range(6))
    groups = int(rng.choice([1, 1, 2]))
    channels, out_channels = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))
    batch, height, width = int(rng.integers(1, 3)), int(rng.integers(1, 6)), int(rng.integers(1, 6))
    full = ((height - 1) * sh + dh * (kh - 1) + 1, (width - 1) * sw + dw * (kw - 1) + 1)
    extra = (int(rng.integers(0, max(sh, dh))), int(rng.integers(0, max(sw, dw))))
    before = [int(rng.integers(0, min(3, extent))) for extent in full]
    after = [int(rng.integers(0, min(3, extent - first))) for extent, first in zip(full, before, strict=True)]
    out_h, out_w = (full[axis] - before[axis] - after[axis] + extra[axis] for axis in range(2))
    shape = (batch, out_h, out_w, out_channels)
    weight = rng.integers(-127, 128, (out_channels, kh, kw, channels // groups)).astype(np.int8)
    zx = zero_point(rng, x_type)
    attributes = {"strides": (sh, sw), "padding": (*before, *after), "dilations": (dh, dw), "groups": groups, "zx": zx}
    attributes.update(plane="full", **output(rng, y_type))
    constants = _channels(rng, weight, zx, x_type, y_type, (1, 2, 3))
    inputs = [(codes(rng, (batch, height, width, channels), x_type), x_type)]
    return make_call("transpose_conv2d", inputs, shape, y_type, attributes, constants)


def linear(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    channels, out_channels = int(rng.integers(1, 80)), int(rng.integers(1, 12))
    lead = tuple(int(rng.integers(1, 4)) for _ in range(int(rng.integers(1, 3))))
    weight = rng.integers(-127, 128, (out_channels, channels)).astype(np.int8)
    zx = zero_point(rng, x_type)
    attributes = {"zx": zx, "plane": "full", **output(rng, y_type)}
    constants = _channels(rng, weight, zx, x_type, y_type, (1,))
    inputs = [(codes(rng, (*lead, channels), x_type), x_type)]
    final = _fuse(rng, attributes, constants, inputs, (*lead, out_channels), y_type)
    return make_call("linear", inputs, (*lead, out_channels), final, attributes, constants)


def matmul(rng: Rng) -> Case:
    a_type, y_type = types(rng)
    rows, inner, columns = (int(rng.integers(1, 20)) for _ in range(3))
    lead = tuple(int(rng.integers(1, 4)) for _ in range(int(rng.integers(0, 3))))
    transposed = int(rng.integers(0, 2))
    m, s = multiplier(rng, inner * 128.0 * (128 if a_type == "i8" else 32768) / 4, y_type)
    attributes = {"za": zero_point(rng, a_type), "zb": zero_point(rng, "i8"), "transpose_b": transposed, "m": m, "s": s}
    attributes.update(output(rng, y_type))
    right = (*lead, columns, inner) if transposed else (*lead, inner, columns)
    inputs = [(codes(rng, (*lead, rows, inner), a_type), a_type), (codes(rng, right, "i8"), "i8")]
    return make_call("matmul", inputs, (*lead, rows, columns), y_type, attributes)
