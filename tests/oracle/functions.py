"""Elementwise arithmetic, tables, softmax and layer norm."""

from __future__ import annotations

from math import isqrt

import numpy as np

from .arithmetic import CODE_RANGES, Attributes, clamp, exact, requantize, rounded_shift, softmax_exponentials


def add(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """`clamp(z + (((a-za)*ma + (b-zb)*mb + 2^(s-1)) >> s))`."""
    total = (exact(inputs[0]) - a["za"]) * a["ma"] + (exact(inputs[1]) - a["zb"]) * a["mb"]
    return clamp(a["z"] + rounded_shift(total, a["s"]), a["lo"], a["hi"])


def mul(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """`R((a-za)(b-zb))`."""
    product = (exact(inputs[0]) - a["za"]) * (exact(inputs[1]) - a["zb"])
    return requantize(product, a["m"], a["s"], a["z"], a["lo"], a["hi"])


def div(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Integer division with one rounding; a zero divisor saturates by the sign of the dividend."""
    left, right = np.broadcast_arrays(exact(inputs[0]) - a["za"], exact(inputs[1]) - a["zb"])
    out = [_divide(int(n), int(d), a) for n, d in zip(left.reshape(-1), right.reshape(-1), strict=True)]
    return exact(np.array(out, dtype=object)).reshape(shape)


def _divide(n: int, d: int, a: Attributes) -> int:
    if d == 0:
        return a["hi"] if n > 0 else a["lo"] if n < 0 else min(max(a["z"], a["lo"]), a["hi"])
    numerator = n * a["p"] * (1 if d > 0 else -1)
    denominator = abs(d) << a["t"]
    return min(max(a["z"] + (2 * numerator + denominator) // (2 * denominator), a["lo"]), a["hi"])


def maximum(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Larger code of two with equal encodings."""
    return clamp(np.maximum(exact(inputs[0]), exact(inputs[1])), a["lo"], a["hi"])


def minimum(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Smaller code of two with equal encodings."""
    return clamp(np.minimum(exact(inputs[0]), exact(inputs[1])), a["lo"], a["hi"])


def requantize_codes(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """`R(x - zx)`."""
    return requantize(exact(inputs[0]) - a["zx"], a["m"], a["s"], a["z"], a["lo"], a["hi"])


def lut(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """256 entries, index q + 128."""
    return exact(c["table"])[inputs[0].astype(np.int64) + 128]


def lut16(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """513 nodes with linear interpolation over 128 codes."""
    q = inputs[0].astype(np.int64)
    table, i, r = exact(c["table"]), (q + 32768) >> 7, exact((q + 32768) & 127)
    return clamp(table[i] + (((table[i + 1] - table[i]) * r + 64) >> 7), a["lo"], a["hi"])


def mantissa_lut(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """rsqrt, sqrt, reciprocal and log of a 16-bit code by bit length and a mantissa table."""
    table = exact(np.atleast_2d(c["table"]))
    out = [_mantissa(int(q), table, a) for q in inputs[0].reshape(-1)]
    return exact(np.array(out, dtype=object)).reshape(shape)


def _mantissa(q: int, table: np.ndarray, a: Attributes) -> int:
    function = a["function"]
    if q == 0:
        return {"reciprocal": a["hi"], "rsqrt": a["hi"], "sqrt": _clip(a["z"], a), "log": a["lo"]}[function]
    if q < 0 and function != "reciprocal":
        return {"rsqrt": a["hi"], "sqrt": _clip(a["z"], a), "log": a["lo"]}[function]
    x = abs(q)
    exponent = x.bit_length() - 1
    mantissa = x << (14 - exponent) if exponent <= 14 else x >> (exponent - 14)
    i, r = (mantissa >> 6) & 255, mantissa & 63
    h = exponent & 1 if function in ("rsqrt", "sqrt") else 0
    nodes = table[h if table.shape[0] > 1 else 0]
    v = nodes[i] + (((nodes[i + 1] - nodes[i]) * r + 32) >> 6)
    if function == "log":
        total = exponent * a["c1"] + v + a["c2"]
        return _clip(a["z"] + ((total * a["m"] + (1 << (a["s"] - 1))) >> a["s"]), a)
    shift = {"reciprocal": exponent, "rsqrt": (exponent - h) // 2, "sqrt": -(exponent - h) // 2}[function]
    t = a["s"] + shift
    if t > 62:
        return _clip(a["z"], a)
    v = v if q > 0 else -v
    if t < 1:
        return a["lo"] if v < 0 else a["hi"]
    return _clip(a["z"] + ((v * a["m"] + (1 << (t - 1))) >> t), a)


def _clip(value: int, a: Attributes) -> int:
    return min(max(value, a["lo"]), a["hi"])


def softmax(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Softmax over the last axis: table exponentials, one division with rounding."""
    nodes = softmax_exponentials()
    rows = inputs[0].astype(np.int64).reshape(-1, shape[-1])
    out = [_softmax_row([int(q) for q in row], nodes, a) for row in rows]
    return exact(np.array(out, dtype=object)).reshape(shape)


def _softmax_row(row: list[int], nodes, a: Attributes) -> list[int]:
    top = max(row)
    exponentials = []
    for q in row:
        t = (top - q) * a["k"]
        ip, fr, low = t >> 24, (t >> 16) & 255, t & 65535
        v = nodes[fr] + (((nodes[fr + 1] - nodes[fr]) * low) >> 16)
        exponentials.append(0 if ip > 30 else v >> ip)
    divisor = sum(exponentials) << a["g"]
    return [_clip(a["z"] + (e * a["q"] + (divisor >> 1)) // divisor, a) for e in exponentials]


def layer_norm(inputs, a: Attributes, c: Attributes, shape, dtype: str) -> np.ndarray:
    """Layer or RMS norm over the last n elements by an integer square root."""
    rows = inputs[0].astype(np.int64).reshape(-1, a["n"])
    gamma, beta = exact(c["gamma"]), exact(c["beta"])
    out = [_norm_row([int(q) - a["zx"] for q in row], gamma, beta, a) for row in rows]
    return exact(np.array(out, dtype=object)).reshape(shape)


def _norm_row(x: list[int], gamma, beta, a: Attributes) -> list[int]:
    n, s1, s2 = a["n"], sum(x), sum(v * v for v in x)
    rms = bool(a.get("rms", 0))
    variance = n * s2 + a["eps"] if rms else n * s2 - s1 * s1 + a["eps"]
    k = (64 - variance.bit_length()) // 2 * 2
    reciprocal = 2**61 // isqrt(variance << k)
    t = 45 - k // 2
    out = []
    for index, v in enumerate(x):
        deviation = n * v if rms else n * v - s1
        normal = (deviation * reciprocal + (1 << (t - 1))) >> t
        scaled = normal * int(gamma[index]) + int(beta[index]) + (1 << (a["t"] - 1))
        out.append(_clip(a["z"] + (scaled >> a["t"]), a))
    return out


def code_range(dtype: str) -> tuple[int, int]:
    """Lowest and highest code of a storage type."""
    return CODE_RANGES[dtype]
