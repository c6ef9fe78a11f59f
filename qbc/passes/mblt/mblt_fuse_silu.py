"""`mblt-fuse-silu`: `x * sigmoid(x)` becomes one op."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.mblt import MulOp, SigmoidOp, SiluOp
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.matching import has_activation, made_by, replace_group, sweep


@dataclass(frozen=True)
class FuseSiluPass(FunctionPass):
    """Replace the product of a value and its own sigmoid, where nothing else uses the sigmoid.

    ```mlir
    %1 = mblt.sigmoid %x : tensor<1x8xf32> -> tensor<1x8xf32>
    %2 = mblt.mul %x, %1 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    becomes
    ```mlir
    %2 = mblt.silu %x : tensor<1x8xf32> -> tensor<1x8xf32>
    ```
    """

    name = "mblt-fuse-silu"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseSilu(ctx)])
        sweep(op, ctx)


@dataclass
class _FuseSilu(RewritePattern):
    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter) -> None:
        if has_activation(op):
            return
        for x, gate in (op.operands, op.operands[::-1]):
            sigmoid = made_by(gate, SigmoidOp)
            if sigmoid is None or sigmoid.operands[0] is not x or single_user(gate) is not op:
                continue
            replace_group(rewriter, op, SiluOp.of(x), [sigmoid])
            self.ctx.count("fused")
            return
