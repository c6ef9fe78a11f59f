"""Flat programs: a block compiled once to a list of steps, run many times.

A step is a function, the slots it reads, the slots it writes and the slots that die after it. Values are freed at their
last use, so the memory in use is that of the live values, and observers see chosen values as they appear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

Kernel = Callable[..., Any]
Factory = Callable[[Operation], Kernel]
Observer = Callable[[Any], None]


@dataclass(frozen=True)
class Step:
    """One operation: `slots[outputs] = function(*slots[inputs])`, then `slots[free]` are dropped."""

    function: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    free: tuple[int, ...]
    operation: Operation


@dataclass(frozen=True)
class Program:
    """The steps of one block, with the slots of its arguments, of what it returns, and of every value."""

    steps: tuple[Step, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    slots: Mapping[SSAValue, int]
    unused_arguments: tuple[int, ...]

    def run(self, inputs: Sequence[Any], observers: Mapping[SSAValue, Observer] | None = None) -> list[Any]:
        """Run on argument values (in order) and return the results; an observer gets its value once."""
        watch = {self.slots[value]: observer for value, observer in (observers or {}).items()}
        slots: list[Any] = [None] * len(self.slots)
        for slot, data in zip(self.arguments, inputs, strict=True):
            slots[slot] = data
            _observe(watch, slot, data)
        for slot in self.unused_arguments:
            slots[slot] = None
        for step in self.steps:
            _run_step(step, slots, watch)
        return [slots[slot] for slot in self.results]


def _run_step(step: Step, slots: list[Any], watch: Mapping[int, Observer]) -> None:
    # a function of its own, so that its locals do not keep a value alive during the next step
    result = step.function(*[slots[slot] for slot in step.inputs])
    outputs = (result,) if len(step.outputs) == 1 else result
    for slot, data in zip(step.outputs, outputs, strict=True):
        slots[slot] = data
        _observe(watch, slot, data)
    for slot in step.free:
        slots[slot] = None


def _observe(watch: Mapping[int, Observer], slot: int, data: Any) -> None:
    observer = watch.get(slot)
    if observer is not None:
        observer(data)


def compile_block(block: Block, factory: Factory) -> Program:
    """Compile a block: `factory(op)` gives the function of each operation; the terminator gives the results."""
    slots: dict[SSAValue, int] = {}
    for argument in block.args:
        slots[argument] = len(slots)
    body = [op for op in block.ops if op is not block.last_op]
    for op in body:
        for result in op.results:
            slots[result] = len(slots)
    terminator = block.last_op
    results = tuple(slots[value] for value in terminator.operands) if terminator is not None else ()
    last_use = _last_uses(body, slots, keep=frozenset(results))
    steps = tuple(
        Step(
            factory(op),
            tuple(slots[value] for value in op.operands),
            tuple(slots[value] for value in op.results),
            last_use.get(index, ()),
            op,
        )
        for index, op in enumerate(body)
    )
    arguments = tuple(slots[argument] for argument in block.args)
    used = {slot for step in steps for slot in step.inputs} | set(results)
    unused = tuple(slot for slot in arguments if slot not in used)
    return Program(steps, arguments, results, slots, unused)


def _last_uses(
    body: Sequence[Operation], slots: Mapping[SSAValue, int], keep: frozenset[int]
) -> dict[int, tuple[int, ...]]:
    """Return step index -> slots whose last use (or, unused, whose definition) is that step."""
    last: dict[int, int] = {}
    for index, op in enumerate(body):
        for value in (*op.results, *op.operands):
            last[slots[value]] = index
    dying: dict[int, list[int]] = {}
    for slot, index in last.items():
        if slot not in keep:
            dying.setdefault(index, []).append(slot)
    return {index: tuple(values) for index, values in dying.items()}
