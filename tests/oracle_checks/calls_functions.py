"""Random elementwise operations, tables and normalizations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qbc.kernels import CODE_RANGES
from tests.oracle.arithmetic import log2_nodes
from tests.oracle_checks.random_values import (
    Case,
    Rng,
    clamps,
    codes,
    make_call,
    multiplier,
    near,
    output,
    types,
    zero_point,
)


def _broadcast_pair(rng: Rng) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(0, 5))))
    left = tuple(n if rng.random() < 0.8 else 1 for n in shape)
    right = tuple(n if rng.random() < 0.7 or left[i] != n else 1 for i, n in enumerate(shape))
    return left, right, shape


def add(rng: Rng) -> Case:
    a_type, y_type = types(rng)
    b_type = types(rng)[0]
    left, right, shape = _broadcast_pair(rng)
    m, s = multiplier(rng, 2.0 ** (8 if "i16" not in (a_type, b_type) else 16), y_type)
    attributes = {
        "za": zero_point(rng, a_type),
        "zb": zero_point(rng, b_type),
        "ma": m,
        "mb": int(rng.integers(-m, m + 1)),
        "s": s,
    }
    attributes.update(output(rng, y_type))
    return make_call(
        "add", [(codes(rng, left, a_type), a_type), (codes(rng, right, b_type), b_type)], shape, y_type, attributes
    )


def mul(rng: Rng) -> Case:
    a_type, y_type = types(rng)
    b_type = types(rng)[0]
    left, right, shape = _broadcast_pair(rng)
    bound = 2.0 ** (8 if a_type == "i8" else 16) * 2.0 ** (8 if b_type == "i8" else 16)
    m, s = multiplier(rng, bound / 4, y_type)
    attributes = {"za": zero_point(rng, a_type), "zb": zero_point(rng, b_type), "m": m, "s": s, **output(rng, y_type)}
    return make_call(
        "mul", [(codes(rng, left, a_type), a_type), (codes(rng, right, b_type), b_type)], shape, y_type, attributes
    )


def div(rng: Rng) -> Case:
    a_type, y_type = types(rng)
    left, right, shape = _broadcast_pair(rng)
    za, zb = zero_point(rng, a_type), zero_point(rng, "i8")
    # quotients of -128..127 or of the whole type, at most; some of any size
    t = int(rng.integers(8, 28))
    p = int(rng.integers(1, 1 << 30)) if rng.random() < 0.3 else int(rng.uniform(0.2, 40) * (1 << t))
    attributes = {"za": za, "zb": zb, "p": p, "t": t, **output(rng, y_type)}
    a, b = near(rng, codes(rng, left, a_type), za, a_type), near(rng, codes(rng, right, "i8"), zb, "i8")
    return make_call("div", [(a, a_type), (b, "i8")], shape, y_type, attributes)


def extremum(kind: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        dtype = types(rng)[0]
        left, right, shape = _broadcast_pair(rng)
        inputs = [(codes(rng, left, dtype), dtype), (codes(rng, right, dtype), dtype)]
        return make_call(kind, inputs, shape, dtype, clamps(rng, dtype))

    return case


def requantize(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(0, 5))))
    m, s = multiplier(rng, 2.0 ** (7 if x_type == "i8" else 15), y_type)
    attributes = {"zx": zero_point(rng, x_type), "m": m, "s": s, **output(rng, y_type)}
    return make_call("requantize", [(codes(rng, shape, x_type), x_type)], shape, y_type, attributes)


def lut(rng: Rng) -> Case:
    y_type = types(rng)[1]
    shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(0, 5))))
    table = codes(rng, (256,), y_type).astype(np.int8 if y_type == "i8" else np.int16)
    return make_call("lut", [(codes(rng, shape, "i8"), "i8")], shape, y_type, {}, {"table": table})


def lut16(rng: Rng) -> Case:
    y_type = types(rng)[1]
    steps = 200 if y_type == "i16" else 3
    table = (np.cumsum(rng.integers(-steps, steps + 1, 513)) + int(rng.integers(-50, 51))).astype(np.int32)
    x = codes(rng, (int(rng.integers(1, 400)),), "i16")
    return make_call("lut16", [(x, "i16")], x.shape, y_type, clamps(rng, y_type), {"table": table})


def mantissa_lut(rng: Rng) -> Case:
    y_type = types(rng)[1]
    function = str(rng.choice(["rsqrt", "sqrt", "reciprocal", "log"]))
    mu = 1 + np.arange(257) / 256
    power, bits = {"rsqrt": (-0.5, 30), "sqrt": (0.5, 29), "reciprocal": (-1.0, 30), "log": (0.0, 24)}[function]
    if function == "log":
        table = np.floor(2.0**bits * np.log(mu) + 0.5)
    elif function == "reciprocal":
        table = np.floor(2.0**bits / mu + 0.5)
    else:
        table = np.stack([np.floor(2.0**bits * (mu * 2.0**h) ** power + 0.5) for h in (0, 1)])
    attributes: dict[str, Any] = {"function": function}
    if function == "log":
        attributes["m"], attributes["s"] = multiplier(rng, 2.0**26, y_type)
        attributes.update(c1=11629080, c2=int(rng.integers(-(1 << 27), 0)))
    elif rng.random() < 0.2:  # values so small and shifts so near the ends that nothing saturates by itself
        table = rng.integers(0, 4, table.shape)
        attributes.update(m=int(rng.integers(0, 4)), s=int(rng.integers(-8, 10)))
    elif rng.random() < 0.2:  # values so large that the longest shift leaves one step of some
        table = rng.integers(1 << 30, 1 << 31, table.shape)
        first, last = {"reciprocal": (48, 63), "rsqrt": (56, 63), "sqrt": (62, 70)}[function]
        attributes.update(m=int(rng.integers(7 << 28, 1 << 31)), s=int(rng.integers(first, last)))
    else:
        attributes["m"] = int(rng.integers(1 << 30, 1 << 31))
        attributes["s"] = int(rng.integers(40, 60)) if function != "sqrt" else int(rng.integers(50, 66))
    attributes.update(output(rng, y_type))
    powers = np.array([sign * ((1 << bit) + step) for bit in range(16) for step in (-1, 0, 1) for sign in (-1, 1)])
    x = np.concatenate([np.clip(powers, -32768, 32767), rng.integers(-3, 4, 8), codes(rng, (40,), "i16")])
    return make_call("mantissa_lut", [(x, "i16")], x.shape, y_type, attributes, {"table": table.astype(np.int64)})


def _exponents(rng: Rng, x_type: str) -> int:
    """`k` of a softmax: from flat (all shares equal) to one that keeps only the largest."""
    return max(int(2.0 ** rng.uniform(8, 25)) >> (0 if x_type == "i8" else 8), 1)


def softmax(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    shape = (*(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3)))), int(rng.integers(1, 70)))
    g = int(rng.integers(0, 17))
    share = (CODE_RANGES[y_type][1] + 1) * rng.uniform(0.5, 8)  # steps that a share of 1 takes
    q = min(int(share * (1 << g)) + 1, (1 << 31) - 1)
    attributes = {"k": _exponents(rng, x_type), "q": q, "g": g, **output(rng, y_type)}
    return make_call("softmax", [(codes(rng, shape, x_type), x_type)], shape, y_type, attributes)


def log_softmax(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    shape = (*(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3)))), int(rng.integers(1, 70)))
    m, s = multiplier(rng, 2.0 ** rng.uniform(24, 30), y_type)
    attributes = {"k": _exponents(rng, x_type), "m": m, "s": s, **output(rng, y_type)}
    if rng.random() < 0.2:  # distances beyond 2^30, which count as 2^30, on a scale that shows it
        low, high = CODE_RANGES[y_type]
        steps = (high - low) * rng.uniform(0.5, 0.9)  # that 2^30 takes
        attributes.update(k=1 << int(rng.integers(21, 26)), m=int(steps * 2**14), s=44, z=high if y_type == "i8" else 0)
        attributes.update(lo=low, hi=high)
    constants = {"table": np.array(log2_nodes(), np.int64)}
    return make_call("log_softmax", [(codes(rng, shape, x_type), x_type)], shape, y_type, attributes, constants)


def layer_norm(rng: Rng) -> Case:
    x_type, y_type = types(rng)
    n = int(rng.integers(1, 100))
    shape = (*(int(v) for v in rng.integers(1, 4, 2)), n)
    t = int(rng.integers(20, 40))
    steps = 2.0 ** (t - 15) * (CODE_RANGES[y_type][1] + 1) * rng.uniform(0.1, 0.6)  # gamma of half the range, about
    bound = min(int(steps) + 1, 1 << 30)
    gamma = rng.integers(-bound, bound + 1, n)
    beta = rng.integers(-(1 << (t + 5)), 1 << (t + 5), n)
    eps = int(rng.integers(1, 1000)) if rng.random() < 0.7 else int(2.0 ** rng.uniform(0, 50))
    attributes = {"n": n, "zx": zero_point(rng, x_type), "eps": eps, "t": t, "rms": int(rng.integers(0, 2))}
    attributes.update(output(rng, y_type))
    constants = {"gamma": gamma.astype(np.int64), "beta": beta.astype(np.int64)}
    x = codes(rng, shape, x_type)
    if rng.random() < 0.2:
        x[:] = attributes["zx"]
    elif rng.random() < 0.3:
        x = near(rng, x, attributes["zx"], x_type)
    return make_call("layer_norm", [(x, x_type)], shape, y_type, attributes, constants)


def predicate(kind: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        logical = kind.startswith("logical")
        dtype = "i8" if logical else types(rng)[0]
        left, right, shape = _broadcast_pair(rng)
        pair = [rng.integers(0, 2, s) if logical else rng.integers(-3, 4, s) for s in (left, right)]
        if kind == "logical_not":
            return make_call(kind, [(pair[0], dtype)], left, "i8", {})
        return make_call(kind, [(codes_, dtype) for codes_ in pair], shape, "i8", {})

    return case


def where(rng: Rng) -> Case:
    dtype = types(rng)[0]
    left, right, shape = _broadcast_pair(rng)
    inputs = [(rng.integers(0, 2, shape), "i8"), (codes(rng, left, dtype), dtype), (codes(rng, right, dtype), dtype)]
    return make_call("where", inputs, shape, dtype, {})
