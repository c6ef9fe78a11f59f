"""Fold shape arithmetic to constants and infer types from the result, to a fixpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects.framework import operands_by_position, operator, read_constant
from qbc.passes.base import CompileContext, FunctionPass, check_options
from qbc.passes.framework.common import NO_EVALUATION, replace_with_constants

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_ROUNDS = 32


@dataclass(frozen=True)
class FrameworkFoldShapes(FunctionPass):
    """Evaluate Shape, Size and small arithmetic on constants (at most `max_elements` elements) in numpy.

    A Shape of which only some dimensions are known still folds where only known ones are picked. When types are not
    all static, inference runs on the folded function, and both repeat until nothing changes. Sizes of outputs that are
    unknown even then are taken from the source model, if it states them (numbers in `framework.dims`).

    Before:
        %0 = framework.Shape(%x) : (tensor<1x40x8x15xf32>) -> tensor<4xi64>
        %1 = framework.Slice(%0, %zero, %two) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
        %2 = framework.Concat(%1, %rest) {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
        %3 = framework.Reshape(%x, %2) : (tensor<1x40x8x15xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>

    After:
        %2 = framework.Constant dense<[1, 40, 120]> : tensor<3xi64>
        %3 = framework.Reshape(%x, %2) : (tensor<1x40x8x15xf32>, tensor<3xi64>) -> tensor<1x40x120xf32>
    """

    name = "framework-fold-shapes"
    needs = ("framework",)
    max_elements: int = 1024

    def __post_init__(self) -> None:
        check_options(0, max_elements=self.max_elements)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        from qbc.passes.framework.inference import all_static, infer_types, take_stated_sizes, update_signature

        for _ in range(MAX_ROUNDS):
            folded = _Folder(ctx, self.max_elements).run(op)
            ctx.count("folded", folded)
            inferred = 0 if all_static(op) else infer_types(op, ctx.store)
            ctx.count("inferred", inferred)
            if not inferred and not take_stated_sizes(op):
                break
        update_signature(op)


class _Folder:
    """One sweep in program order; `known` holds the values of small results, with None for unknown elements."""

    def __init__(self, ctx: CompileContext, max_elements: int) -> None:
        self._ctx = ctx
        self._max_elements = max_elements
        self._known: dict[SSAValue, npt.NDArray[Any]] = {}

    def run(self, function: FuncOp) -> int:
        folded = 0
        for op in list(function.walk()):
            if op.parent is None or not op.name.startswith("framework."):
                continue
            folded += self._visit(op)
        return folded

    def _visit(self, op: Operation) -> bool:
        if operator(op) in NO_EVALUATION or op.regions or len(op.results) != 1 or operator(op) == "Constant":
            return False
        array = self._evaluate(op)
        if array is None or array.size > self._max_elements:
            return False
        if array.dtype == object and any(value is None for value in array.reshape(-1)):
            self._known[op.results[0]] = array
            return False
        if array.dtype == object:
            array = array.astype("int64")
        if not any(True for _ in op.results[0].uses):
            return False
        replace_with_constants(self._ctx, op, [array], "its value is a constant")
        return True

    def _evaluate(self, op: Operation) -> npt.NDArray[Any] | None:
        from qbc.execute.framework_constant import evaluate, known_shape

        if operator(op) in ("Shape", "Size"):
            return known_shape(op)
        inputs: list[npt.NDArray[Any] | None] = []
        for value in operands_by_position(op):
            array = None if value is None else self._value(value)
            if value is not None and array is None:
                return None
            inputs.append(array)
        return evaluate(op, inputs, self._ctx.store, self._max_elements) if inputs else None

    def _value(self, value: SSAValue) -> npt.NDArray[Any] | None:
        if value in self._known:
            return self._known[value]
        kind = value.type
        count = 1
        for size in getattr(kind, "get_shape", lambda: (-1,))():
            count *= size
        if not 0 <= count <= self._max_elements:
            return None
        return read_constant(self._ctx.store, value)
