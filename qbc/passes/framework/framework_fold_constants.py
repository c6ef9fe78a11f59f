"""Evaluate operators on constants, within a size limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects.blob import dtype_name
from qbc.dialects.framework import constant_of, operands_by_position, operator, read_constant
from qbc.dialects.framework.ops import RANDOM_OPERATORS
from qbc.passes.base import CompileContext, FunctionPass, check_options
from qbc.passes.framework.common import NO_EVALUATION, replace_with_constants
from qbc.passes.framework.inference import is_static, update_signature

if TYPE_CHECKING:
    import numpy.typing as npt


_MAX_ELEMENTS = 1 << 40  # the static result type was checked already


@dataclass(frozen=True)
class FrameworkFoldConstants(FunctionPass):
    """Replace operators whose operands are all constants by their value.

    A result larger than `max_bytes` is folded only when it is not larger than the operands together, so that expanding
    operators do not blow the weights up. Quantize and dequantize operators and random ones stay. Operators that are
    exact in numpy run there, all others in onnxruntime.

    Before:
        %w = framework.Transpose(%c) {perm = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>

    After:
        %w = framework.Constant #blob.ref<"..." : tensor<2x3xf32>>
    """

    name = "framework-fold-constants"
    needs = ("framework",)
    max_bytes: int = 65536

    def __post_init__(self) -> None:
        check_options(0, max_bytes=self.max_bytes)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for inner in list(op.walk()):
            if not self._is_candidate(inner):
                continue
            arrays = _evaluate(inner, ctx)
            if arrays is not None:
                replace_with_constants(ctx, inner, arrays, "its value is a constant")
                ctx.count("folded")
        update_signature(op)

    def _is_candidate(self, op: Operation) -> bool:
        if not op.name.startswith("framework.") or op.name == "framework.opaque" or op.regions or not op.results:
            return False
        if operator(op) in NO_EVALUATION or operator(op) in RANDOM_OPERATORS or not op.operands:
            return False
        if any(constant_of(value) is None for value in op.operands):
            return False
        if not all(is_static(result.type) for result in op.results):
            return False
        produced = [_bytes_of(result) for result in op.results]
        if any(size is None for size in produced):
            return False
        total = sum(size for size in produced if size is not None)
        return total <= max(self.max_bytes, sum(_bytes_of(value) or 0 for value in op.operands))


def _bytes_of(value: SSAValue) -> int | None:
    """Return the size of a tensor, or None for elements that numpy lacks."""
    kind = value.type
    if not isinstance(kind, TensorType) or not is_static(kind):
        return None
    text = str(kind.element_type)
    widths = {"f16": 2, "f32": 4, "f64": 8, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
    width = widths.get(text.removeprefix("u") if text.startswith("ui") else text)
    if width is None:
        return None
    count = 1
    for size in kind.get_shape():
        count *= size
    return count * width


def _evaluate(op: Operation, ctx: CompileContext) -> list[npt.NDArray[Any]] | None:
    from qbc.execute.framework_constant import evaluate, evaluate_in_onnxruntime

    inputs = [None if value is None else read_constant(ctx.store, value) for value in operands_by_position(op)]
    single = evaluate(op, inputs, ctx.store, _MAX_ELEMENTS)
    arrays = [single] if single is not None else evaluate_in_onnxruntime(op, ctx.store)
    if arrays is None or len(arrays) != len(op.results):
        return None
    fits = all(_has_type(array, result) for array, result in zip(arrays, op.results, strict=True))
    return arrays if fits else None


def _has_type(array: npt.NDArray[Any], value: SSAValue) -> bool:
    kind = value.type
    return (
        isinstance(kind, TensorType)
        and kind.get_shape() == array.shape
        and dtype_name(kind.element_type) == array.dtype.name
    )
