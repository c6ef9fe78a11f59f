"""`mblt-fold-norm-affine`: constants that follow a normalization become its scale and bias."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qbc.dialects.common.access import integer, integers
from qbc.dialects.mblt import AddOp, DivOp, InstanceNormOp, LayerNormOp, MulOp, SubOp, TransposeOp, shape_of
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.matching import (
    blob,
    constant_along,
    has_activation,
    invertible,
    made_by,
    read_optional,
    replace_group,
    split_constant,
    sweep,
    with_properties,
)


@dataclass(frozen=True)
class FoldNormAffinePass(FunctionPass):
    """Fold mul, div, add and sub by constants into the layer_norm or instance_norm whose only user they are.

    A transpose may stand between.

    ```mlir
    %1 = mblt.layer_norm %0 {normalized_rank = 1, epsilon = e} : ...
    %2 = mblt.mul %1, %gamma : ...
    %3 = mblt.add %2, %beta : ...
    ```
    becomes
    ```mlir
    %3 = mblt.layer_norm %0 {normalized_rank = 1, scale = gamma, bias = beta, epsilon = e} : ...
    ```
    """

    name = "mblt-fold-norm-affine"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FoldAffine(ctx)])
        sweep(op, ctx)


@dataclass
class _FoldAffine(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, AddOp | SubOp | MulOp | DivOp) or has_activation(op):
            return
        split = split_constant(self.ctx, op)
        if split is None:
            return
        source, constant = split
        if single_user(source) is not op or source.type != op.results[0].type:
            return
        transpose = made_by(source, TransposeOp)
        inner = source if transpose is None else transpose.operands[0]
        norm = made_by(inner, LayerNormOp, InstanceNormOp)
        if not isinstance(norm, LayerNormOp | InstanceNormOp) or len(list(inner.uses)) != 1:
            return
        if op.operands[0] is constant and isinstance(op, SubOp | DivOp):
            return
        data = constant_along(self.ctx, constant, source, _normalized_axes(norm, transpose))
        if data is None or (isinstance(op, DivOp) and not invertible(data)):
            return
        scale, bias = (read_optional(self.ctx, norm, name) for name in ("scale", "bias"))
        if isinstance(op, AddOp | SubOp):
            added = data if isinstance(op, AddOp) else -data
            changes = {"bias": blob(self.ctx, added if bias is None else bias + added)}
        else:
            factor = data if isinstance(op, MulOp) else 1 / data
            changes = {"scale": blob(self.ctx, factor if scale is None else scale * factor)}
            if bias is not None:
                changes["bias"] = blob(self.ctx, bias * factor)
        folded = with_properties(norm, changes)
        if transpose is None:
            replace_group(rewriter, op, folded, [norm])
        else:
            moved = TransposeOp.of(folded, permutation=integers(transpose, "permutation"))
            replace_group(rewriter, op, [folded, moved], [norm, transpose])
        self.ctx.count("folded")


def _normalized_axes(norm: Operation, transpose: Operation | None) -> list[int]:
    """Return where the axes that a norm scales lie behind the transpose that may follow it, in the norm's order."""
    total = len(shape_of(norm.results[0]))
    rank = integer(norm, "normalized_rank") if isinstance(norm, LayerNormOp) else 1
    axes = range(total - rank, total)
    order = range(total) if transpose is None else integers(transpose, "permutation")
    return [list(order).index(axis) for axis in axes]
