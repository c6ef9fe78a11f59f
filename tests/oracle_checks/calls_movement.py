"""Random data movement."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_checks.random_values import Case, Rng, codes, make_call, types


def reshape(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, 4))
    return make_call(
        "reshape", [(codes(rng, shape, dtype), dtype)], (shape[0] * shape[1], shape[3], shape[2]), dtype, {}
    )


def transpose(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 6))))
    permutation = tuple(int(a) for a in rng.permutation(len(shape)))
    out = tuple(shape[a] for a in permutation)
    return make_call("transpose", [(codes(rng, shape, dtype), dtype)], out, dtype, {"permutation": permutation})


def slice_codes(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(1, 5))))
    starts = tuple(int(rng.integers(0, n)) for n in shape)
    steps = tuple(int(rng.integers(1, 4)) for _ in shape)
    out = tuple(int(rng.integers(1, (n - a - 1) // s + 2)) for n, a, s in zip(shape, starts, steps, strict=True))
    return make_call("slice", [(codes(rng, shape, dtype), dtype)], out, dtype, {"starts": starts, "steps": steps})


def concat(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = [int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5)))]
    axis = int(rng.integers(0, len(shape)))
    extents = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5)))]
    inputs = [(codes(rng, tuple(e if i == axis else n for i, n in enumerate(shape)), dtype), dtype) for e in extents]
    out = tuple(sum(extents) if i == axis else n for i, n in enumerate(shape))
    return make_call("concat", inputs, out, dtype, {"axis": axis})


def expand(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(0, 5))))
    source = tuple(n if rng.random() < 0.5 else 1 for n in shape)
    return make_call("expand", [(codes(rng, source, dtype), dtype)], shape, dtype, {})


def gather(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 4))))
    axis = int(rng.integers(0, len(shape)))
    index_shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(0, 3))))
    indices = rng.integers(-shape[axis], shape[axis], index_shape)
    out = (*shape[:axis], *index_shape, *shape[axis + 1 :])
    return make_call(
        "gather", [(codes(rng, shape, dtype), dtype), (np.asarray(indices), "i32")], out, dtype, {"axis": axis}
    )


def pad(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5))))
    before, after = (tuple(int(n) for n in rng.integers(0, 3, len(shape))) for _ in range(2))
    attributes: dict[str, Any] = {"before": before, "after": after, "value": int(codes(rng, (1,), dtype)[0])}
    constants = {}
    if rng.random() < 0.3:
        attributes.update(before=(*before[:-1], 0), after=(*after[:-1], 0))
        constants["codes"] = codes(rng, (shape[-1],), dtype).astype(np.int8 if dtype == "i8" else np.int16)
    out = tuple(n + b + a for n, b, a in zip(shape, attributes["before"], attributes["after"], strict=True))
    return make_call("pad", [(codes(rng, shape, dtype), dtype)], out, dtype, attributes, constants)


def tile(rng: Rng) -> Case:
    dtype = types(rng)[0]
    shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(0, 5))))
    repeats = tuple(int(n) for n in rng.integers(1, 4, len(shape)))
    out = tuple(n * r for n, r in zip(shape, repeats, strict=True))
    return make_call("tile", [(codes(rng, shape, dtype), dtype)], out, dtype, {"repeats": repeats})
