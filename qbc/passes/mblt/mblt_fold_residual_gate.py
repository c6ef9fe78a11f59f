"""`mblt-fold-residual-gate`: `x * g + x` becomes `x * (g + 1)`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.mblt import AddOp, ConstantOp, MulOp, shape_of
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.matching import is_float32, made_by, new_constant, rebuild, replace_group, sweep


@dataclass(frozen=True)
class FoldResidualGatePass(FunctionPass):
    """Move the residual around a gate into the gate, where the gate is smaller than what it scales.

    ```mlir
    %1 = mblt.mul %x, %gate : (tensor<1x8x8x4xf32>, tensor<1x1x1x4xf32>) -> tensor<1x8x8x4xf32>
    %2 = mblt.add %x, %1 : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
    ```
    becomes
    ```mlir
    %1 = mblt.add %gate, %one : (tensor<1x1x1x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x4xf32>
    %2 = mblt.mul %x, %1 : (tensor<1x8x8x4xf32>, tensor<1x1x1x4xf32>) -> tensor<1x8x8x4xf32>
    ```
    One pass over the map instead of two, and one rounding instead of two once it is quantized.
    """

    name = "mblt-fold-residual-gate"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FoldResidualGate(ctx)])
        sweep(op, ctx)


@dataclass
class _FoldResidualGate(RewritePattern):
    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if not is_float32(op.results[0]):
            return
        for residual, scaled in (op.operands, op.operands[::-1]):
            product = made_by(scaled, MulOp)
            if product is None or single_user(scaled) is not op or residual not in product.operands:
                continue
            gate = product.operands[1] if product.operands[0] is residual else product.operands[0]
            if residual.type != op.results[0].type or not _is_smaller(gate, residual):
                continue
            import numpy as np

            one = new_constant(self.ctx, np.ones([1] * len(shape_of(gate))))
            raised = AddOp.of(gate, one)
            folded = rebuild(MulOp, [residual, raised.results[0]], op.properties, op.results[0])
            replace_group(rewriter, op, [one, raised, folded], [product])
            self.ctx.count("folded")
            return


def _is_smaller(gate: SSAValue, value: SSAValue) -> bool:
    """Whether a computed gate has fewer elements than what it scales (static shapes)."""
    sizes = [math.prod(shape_of(operand)) for operand in (gate, value)]
    static = all(size >= 0 for operand in (gate, value) for size in shape_of(operand))
    return static and sizes[0] < sizes[1] and not isinstance(gate.owner, ConstantOp)
