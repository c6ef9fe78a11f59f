"""Expressions on small graphs, as tests of fusions write them."""

from __future__ import annotations

import numpy as np

from qbc.dialects import mblt
from tests.support.mblt_graphs import MbltGraph

SHAPE = (2, 3, 8)


def c(g: MbltGraph, value: float):
    """A scalar constant of rank 3."""
    return g.constant(np.full((1, 1, 1), value))


def add(g, a, b):
    """`a + b`."""
    return g.op(mblt.AddOp, a, b)


def sub(g, a, b):
    """`a - b`."""
    return g.op(mblt.SubOp, a, b)


def mul(g, a, b):
    """`a * b`."""
    return g.op(mblt.MulOp, a, b)


def div(g, a, b):
    """`a / b`."""
    return g.op(mblt.DivOp, a, b)


def finish(build, *, share: bool = False):
    """Return a graph and the function of `build(graph, x)`.

    `build` returns the result, or an inner value, which is returned too with `share`, and the result.
    """
    g = MbltGraph()
    x = g.input(SHAPE)
    found = build(g, x)
    inner, result = found if isinstance(found, tuple) else (None, found)
    return g, g.finish(*([result, inner] if share else [result]))


def reduced(g, cls, x, axes=(2,), keep=True):
    """Reduce by an op of `cls`, keeping the axes."""
    return g.op(cls, x, axes=list(axes), keep_dims=keep)
