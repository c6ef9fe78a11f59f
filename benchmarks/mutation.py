"""Mutation run: does the oracle notice seeded changes to the kernels?

    python -m benchmarks.mutation [--count 200] [--seed 0]

Every compiled loop of `qbc.kernels` is mutated one place at a time (arithmetic operator, comparison, shift direction,
integer constant), and the random calls of `tests/oracle_checks` run against it in a forked process. A mutant is caught
when codes differ, an error is raised, or its CPU time runs out. Mutants that survive are printed. Places where a change
gives an equivalent program are listed below with the reason and left out; all others that cannot change a result count
as survivors, so the figure is a lower bound.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import inspect
import os
import pkgutil
import signal
import textwrap
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

import qbc.kernels
from benchmarks.measure import Row, show
from qbc.kernels import FAMILY_KINDS
from tests.oracle_checks.calls import CASES
from tests.oracle_checks.compare import assert_equal_codes
from tests.oracle_checks.integer_helpers import check_helpers

CALLS_PER_KIND = 40
CPU_LIMIT_S = 40
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.RShift: ast.LShift,
    ast.LShift: ast.RShift,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
REQUIRED_SHARE = 0.95

# (function, source of the changed expression, change) -> why no result can differ
EQUIVALENT: dict[tuple[str, str, str], str] = {}
for _loop in ("_add_loop", "_mul_loop"):
    for _guard in ("step_a == 1", "step_b == 1"):
        EQUIVALENT[_loop, _guard, "1 -> 2"] = "the general loop takes over and computes the same"
EQUIVALENT["_div_loop", "db > 0", "Gt -> GtE"] = "a zero divisor is dealt with below"
EQUIVALENT["_div_loop", "max(abs(db), 1)", "1 -> 2"] = "only keeps a zero divisor, dealt with below, from dividing"
EQUIVALENT["_div_loop", "da > 0", "Gt -> GtE"] = "zero over zero is dealt with before"
for _change in ("0 -> 1", "Lt -> LtE"):
    EQUIVALENT["_power_loop", "q < 0", _change] = "zero is dealt with before"
EQUIVALENT["_power_loop", "t > 62", "62 -> 63"] = "half a step or less rounds to no step"
EQUIVALENT["split_planes", "(shifted >> 8) + 128", "Add -> Sub"] = "bytes count modulo 256"
EQUIVALENT["_exponential", "whole > 30", "30 -> 31"] = "nodes have at most 31 bits: shifted by 31 they are 0 too"
EQUIVALENT["_code_rows", "first + count", "Add -> Sub"] = "the loop counts to the same end, whatever the slice says"
EQUIVALENT["_sum_rows", "length - first", "Sub -> Add"] = "a slice of a row ends with the row"
EQUIVALENT["_norm_loop", "total > 0", "Gt -> GtE"] = "the root of 0 is 0"
EQUIVALENT["_norm_loop", "shift <= 62", "62 -> 63"] = "half a step or less rounds to no step"


Place = tuple[ast.AST, ast.AST, Callable[[], None], str]  # node, the expression around it, how to change it, what


@dataclass(frozen=True)
class Mutant:
    """One change: the function, its new code, and a description."""

    function: Dispatcher
    code: types.CodeType
    description: str

    @property
    def family(self) -> str:
        """Name of the kernel module."""
        return str(self.function.py_func.__module__).rsplit(".", 1)[-1]


def compiled_functions() -> Iterator[Dispatcher]:
    """Yield the functions under `@jit` in every kernel module."""
    for info in pkgutil.iter_modules(qbc.kernels.__path__):
        module = importlib.import_module(f"qbc.kernels.{info.name}")
        own = [v for v in vars(module).values() if isinstance(v, Dispatcher)]
        yield from (function for function in own if function.py_func.__module__ == module.__name__)


def callers(function: Dispatcher) -> list[Dispatcher]:
    """Return `function` and the compiled functions that reach it, callees first."""
    found = [function]
    for known in found:
        for other in compiled_functions():
            names = other.py_func.__code__.co_names
            uses = any(other.py_func.__globals__.get(name) is known for name in names)
            if uses and other not in found:
                found.append(other)
    return found


def mutants(dispatcher: Dispatcher) -> Iterator[Mutant]:
    """Yield every single-place change of a function."""
    function = dispatcher.py_func
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    places = sum(1 for _ in _places(definition))
    for index in range(places):
        changed = copy.deepcopy(tree)
        node, parent, apply, what = next(p for i, p in enumerate(_places(changed.body[0])) if i == index)
        source = ast.unparse(parent)
        if (function.__name__, source, what) in EQUIVALENT:
            continue
        apply()
        namespace = dict(function.__globals__)
        exec(compile(ast.fix_missing_locations(changed), "<mutant>", "exec"), namespace)
        where = f"{function.__module__}.{function.__name__} line {getattr(node, 'lineno', 0)}"
        yield Mutant(dispatcher, namespace[function.__name__].__code__, f"{where}: {what} in {source}")


def _places(definition: ast.AST) -> Iterator[Place]:
    body = definition.body if isinstance(definition, ast.FunctionDef) else []
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # docstring
        for parent in ast.walk(statement):
            yield from _changes(parent, parent)
            for child in ast.iter_child_nodes(parent):
                if isinstance(child, ast.Constant):
                    yield from _changes(child, parent)


def _changes(node: ast.AST, parent: ast.AST) -> Iterator[Place]:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPS:
        new = SWAPS[type(node.op)]
        yield node, parent, lambda: setattr(node, "op", new()), f"{type(node.op).__name__} -> {new.__name__}"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
        new = SWAPS[type(node.ops[0])]
        yield node, parent, lambda: setattr(node, "ops", [new()]), f"{type(node.ops[0]).__name__} -> {new.__name__}"
    elif isinstance(node, ast.Constant) and node is not parent and type(node.value) is int:
        yield node, parent, lambda: setattr(node, "value", node.value + 1), f"{node.value} -> {node.value + 1}"


def put_in_place(mutant: Mutant) -> None:
    """Replace the code of a loop and compile it, and everything that calls it, again."""
    mutant.function.py_func.__code__ = mutant.code
    for function in callers(mutant.function):
        function._cache = NullCache()
        function.recompile()


def run_calls(family: str = "") -> None:
    """Compare kernels and oracle on seeded calls of every kind, those of one family first."""
    first = FAMILY_KINDS.get(family, FAMILY_KINDS["convolution"])
    check_helpers(np.random.default_rng(1))
    for kind in sorted(CASES, key=lambda kind: kind not in first):
        rng = np.random.default_rng(len(kind) * 7919)
        for _ in range(CALLS_PER_KIND):
            assert_equal_codes(*CASES[kind](rng))


def caught(mutant: Mutant) -> bool:
    """Run the random calls in a forked process with the mutant in place; True when something differs."""
    pid = os.fork()
    if pid == 0:
        signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)  # its signal ends the process, compiled loops included
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        try:
            put_in_place(mutant)
            run_calls(mutant.family)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] != 0


def main() -> int:
    """Run a seeded sample of mutants and print the share that was caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="40 mutants")
    options = parser.parse_args()
    count = 40 if options.quick else options.count
    everything = [mutant for function in compiled_functions() for mutant in mutants(function)]
    order = np.random.default_rng(options.seed).permutation(len(everything))[:count]
    run_calls()  # compiles every loop once; forked processes inherit the machine code
    survivors = 0
    for mutant in (everything[int(index)] for index in order):
        if not caught(mutant):
            survivors += 1
            print("survived:", mutant.description, flush=True)
    share = 1 - survivors / len(order)
    row = Row(
        "changes to the kernels that the oracle notices",
        f"{100 * share:.1f} % of {len(order)} (of {len(everything)})",
        f">= {100 * REQUIRED_SHARE:.0f} %",
        share >= REQUIRED_SHARE,
    )
    return show([row])


if __name__ == "__main__":
    raise SystemExit(main())
