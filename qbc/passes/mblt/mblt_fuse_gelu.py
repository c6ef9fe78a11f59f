"""`mblt-fuse-gelu`: GELU written out with erf or tanh becomes one op."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qbc.dialects.mblt import ErfOp, GeluOp, TanhOp
from qbc.passes.base import CompileContext, FunctionPass, rewrite
from qbc.passes.mblt.expressions import affine_of, close, is_polynomial, polynomial_of, product_of
from qbc.passes.mblt.matching import inner_values_stay_inside, made_by, replace_group, sweep

# what stands inside erf or tanh, as a polynomial in x
ERF_ARGUMENT = {1: 1 / math.sqrt(2)}
TANH_ARGUMENT = {1: math.sqrt(2 / math.pi), 3: math.sqrt(2 / math.pi) * 0.044715}


@dataclass(frozen=True)
class FuseGeluPass(FunctionPass):
    """Replace `x * 0.5 * (1 + erf(x / sqrt(2)))` and `x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))`.

    Factors and terms may stand in any order, x^3 may be a power or products.

    ```mlir
    %1 = mblt.div %x, %sqrt2 : ...
    %2 = mblt.erf %1 : ...
    %3 = mblt.add %2, %one : ...
    %4 = mblt.mul %x, %3 : ...
    %5 = mblt.mul %4, %half : ...
    ```
    becomes
    ```mlir
    %5 = mblt.gelu %x {approximate = "none"} : ...
    ```
    """

    name = "mblt-fuse-gelu"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseGelu(ctx)])
        sweep(op, ctx)


@dataclass
class _FuseGelu(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        product = product_of(self.ctx, op) if op.results else None
        if product is None or len(product.factors) != 2:
            return
        for x, gate in (product.factors, product.factors[::-1]):
            found = self._gate(x, gate, product.coefficient)
            if found is None or x.type != op.results[0].type:
                continue
            approximate, inner = found
            group = [*inner, *product.ops]
            if inner_values_stay_inside(group):
                replace_group(rewriter, op, GeluOp.of(x, approximate=approximate), group)
                self.ctx.count("fused")
            return

    def _gate(self, x: SSAValue, gate: SSAValue, coefficient: float) -> tuple[str, list[Operation]] | None:
        """Return the kind and the ops of `gate` when `coefficient * gate` is `0.5 * (1 + f(...x...))`."""
        affine = affine_of(self.ctx, gate)
        function = made_by(affine.base, ErfOp, TanhOp)
        if function is None:
            return None
        if not close(coefficient * affine.scale, 0.5) or not close(coefficient * affine.shift, 0.5):
            return None
        found = polynomial_of(self.ctx, function.operands[0], x)
        if found is None:
            return None
        coefficients, inner = found
        expected, kind = (ERF_ARGUMENT, "none") if isinstance(function, ErfOp) else (TANH_ARGUMENT, "tanh")
        return (kind, [*inner, function, *affine.ops]) if is_polynomial(coefficients, expected) else None
