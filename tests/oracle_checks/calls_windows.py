"""Random pooling, reductions and resizing."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np

from tests.oracle_checks.random_values import Case, Rng, codes, make_call, multiplier, near, output, types, zero_point


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
    dtype = types(rng)[0]
    attributes, x_shape, shape = _window(rng, dilated=False)
    attributes["dilations"] = (1, 1)
    return make_call("max_pool2d", [(codes(rng, x_shape, dtype), dtype)], shape, dtype, attributes)


def avg_pool2d(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    attributes, x_shape, shape = _window(rng, dilated=False)
    taps = attributes["kernel"][0] * attributes["kernel"][1]
    pairs = [multiplier(rng, 2.0 ** (7 if x_type == "i8" else 15) * n, y_type) for n in range(1, taps + 1)]
    constants = {
        "counts": np.arange(1, taps + 1, dtype=np.int64),
        "multiplier": np.array([m for m, _ in pairs], np.int64),
        "shift": np.array([s for _, s in pairs], np.int64),
    }
    attributes.update(count_include_pad=int(rng.integers(0, 2)), zx=zero_point(rng, x_type), **output(rng, y_type))
    return make_call("avg_pool2d", [(codes(rng, x_shape, x_type), x_type)], shape, y_type, attributes, constants)


def _reduction(rng: Rng) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(1, 5))))
    if rng.random() < 0.3:  # few elements behind the reduced axis
        shape, axes = (*shape[:2], int(rng.integers(1, 4))), (len(shape[:2]) - 1,)
        return shape, axes, tuple(1 if i in axes else n for i, n in enumerate(shape))
    count = int(rng.integers(1, len(shape) + 1))
    axes = tuple(sorted(int(a) for a in rng.choice(len(shape), count, replace=False)))
    return shape, axes, tuple(1 if i in axes else n for i, n in enumerate(shape))


def reduce_sum(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    x_shape, axes, shape = _reduction(rng)
    n = int(np.prod([x_shape[a] for a in axes]))
    m, s = multiplier(rng, n * 2.0 ** (7 if x_type == "i8" else 15), y_type)
    attributes = {"axes": axes, "zx": zero_point(rng, x_type), "m": m, "s": s, **output(rng, y_type)}
    return make_call("reduce_sum", [(codes(rng, x_shape, x_type), x_type)], shape, y_type, attributes)


def reduce_extremum(kind: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        dtype = types(rng)[0]
        x_shape, axes, shape = _reduction(rng)
        return make_call(kind, [(codes(rng, x_shape, dtype), dtype)], shape, dtype, {"axes": axes})

    return case


def reduce_l2(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    x_shape, axes, shape = _reduction(rng)
    n = int(np.prod([x_shape[a] for a in axes]))
    m, s = multiplier(rng, n**0.5 * 2.0 ** (7 if x_type == "i8" else 15), y_type)
    attributes = {"axes": axes, "zx": zero_point(rng, x_type), "m": m, "s": s, **output(rng, y_type)}
    x = codes(rng, x_shape, x_type)
    choice = rng.random()
    if choice < 0.3:
        x[:] = attributes["zx"]
    elif choice < 0.5:
        x = near(rng, x, attributes["zx"], x_type)
    if choice < 0.1:  # norms of 1, which show
        x.reshape(-1)[0] += 1 if attributes["zx"] < 0 else -1
        attributes["m"], attributes["s"] = int(rng.integers(1 << 30, 1 << 31)), int(rng.integers(25, 31))
    elif choice < 0.25:  # shifts about the longest one, where a norm is one step or none
        x[:] = attributes["zx"] + (1 if attributes["zx"] < 0 else -1)
        longest = 62 - ((62 - n.bit_length()) & ~1) // 2
        attributes["m"], attributes["s"] = int(rng.integers(7 << 28, 1 << 31)), longest + int(rng.integers(-1, 2))
    elif rng.random() < 0.4:
        _at_a_boundary(rng, attributes, x)
    return make_call("reduce_l2", [(x, x_type)], shape, y_type, attributes)


def _at_a_boundary(rng: Rng, attributes: dict[str, Any], x: np.ndarray) -> None:
    """Choose m so that the last bit of its root alone decides how the first norm rounds: just up, or just not up."""
    axes = attributes["axes"]
    first = x[tuple(slice(None) if axis in axes else 0 for axis in range(x.ndim))].astype(np.int64)
    total = int(np.square(first - attributes["zx"]).sum())
    if total == 0:
        return
    scaled = (62 - total.bit_length()) & ~1
    root, shift = isqrt(total << scaled), attributes["s"] + scaled // 2
    if not 1 <= shift <= 60:
        return
    candidates = rng.integers(1 << 30, 1 << 31, 1 << 18).astype(np.uint64)
    above = (np.uint64(root) * candidates + np.uint64(1 << (shift - 1))) & np.uint64((1 << shift) - 1)
    attributes["m"] = int(candidates[np.argmin(above) if rng.random() < 0.5 else np.argmax(above)])


def arg_max(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(1, 5))))
    axis = int(rng.integers(0, len(shape)))
    out = tuple(1 if i == axis else n for i, n in enumerate(shape))
    return make_call("arg_max", [(codes(rng, shape, dtype), dtype)], out, "i32", {"axis": axis})


def resize_nearest(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 7, 4))
    out_h, out_w = (int(n) for n in rng.integers(1, 9, 2))
    constants = {
        "index_h": rng.integers(0, shape[1], out_h).astype(np.int32),
        "index_w": rng.integers(0, shape[2], out_w).astype(np.int32),
    }
    return make_call(
        "resize_nearest", [(codes(rng, shape, dtype), dtype)], (shape[0], out_h, out_w, shape[3]), dtype, {}, constants
    )


def resize_linear(rng: Rng) -> Case:
    x_type, y_type = types(rng)
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
    return make_call(
        "resize_linear",
        [(codes(rng, shape, x_type), x_type)],
        (shape[0], out_h, out_w, shape[3]),
        y_type,
        attributes,
        constants,
    )
