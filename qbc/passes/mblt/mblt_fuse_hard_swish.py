"""`mblt-fuse-hard-swish`: hard sigmoid and hard swish written out become one op each."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qbc.dialects.common.access import number
from qbc.dialects.mblt import ClipOp, DivOp, HardSigmoidOp, HardSwishOp, MulOp
from qbc.passes.base import CompileContext, FunctionPass, rewrite
from qbc.passes.mblt.expressions import Product, affine_of, close, product_of
from qbc.passes.mblt.matching import inner_values_stay_inside, made_by, replace_group, sweep


@dataclass(frozen=True)
class FuseHardSwishPass(FunctionPass):
    """Replace `clip(a x + b, 0, h) / h` by hard_sigmoid, and x times a hard sigmoid of slope 1/6 by hard_swish.

    ```mlir
    %1 = mblt.add %x, %three : ...
    %2 = mblt.clip %1 {min = 0.0, max = 6.0} : ...
    %3 = mblt.mul %x, %2 : ...
    %4 = mblt.div %3, %six : ...
    ```
    becomes
    ```mlir
    %4 = mblt.hard_swish %x : ...
    ```
    and `clip(x / 6 + 0.5, 0, 1)` alone becomes `mblt.hard_sigmoid %x {alpha = 1/6, beta = 0.5}`. Runs before
    `mblt-fuse-activation`, which hides the clip.
    """

    name = "mblt-fuse-hard-swish"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseHardSwish(ctx), _FuseHardSigmoid(ctx)])
        sweep(op, ctx)


@dataclass(frozen=True)
class _Ramp:
    """`height * hard_sigmoid(alpha * x + beta)`, and its ops."""

    height: float
    alpha: float
    beta: float
    x: SSAValue
    ops: tuple[Operation, ...]


def _ramp_of(ctx: CompileContext, value: SSAValue) -> _Ramp | None:
    op = made_by(value, HardSigmoidOp, ClipOp)
    if op is None:
        return None
    if isinstance(op, HardSigmoidOp):
        return _Ramp(1.0, number(op, "alpha"), number(op, "beta"), op.operands[0], (op,))
    low, height = number(op, "min"), number(op, "max")
    if low != 0.0 or not 0.0 < height < float("inf"):
        return None
    affine = affine_of(ctx, op.operands[0])
    return _Ramp(height, affine.scale / height, affine.shift / height, affine.base, (*affine.ops, op))


@dataclass
class _FuseHardSwish(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        product = product_of(self.ctx, op) if isinstance(op, MulOp | DivOp) else None
        if product is None or len(product.factors) != 2:
            return
        for x, gate in (product.factors, product.factors[::-1]):
            ramp = _ramp_of(self.ctx, gate)
            if ramp is None or ramp.x is not x or x.type != op.results[0].type:
                continue
            group = [*ramp.ops, *product.ops]
            if self._is_hard_swish(ramp, product) and inner_values_stay_inside(group):
                replace_group(rewriter, op, HardSwishOp.of(x), group)
                self.ctx.count("fused")
            return

    @staticmethod
    def _is_hard_swish(ramp: _Ramp, product: Product) -> bool:
        return close(product.coefficient * ramp.height, 1.0) and close(ramp.alpha, 1 / 6) and close(ramp.beta, 0.5)


@dataclass
class _FuseHardSigmoid(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ClipOp | MulOp | DivOp):
            return
        value: SSAValue = op.results[0]
        coefficient, outer = 1.0, tuple[Operation, ...]()
        if not isinstance(op, ClipOp):
            product = product_of(self.ctx, op)
            if product is None or len(product.factors) != 1:
                return
            value, coefficient, outer = product.factors[0], product.coefficient, product.ops
        ramp = _ramp_of(self.ctx, value)
        if ramp is None or ramp.beta == 0.0 or len(ramp.ops) < 2 or ramp.x.type != op.results[0].type:
            return
        group = [*ramp.ops, *outer]
        if not close(coefficient * ramp.height, 1.0) or not inner_values_stay_inside(group):
            return
        replace_group(rewriter, op, HardSigmoidOp.of(ramp.x, alpha=ramp.alpha, beta=ramp.beta), group)
        self.ctx.count("fused")
