"""Masks and comparisons, log-softmax, the L2 norm and the index of the maximum."""

from __future__ import annotations

from math import isqrt

import numpy as np

from .arithmetic import Attributes, exact, log2_nodes, softmax_exponentials


def equal(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """1 where the codes are equal."""
    return exact((inputs[0] == inputs[1]).astype(np.int64))


def greater(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """1 where the first code is larger."""
    return exact((inputs[0] > inputs[1]).astype(np.int64))


def less(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """1 where the first code is smaller."""
    return exact((inputs[0] < inputs[1]).astype(np.int64))


def logical_and(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """1 where both masks are set."""
    return exact(((inputs[0] != 0) & (inputs[1] != 0)).astype(np.int64))


def logical_or(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """1 where one of the masks is set."""
    return exact(((inputs[0] != 0) | (inputs[1] != 0)).astype(np.int64))


def logical_not(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """1 where the mask is 0."""
    return exact((inputs[0] == 0).astype(np.int64))


def where(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """The second input where the mask is set, else the third."""
    mask, chosen, other = np.broadcast_arrays(*inputs)
    return exact(np.array([x if m else y for m, x, y in zip(mask.flat, chosen.flat, other.flat, strict=True)], object))


def tile(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """The tensor repeated along each axis."""
    return exact(np.tile(inputs[0], a["repeats"]))


def arg_max(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Lowest index of the largest code."""
    rows = np.moveaxis(inputs[0], a["axis"], -1)
    index = [row.tolist().index(row.max()) for row in rows.reshape(-1, rows.shape[-1])]
    return exact(np.array(index, object)).reshape(shape)


def log_softmax(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """`R(30*2^24 - log2(sum) - min(t, 2^30))` with 24 fraction bits."""
    rows = inputs[0].astype(np.int64).reshape(-1, shape[-1])
    out = [_log_row([int(q) for q in row], a) for row in rows]
    return exact(np.array(out, dtype=object)).reshape(shape)


def _log_row(row: list[int], a: Attributes) -> list[int]:
    nodes, top, total = softmax_exponentials(), max(row), 0
    distances = [(top - q) * a["k"] for q in row]
    for t in distances:
        ip, fr, low = t >> 24, (t >> 16) & 255, t & 65535
        v = nodes[fr] + (((nodes[fr + 1] - nodes[fr]) * low) >> 16)
        total += 0 if ip > 30 else v >> ip
    bits = total.bit_length()
    mantissa = total >> (bits - 25)
    i, r = (mantissa >> 16) & 255, mantissa & 65535
    logs = log2_nodes()
    lg = (bits - 1) * 2**24 + logs[i] + (((logs[i + 1] - logs[i]) * r + 2**15) >> 16)
    accs = [30 * 2**24 - lg - min(t, 2**30) for t in distances]
    scaled = [a["z"] + ((acc * a["m"] + (1 << (a["s"] - 1))) >> a["s"]) for acc in accs]
    return [min(max(v, a["lo"]), a["hi"]) for v in scaled]


def reduce_l2(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Square root of the sum of squares by an integer root of 31 bits."""
    squares = ((inputs[0].astype(np.int64) - a["zx"]) ** 2).sum(axis=tuple(a["axes"]))
    out = [_root(int(n), a) for n in np.atleast_1d(squares).reshape(-1)]
    return exact(np.array(out, dtype=object)).reshape(shape)


def _root(total: int, a: Attributes) -> int:
    value = a["z"]
    if total:
        k = (62 - total.bit_length()) // 2 * 2
        shift = a["s"] + k // 2
        if shift <= 62:
            value += (isqrt(total << k) * a["m"] + (1 << (shift - 1))) >> shift
    return min(max(value, a["lo"]), a["hi"])
