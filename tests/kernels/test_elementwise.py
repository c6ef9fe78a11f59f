"""Binary operations against Python integers, with broadcasting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.support import RANGES, codes, execute, rescale

SHAPES = [
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((2, 3, 4, 5), (5,)),
    ((1, 3, 4, 5), (1, 1, 1, 5)),
    ((2, 3, 4, 5), (2, 1, 1, 5)),
    ((2, 3, 4, 1), (1, 3, 1, 5)),
    ((1,), (4, 3)),
    ((3, 1, 2), (3, 4, 1)),
    ((2, 3, 4, 5), ()),
]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize(("a_type", "b_type", "out"), [("i8", "i8", "i8"), ("i16", "i8", "i16"), ("i16", "i16", "i8")])
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
def test_arithmetic(kind, shapes, a_type, b_type, out):
    rng = np.random.default_rng(11)
    a, b = codes(rng, shapes[0], a_type), codes(rng, shapes[1], b_type)
    za, zb = (-128 if a_type == "i8" else 0), (100 if b_type == "i8" else 0)
    lo, hi = RANGES[out]
    z = 3
    common = {"za": za, "zb": zb, "z": z, "lo": lo, "hi": hi}
    da, db = a.astype(object) - za, b.astype(object) - zb
    if kind in ("add", "sub"):
        ma, mb, s = (1 << 31) - 1, -(1 << 29) - 5, 31 if out == a_type else 39
        expected = rescale(da * ma + db * mb, 1, s, z, lo, hi)
        attributes = {"ma": ma, "mb": mb, "s": s}
    elif kind == "mul":
        m, s = (1 << 30) + 321, 38 if out == "i8" else 46
        expected = rescale(da * db, m, s, z, lo, hi)
        attributes = {"m": m, "s": s}
    else:
        p, t = 40 << 30, 32
        if a_type == "i16":
            p, t = 1 << 31, 30
        expected = np.vectorize(lambda u, v: divide(u, v, p, t, z, lo, hi), otypes=[np.int64])(da, db)
        attributes = {"p": p, "t": t}
    got = execute(kind, [(a, a_type), (b, b_type)], (expected.shape, out), attributes | common)
    np.testing.assert_array_equal(got, expected)


def divide(u, v, p, t, z, lo, hi):
    if v == 0:
        return hi if u > 0 else lo if u < 0 else min(max(z, lo), hi)
    n = u * p * (1 if v > 0 else -1)
    d = abs(v) << t
    return min(max(z + (2 * n + d) // (2 * d), lo), hi)


@settings(max_examples=40, deadline=None)
@given(
    ma=st.integers(-(1 << 31) + 1, (1 << 31) - 1),
    mb=st.integers(-(1 << 31) + 1, (1 << 31) - 1),
    s=st.integers(1, 62),
    za=st.integers(-128, 127),
    zb=st.integers(-128, 127),
    z=st.integers(-128, 127),
    data=st.data(),
)
def test_add_any_constants(ma, mb, s, za, zb, z, data):
    values = st.lists(st.integers(-128, 127), min_size=3, max_size=3)
    a, b = np.array(data.draw(values)), np.array(data.draw(values))
    attributes = {"za": za, "zb": zb, "ma": ma, "mb": mb, "s": s, "z": z}
    got = execute("add", [(a, "i8"), (b, "i8")], ((3,), "i8"), attributes)
    expected = rescale((a - za).astype(object) * ma + (b - zb).astype(object) * mb, 1, s, z, -128, 127)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", ["i8", "i16"])
def test_extrema_comparisons_and_where(shapes, dtype):
    rng = np.random.default_rng(13)
    a, b = codes(rng, shapes[0], dtype), codes(rng, shapes[1], dtype)
    a.reshape(-1)[0] = b.reshape(-1)[0]
    shape = np.broadcast_shapes(*shapes)
    both = [(a, dtype), (b, dtype)]
    for kind, function in (("maximum", np.maximum), ("minimum", np.minimum)):
        got = execute(kind, both, (shape, dtype), {"lo": -50, "hi": 60})
        np.testing.assert_array_equal(got, np.clip(function(a, b), -50, 60))
    masks = []
    for kind, function in (("equal", np.equal), ("greater", np.greater), ("less", np.less)):
        masks.append(execute(kind, both, (shape, "i8"), {}))
        np.testing.assert_array_equal(masks[-1], function(a, b))
    got = execute("where", [(masks[1], "i8"), *both], (shape, dtype), {})
    np.testing.assert_array_equal(got, np.where(masks[1] != 0, a, b))
    pair = [(masks[1], "i8"), (masks[2], "i8")]
    np.testing.assert_array_equal(execute("logical_or", pair, (shape, "i8"), {}), a != b)
    np.testing.assert_array_equal(execute("logical_and", pair, (shape, "i8"), {}), np.zeros(shape))
    np.testing.assert_array_equal(execute("logical_not", pair[:1], (shape, "i8"), {}), ~(a > b))
