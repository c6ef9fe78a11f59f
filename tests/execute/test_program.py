"""Flat programs: order, observers, and values dropped at their last use."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from xdsl.ir import Operation

from qbc.dialects import mblt
from qbc.execute.program import compile_block
from tests.support.mblt_graphs import MbltGraph


class _Tracked:
    """A value whose life can be watched."""

    def __init__(self, text: str) -> None:
        self.text = text


def _factory(alive: list[weakref.ref[_Tracked]], counts: list[int]) -> Callable[[Operation], Callable[..., _Tracked]]:
    def factory(op: Operation) -> Callable[..., _Tracked]:
        name = op.name.partition(".")[2]

        def kernel(*inputs: _Tracked) -> _Tracked:
            counts.append(sum(reference() is not None for reference in alive))
            result = _Tracked(f"{name}({','.join(value.text for value in inputs)})")
            alive.append(weakref.ref(result))
            return result

        return kernel

    return factory


def test_values_die_at_their_last_use() -> None:
    g = MbltGraph()
    x = g.input((4,))
    for _ in range(6):
        x = g.op(mblt.TanhOp, x)
    unused = g.op(mblt.ExpOp, x)
    func = g.finish(g.op(mblt.ReluOp, x))
    alive: list[weakref.ref[_Tracked]] = []
    counts: list[int] = []
    program = compile_block(func.body.block, _factory(alive, counts))
    seen: list[str] = []
    (result,) = program.run([_Tracked("x")], {unused: lambda value: seen.append(value.text)})
    chain = "x"
    for _ in range(6):
        chain = f"tanh({chain})"
    assert result.text == f"relu({chain})"
    assert seen == [f"exp({chain})"]
    assert max(counts) == 1
    assert sum(reference() is not None for reference in alive) == 1


def test_arguments_can_be_observed_and_returned() -> None:
    g = MbltGraph()
    x, y = g.input((4,)), g.input((4,))
    total = g.op(mblt.AddOp, x, y)
    func = g.finish(total, x)
    program = compile_block(func.body.block, _factory([], []))
    seen: list[str] = []
    results = program.run([_Tracked("a"), _Tracked("b")], {y: lambda value: seen.append(value.text)})
    assert [value.text for value in results] == ["add(a,b)", "a"]
    assert seen == ["b"]


def test_a_program_runs_many_times() -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.ReluOp, g.input((4,))))
    program = compile_block(func.body.block, _factory([], []))
    assert [program.run([_Tracked(name)])[0].text for name in "ab"] == ["relu(a)", "relu(b)"]
