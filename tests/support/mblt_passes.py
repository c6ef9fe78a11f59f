"""Run an mblt pass on a test function and check that its outputs did not change."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.func import FuncOp

from qbc.execute.float_torch import run
from qbc.passes.base import FunctionPass
from qbc.pipelines.registry import pass_class
from tests.support.mblt_graphs import MbltGraph, op_names


def check_pass(graph: MbltGraph, func: FuncOp, *names: str, scale: float = 1.0, tolerance: float = 1e-5) -> list[str]:
    """Run passes, verify, compare float outputs before and after, and return the names of the ops that are left."""
    feed = graph.samples(scale)
    before = run(func, graph.store, feed)
    for name in names:
        instance = pass_class(name)()
        instance.run(func if isinstance(instance, FunctionPass) else graph.module, graph.context)
        graph.module.verify()
        assert_no_strays(func)
    after = run(func, graph.store, feed)
    assert list(before) == list(after)
    for key, expected in before.items():
        bound = max(float(np.abs(expected).max(initial=0)), 1e-6) * tolerance
        assert after[key].shape == expected.shape
        np.testing.assert_allclose(after[key], expected, atol=bound, rtol=0)
    return op_names(func)


def assert_no_strays(func: FuncOp) -> None:
    """Check that every user of a value stands in the function: a pattern that gives up must not leave ops behind."""
    inside = set(func.walk())
    values = [*func.body.block.args, *(result for op in func.walk() for result in op.results)]
    assert all(use.operation in inside for value in values for use in value.uses)
