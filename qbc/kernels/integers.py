"""Exact integer functions that compiled loops share: bit length, roots, quotients, interpolation between nodes.

Each is compared on its own with Python integers, because the last unit of an intermediate value hardly ever shows in an
output code. Loops are compiled with these functions inside, and a cached loop does not notice a change of another file:
after a change here, delete `qbc/kernels/__pycache__`.
"""

from __future__ import annotations

import numpy as np

from qbc.kernels.compile import Array, Scalar, jit


@jit
def bit_length(value: Scalar) -> Scalar:
    """Return the number of bits of a value that is not negative: 0 for 0, else floor(log2 value) + 1."""
    bits = 0
    while value > 0:
        value >>= 1
        bits += 1
    return bits


@jit
def integer_root(value: Scalar) -> Scalar:
    """Return floor(sqrt(value)) of 0 <= value < 2^62 with at most 53 significant bits.

    Such a value is exact in float64, so its rounded root is never too low, and at most one too high.
    """
    root = np.int64(np.sqrt(np.float64(value)))
    return root - 1 if root * root > value else root


@jit
def root_of_shifted(v: Scalar, k: Scalar) -> Scalar:
    """Return floor(sqrt(v << k)) of a value that fills 63 or 64 unsigned bits.

    Rounding to float64 moves the value by at most 2^10 and its root by less than half a float64 step there, so the seed
    is never below the root, and at most one above it.
    """
    value = np.uint64(v) << np.uint64(k)
    root = min(np.uint64(np.sqrt(np.float64(value))), np.uint64(4294967295))
    if root * root > value:
        root -= np.uint64(1)
    return np.int64(root)


@jit
def floor_quotient(numerator: Scalar, divisor: Scalar) -> Scalar:
    """Return floor(numerator / divisor), divisor > 0, exact where the result is below 2^40 in magnitude.

    A float64 estimate is off by at most one there, and the integer remainder corrects it. A larger result stays far
    outside every code range. Unlike integer division this vectorizes.
    """
    estimate = np.int64(np.floor(np.float64(numerator) / np.float64(divisor)))
    rest = numerator - estimate * divisor
    return estimate - (1 if rest < 0 else 0) + (1 if rest >= divisor else 0)


@jit
def between_nodes(nodes: Array, node: Scalar, part: Scalar, bits: int) -> Scalar:
    """Return the value `part / 2^bits` of the way from one node to the next, rounded half up."""
    return nodes[node] + (((nodes[node + 1] - nodes[node]) * part + (1 << (bits - 1))) >> bits)
