"""Random valid kernel calls of every kind, with codes at and near the ends of the ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qbc.kernels import CODE_RANGES, KernelCall
from tests.oracle.arithmetic import log2_nodes
from tests.oracle.compare import spec

Case = tuple[KernelCall, list[np.ndarray]]
Rng = np.random.Generator


def codes(rng: Rng, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Random codes; a quarter of them at the ends of the range."""
    low, high = CODE_RANGES[dtype]
    values = rng.integers(low, high + 1, shape)
    ends = rng.choice([low, high], shape)
    return np.where(rng.random(shape) < 0.25, ends, values)


def zero_point(rng: Rng, dtype: str) -> int:
    return int(rng.integers(-128, 128)) if dtype == "i8" else 0


def multiplier(rng: Rng, acc_bound: float, dtype: str) -> tuple[int, int]:
    """A long multiplier and shift that map `acc_bound` to about the range of the output type."""
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


def _types(rng: Rng) -> tuple[str, str]:
    return str(rng.choice(["i8", "i8", "i16"])), str(rng.choice(["i8", "i8", "i16"]))


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


def _call(kind: str, inputs: list[tuple[np.ndarray, str]], shape, y_type: str, attributes, constants=None) -> Case:
    specs = tuple(spec(array.shape, dtype) for array, dtype in inputs)
    return KernelCall(kind, specs, spec(shape, y_type), attributes, constants or {}), [array for array, _ in inputs]


def conv2d(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    groups = int(rng.choice([1, 1, 2, 3]))
    channels, out_channels = groups * int(rng.integers(1, 6)), groups * int(rng.integers(1, 6))
    if rng.random() < 0.3:
        groups = out_channels = channels
    kh, kw, sh, sw, dh, dw = (int(rng.integers(1, n)) for n in (4, 4, 3, 3, 3, 3))
    padding = tuple(int(rng.integers(0, 3)) for _ in range(4))
    height, width = (int(rng.integers(1, 9)) + d * (k - 1) for d, k in ((dh, kh), (dw, kw)))
    shape = (
        int(rng.integers(1, 3)),
        (height + padding[0] + padding[2] - dh * (kh - 1) - 1) // sh + 1,
        (width + padding[1] + padding[3] - dw * (kw - 1) - 1) // sw + 1,
        out_channels,
    )
    weight = rng.integers(-127, 128, (out_channels, kh, kw, channels // groups)).astype(np.int8)
    zx = zero_point(rng, x_type)
    attributes = {
        "strides": (sh, sw),
        "padding": padding,
        "dilations": (dh, dw),
        "groups": groups,
        "zx": zx,
        "plane": "full",
    }
    attributes.update(output(rng, y_type))
    constants = _channels(rng, weight, zx, x_type, y_type, (1, 2, 3))
    inputs = [(codes(rng, (shape[0], height, width, channels), x_type), x_type)]
    final = _fuse(rng, attributes, constants, inputs, shape, y_type)
    return _call("conv2d", inputs, shape, final, attributes, constants)


def transpose_conv2d(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    kh, kw, sh, sw = (int(rng.integers(1, 4)) for _ in range(4))
    groups = int(rng.choice([1, 1, 2]))
    channels, out_channels = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))
    height, width = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    full_h, full_w = (height - 1) * sh + kh + int(rng.integers(0, sh)), (width - 1) * sw + kw + int(rng.integers(0, sw))
    top, left = int(rng.integers(0, min(2, full_h))), int(rng.integers(0, min(2, full_w)))
    shape = (1, full_h - top, full_w - left, out_channels)
    weight = rng.integers(-127, 128, (out_channels, kh, kw, channels // groups)).astype(np.int8)
    zx = zero_point(rng, x_type)
    attributes = {"strides": (sh, sw), "padding": (top, left, 0, 0), "dilations": (1, 1), "groups": groups, "zx": zx}
    attributes.update(plane="full", **output(rng, y_type))
    constants = _channels(rng, weight, zx, x_type, y_type, (1, 2, 3))
    inputs = [(codes(rng, (1, height, width, channels), x_type), x_type)]
    return _call("transpose_conv2d", inputs, shape, y_type, attributes, constants)


def linear(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    channels, out_channels = int(rng.integers(1, 80)), int(rng.integers(1, 12))
    lead = tuple(int(rng.integers(1, 4)) for _ in range(int(rng.integers(1, 3))))
    weight = rng.integers(-127, 128, (out_channels, channels)).astype(np.int8)
    zx = zero_point(rng, x_type)
    attributes = {"zx": zx, "plane": "full", **output(rng, y_type)}
    constants = _channels(rng, weight, zx, x_type, y_type, (1,))
    inputs = [(codes(rng, (*lead, channels), x_type), x_type)]
    final = _fuse(rng, attributes, constants, inputs, (*lead, out_channels), y_type)
    return _call("linear", inputs, (*lead, out_channels), final, attributes, constants)


def matmul(rng: Rng) -> Case:
    a_type, y_type = _types(rng)
    rows, inner, columns = (int(rng.integers(1, 20)) for _ in range(3))
    lead = tuple(int(rng.integers(1, 4)) for _ in range(int(rng.integers(0, 3))))
    transposed = int(rng.integers(0, 2))
    m, s = multiplier(rng, inner * 128.0 * (128 if a_type == "i8" else 32768) / 4, y_type)
    attributes = {"za": zero_point(rng, a_type), "zb": zero_point(rng, "i8"), "transpose_b": transposed, "m": m, "s": s}
    attributes.update(output(rng, y_type))
    right = (*lead, columns, inner) if transposed else (*lead, inner, columns)
    inputs = [(codes(rng, (*lead, rows, inner), a_type), a_type), (codes(rng, right, "i8"), "i8")]
    return _call("matmul", inputs, (*lead, rows, columns), y_type, attributes)


def _broadcast_pair(rng: Rng) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5))))
    left = tuple(n if rng.random() < 0.8 else 1 for n in shape)
    right = tuple(n if rng.random() < 0.7 or left[i] != n else 1 for i, n in enumerate(shape))
    return left, right, shape


def add(rng: Rng) -> Case:
    a_type, y_type = _types(rng)
    b_type = _types(rng)[0]
    left, right, shape = _broadcast_pair(rng)
    m, s = multiplier(rng, 2.0 ** (8 if "i16" not in (a_type, b_type) else 16), y_type)
    attributes = {
        "za": zero_point(rng, a_type),
        "zb": zero_point(rng, b_type),
        "ma": m,
        "mb": int(rng.integers(-m, m)),
        "s": s,
    }
    attributes.update(output(rng, y_type))
    return _call(
        "add", [(codes(rng, left, a_type), a_type), (codes(rng, right, b_type), b_type)], shape, y_type, attributes
    )


def mul(rng: Rng) -> Case:
    a_type, y_type = _types(rng)
    b_type = _types(rng)[0]
    left, right, shape = _broadcast_pair(rng)
    bound = 2.0 ** (8 if a_type == "i8" else 16) * 2.0 ** (8 if b_type == "i8" else 16)
    m, s = multiplier(rng, bound / 4, y_type)
    attributes = {"za": zero_point(rng, a_type), "zb": zero_point(rng, b_type), "m": m, "s": s, **output(rng, y_type)}
    return _call(
        "mul", [(codes(rng, left, a_type), a_type), (codes(rng, right, b_type), b_type)], shape, y_type, attributes
    )


def div(rng: Rng) -> Case:
    a_type, y_type = _types(rng)
    left, right, shape = _broadcast_pair(rng)
    t = int(rng.integers(8, 28))
    attributes = {
        "za": zero_point(rng, a_type),
        "zb": zero_point(rng, "i8"),
        "p": int(rng.integers(1, 1 << 30)),
        "t": t,
    }
    attributes.update(output(rng, y_type))
    return _call(
        "div", [(codes(rng, left, a_type), a_type), (codes(rng, right, "i8"), "i8")], shape, y_type, attributes
    )


def extremum(kind: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        dtype = _types(rng)[0]
        left, right, shape = _broadcast_pair(rng)
        inputs = [(codes(rng, left, dtype), dtype), (codes(rng, right, dtype), dtype)]
        return _call(kind, inputs, shape, dtype, clamps(rng, dtype))

    return case


def requantize(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(1, 5))))
    m, s = multiplier(rng, 2.0 ** (7 if x_type == "i8" else 15), y_type)
    attributes = {"zx": zero_point(rng, x_type), "m": m, "s": s, **output(rng, y_type)}
    return _call("requantize", [(codes(rng, shape, x_type), x_type)], shape, y_type, attributes)


def lut(rng: Rng) -> Case:
    y_type = _types(rng)[1]
    shape = tuple(int(n) for n in rng.integers(1, 8, 4))
    table = codes(rng, (256,), y_type).astype(np.int8 if y_type == "i8" else np.int16)
    return _call("lut", [(codes(rng, shape, "i8"), "i8")], shape, y_type, {}, {"table": table})


def lut16(rng: Rng) -> Case:
    y_type = _types(rng)[1]
    shape = tuple(int(n) for n in rng.integers(1, 8, 4))
    table = np.cumsum(rng.integers(-200, 201, 513)).astype(np.int32)
    return _call("lut16", [(codes(rng, shape, "i16"), "i16")], shape, y_type, clamps(rng, y_type), {"table": table})


def mantissa_lut(rng: Rng) -> Case:
    y_type = _types(rng)[1]
    function = str(rng.choice(["rsqrt", "sqrt", "reciprocal", "log"]))
    mu = 1 + np.arange(257) / 256
    power, bits = {"rsqrt": (-0.5, 30), "sqrt": (0.5, 29), "reciprocal": (-1.0, 30), "log": (0.0, 24)}[function]
    if function == "log":
        table = np.floor(2.0**bits * np.log(mu) + 0.5)
    elif function == "reciprocal":
        table = np.floor(2.0**bits / mu + 0.5)
    else:
        table = np.stack([np.floor(2.0**bits * (mu * 2.0**h) ** power + 0.5) for h in (0, 1)])
    attributes: dict[str, Any] = {"function": function, "m": int(rng.integers(1 << 30, 1 << 31))}
    attributes["s"] = int(rng.integers(40, 60)) if function != "sqrt" else int(rng.integers(52, 62))
    if function == "log":
        attributes.update(c1=11629080, c2=int(rng.integers(-(1 << 27), 1 << 27)))
    attributes.update(output(rng, y_type))
    shape = tuple(int(n) for n in rng.integers(1, 9, 3))
    x = np.where(rng.random(shape) < 0.3, rng.integers(-3, 4, shape), codes(rng, shape, "i16"))
    return _call("mantissa_lut", [(x, "i16")], shape, y_type, attributes, {"table": table.astype(np.int64)})


def softmax(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    shape = (*(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3)))), int(rng.integers(1, 70)))
    k = int(rng.integers(1, 1 << 24)) >> (0 if x_type == "i8" else 8)
    attributes = {
        "k": max(k, 1),
        "q": int(rng.integers(1 << 14, 1 << 31)),
        "g": int(rng.integers(0, 17)),
        **output(rng, y_type),
    }
    return _call("softmax", [(codes(rng, shape, x_type), x_type)], shape, y_type, attributes)


def layer_norm(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    n = int(rng.integers(1, 100))
    shape = (*(int(v) for v in rng.integers(1, 4, 2)), n)
    t = int(rng.integers(20, 40))
    gamma = rng.integers(-(1 << (t - 10)), 1 << (t - 10), n)
    beta = rng.integers(-(1 << (t + 5)), 1 << (t + 5), n)
    attributes = {
        "n": n,
        "zx": zero_point(rng, x_type),
        "eps": int(rng.integers(1, 1000)),
        "t": t,
        "rms": int(rng.integers(0, 2)),
    }
    attributes.update(output(rng, y_type))
    constants = {"gamma": gamma.astype(np.int64), "beta": beta.astype(np.int64)}
    x = codes(rng, shape, x_type)
    if rng.random() < 0.2:
        x[:] = attributes["zx"]
    return _call("layer_norm", [(x, x_type)], shape, y_type, attributes, constants)


def _window(rng: Rng, dilated: bool) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]:
    kh, kw = (int(rng.integers(1, 4)) for _ in range(2))
    sh, sw = (int(rng.integers(1, 4)) for _ in range(2))
    dh, dw = (int(rng.integers(1, 3)) if dilated else 1 for _ in range(2))
    padding = tuple(int(rng.integers(0, k)) for k in (kh, kw, kh, kw))
    x_shape = (
        int(rng.integers(1, 3)),
        dh * (kh - 1) + int(rng.integers(1, 7)),
        dw * (kw - 1) + int(rng.integers(1, 7)),
        int(rng.integers(1, 20)),
    )
    height = (x_shape[1] + padding[0] + padding[2] - dh * (kh - 1) - 1) // sh + 1
    width = (x_shape[2] + padding[1] + padding[3] - dw * (kw - 1) - 1) // sw + 1
    attributes: dict[str, Any] = {"kernel": (kh, kw), "strides": (sh, sw), "padding": padding}
    if dilated:
        attributes["dilations"] = (dh, dw)
    return attributes, x_shape, (x_shape[0], height, width, x_shape[3])


def max_pool2d(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    attributes, x_shape, shape = _window(rng, dilated=False)
    attributes["dilations"] = (1, 1)
    return _call("max_pool2d", [(codes(rng, x_shape, dtype), dtype)], shape, dtype, attributes)


def avg_pool2d(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    attributes, x_shape, shape = _window(rng, dilated=False)
    taps = attributes["kernel"][0] * attributes["kernel"][1]
    pairs = [multiplier(rng, 2.0 ** (7 if x_type == "i8" else 15) * n, y_type) for n in range(1, taps + 1)]
    constants = {
        "counts": np.arange(1, taps + 1, dtype=np.int64),
        "multiplier": np.array([m for m, _ in pairs], np.int64),
        "shift": np.array([s for _, s in pairs], np.int64),
    }
    attributes.update(count_include_pad=int(rng.integers(0, 2)), zx=zero_point(rng, x_type), **output(rng, y_type))
    return _call("avg_pool2d", [(codes(rng, x_shape, x_type), x_type)], shape, y_type, attributes, constants)


def _reduction(rng: Rng) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(1, 5))))
    count = int(rng.integers(1, len(shape) + 1))
    axes = tuple(sorted(int(a) for a in rng.choice(len(shape), count, replace=False)))
    return shape, axes, tuple(1 if i in axes else n for i, n in enumerate(shape))


def reduce_sum(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    x_shape, axes, shape = _reduction(rng)
    n = int(np.prod([x_shape[a] for a in axes]))
    m, s = multiplier(rng, n * 2.0 ** (7 if x_type == "i8" else 15), y_type)
    attributes = {"axes": axes, "zx": zero_point(rng, x_type), "m": m, "s": s, **output(rng, y_type)}
    return _call("reduce_sum", [(codes(rng, x_shape, x_type), x_type)], shape, y_type, attributes)


def reduce_extremum(kind: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        dtype = _types(rng)[0]
        x_shape, axes, shape = _reduction(rng)
        return _call(kind, [(codes(rng, x_shape, dtype), dtype)], shape, dtype, {"axes": axes})

    return case


def reshape(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, 4))
    return _call("reshape", [(codes(rng, shape, dtype), dtype)], (shape[0] * shape[1], shape[3], shape[2]), dtype, {})


def transpose(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 6))))
    permutation = tuple(int(a) for a in rng.permutation(len(shape)))
    out = tuple(shape[a] for a in permutation)
    return _call("transpose", [(codes(rng, shape, dtype), dtype)], out, dtype, {"permutation": permutation})


def slice_codes(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(1, 5))))
    starts = tuple(int(rng.integers(0, n)) for n in shape)
    steps = tuple(int(rng.integers(1, 4)) for _ in shape)
    out = tuple(int(rng.integers(1, (n - a - 1) // s + 2)) for n, a, s in zip(shape, starts, steps, strict=True))
    return _call("slice", [(codes(rng, shape, dtype), dtype)], out, dtype, {"starts": starts, "steps": steps})


def concat(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = [int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5)))]
    axis = int(rng.integers(0, len(shape)))
    extents = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
    inputs = [(codes(rng, tuple(e if i == axis else n for i, n in enumerate(shape)), dtype), dtype) for e in extents]
    out = tuple(sum(extents) if i == axis else n for i, n in enumerate(shape))
    return _call("concat", inputs, out, dtype, {"axis": axis})


def expand(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5))))
    source = tuple(n if rng.random() < 0.5 else 1 for n in shape)
    return _call("expand", [(codes(rng, source, dtype), dtype)], shape, dtype, {})


def gather(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 4))))
    axis = int(rng.integers(0, len(shape)))
    index_shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(0, 3))))
    indices = rng.integers(-shape[axis], shape[axis], index_shape)
    out = (*shape[:axis], *index_shape, *shape[axis + 1 :])
    return _call(
        "gather", [(codes(rng, shape, dtype), dtype), (np.asarray(indices), "i32")], out, dtype, {"axis": axis}
    )


def pad(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5))))
    before, after = (tuple(int(n) for n in rng.integers(0, 3, len(shape))) for _ in range(2))
    attributes: dict[str, Any] = {"before": before, "after": after, "value": int(codes(rng, (1,), dtype)[0])}
    constants = {}
    if rng.random() < 0.3:
        attributes.update(before=(*before[:-1], 0), after=(*after[:-1], 0))
        constants["codes"] = codes(rng, (shape[-1],), dtype).astype(np.int8 if dtype == "i8" else np.int16)
    out = tuple(n + b + a for n, b, a in zip(shape, attributes["before"], attributes["after"], strict=True))
    return _call("pad", [(codes(rng, shape, dtype), dtype)], out, dtype, attributes, constants)


def resize_nearest(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 7, 4))
    out_h, out_w = (int(n) for n in rng.integers(1, 9, 2))
    constants = {
        "index_h": rng.integers(0, shape[1], out_h).astype(np.int32),
        "index_w": rng.integers(0, shape[2], out_w).astype(np.int32),
    }
    return _call(
        "resize_nearest", [(codes(rng, shape, dtype), dtype)], (shape[0], out_h, out_w, shape[3]), dtype, {}, constants
    )


def resize_linear(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    shape = tuple(int(n) for n in rng.integers(1, 7, 4))
    out_h, out_w = (int(n) for n in rng.integers(1, 9, 2))
    constants = {}
    for name, extent, count in (("h", shape[1], out_h), ("w", shape[2], out_w)):
        constants[f"{name}0"] = rng.integers(0, extent, count).astype(np.int32)
        constants[f"{name}1"] = rng.integers(0, extent, count).astype(np.int32)
        constants[f"{name}w"] = rng.choice([0, 1, 1024, 2047, 2048], count).astype(np.int32)
    constants["ww"], constants["hw"] = constants.pop("ww"), constants.pop("hw")
    m, s = multiplier(rng, 2.0 ** (22 + (7 if x_type == "i8" else 15)), y_type)
    if x_type == "i16":  # the accumulator needs 38 bits: short form
        m, s = m >> 16, max(1, s - 16)
    attributes = {"zx": zero_point(rng, x_type), "m": m, "s": s, **output(rng, y_type)}
    return _call(
        "resize_linear",
        [(codes(rng, shape, x_type), x_type)],
        (shape[0], out_h, out_w, shape[3]),
        y_type,
        attributes,
        constants,
    )


def predicate(kind: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        logical = kind.startswith("logical")
        dtype = "i8" if logical else _types(rng)[0]
        left, right, shape = _broadcast_pair(rng)
        pair = [rng.integers(0, 2, s) if logical else rng.integers(-3, 4, s) for s in (left, right)]
        if kind == "logical_not":
            return _call(kind, [(pair[0], dtype)], left, "i8", {})
        return _call(kind, [(codes_, dtype) for codes_ in pair], shape, "i8", {})

    return case


def where(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    left, right, shape = _broadcast_pair(rng)
    inputs = [(rng.integers(0, 2, shape), "i8"), (codes(rng, left, dtype), dtype), (codes(rng, right, dtype), dtype)]
    return _call("where", inputs, shape, dtype, {})


def tile(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5))))
    repeats = tuple(int(n) for n in rng.integers(1, 4, len(shape)))
    out = tuple(n * r for n, r in zip(shape, repeats, strict=True))
    return _call("tile", [(codes(rng, shape, dtype), dtype)], out, dtype, {"repeats": repeats})


def arg_max(rng: Rng) -> Case:
    dtype = _types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(1, 5))))
    axis = int(rng.integers(0, len(shape)))
    out = tuple(1 if i == axis else n for i, n in enumerate(shape))
    return _call("arg_max", [(codes(rng, shape, dtype), dtype)], out, "i32", {"axis": axis})


def log_softmax(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    shape = (*(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3)))), int(rng.integers(1, 70)))
    k = int(rng.integers(1, 1 << 24)) >> (0 if x_type == "i8" else 8)
    attributes = {"k": max(k, 1), "m": int(rng.integers(1 << 30, 1 << 31)), "s": int(rng.integers(44, 56))}
    attributes.update(output(rng, y_type))
    constants = {"table": np.array(log2_nodes(), np.int64)}
    return _call("log_softmax", [(codes(rng, shape, x_type), x_type)], shape, y_type, attributes, constants)


def reduce_l2(rng: Rng) -> Case:
    x_type, y_type = _types(rng)
    x_shape, axes, shape = _reduction(rng)
    attributes = {"axes": axes, "zx": zero_point(rng, x_type), "m": int(rng.integers(1 << 30, 1 << 31))}
    attributes.update(s=int(rng.integers(24, 36)), **output(rng, y_type))
    x = codes(rng, x_shape, x_type)
    if rng.random() < 0.2:
        x[:] = attributes["zx"]
    return _call("reduce_l2", [(x, x_type)], shape, y_type, attributes)


CASES: dict[str, Callable[[Rng], Case]] = {
    "conv2d": conv2d,
    "transpose_conv2d": transpose_conv2d,
    "linear": linear,
    "matmul": matmul,
    "add": add,
    "mul": mul,
    "div": div,
    "maximum": extremum("maximum"),
    "minimum": extremum("minimum"),
    "requantize": requantize,
    "lut": lut,
    "lut16": lut16,
    "mantissa_lut": mantissa_lut,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "reduce_sum": reduce_sum,
    "reduce_max": reduce_extremum("reduce_max"),
    "reduce_min": reduce_extremum("reduce_min"),
    "reshape": reshape,
    "transpose": transpose,
    "slice": slice_codes,
    "concat": concat,
    "expand": expand,
    "gather": gather,
    "pad": pad,
    "resize_nearest": resize_nearest,
    "resize_linear": resize_linear,
    **{kind: predicate(kind) for kind in ("equal", "greater", "less", "logical_and", "logical_or", "logical_not")},
    "where": where,
    "tile": tile,
    "arg_max": arg_max,
    "log_softmax": log_softmax,
    "reduce_l2": reduce_l2,
}
