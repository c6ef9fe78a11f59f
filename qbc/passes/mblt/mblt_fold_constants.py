"""`mblt-fold-constants`: what depends on constants only is computed now; constants in a row become one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qbc.dialects.blob import dtype_name
from qbc.dialects.mblt import (
    AddOp,
    ClipOp,
    ConstantOp,
    Conv2dOp,
    DivOp,
    LinearOp,
    MaximumOp,
    MbltOp,
    MinimumOp,
    MulOp,
    SubOp,
    TransposeConv2dOp,
    element_of,
    shape_of,
)
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.layers import layer_of_affine, offset_is_exact
from qbc.passes.mblt.matching import (
    channel_vector,
    channels_of,
    constant_data,
    has_activation,
    invertible,
    is_float32,
    made_by,
    new_constant,
    rebuild,
    replace_group,
    scalar,
    split_constant,
    sweep,
)

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array

GROWTH_LIMIT = 1 << 16  # elements that a folded result may have beyond its operands
LAYERS = (Conv2dOp, TransposeConv2dOp, LinearOp)


@dataclass(frozen=True)
class FoldConstantsPass(FunctionPass):
    """Fold constants into each other and into the layers that use them.

    ```mlir
    %1 = mblt.sub %x, %c : ...          // c, d: constants, one number per channel or for all
    %2 = mblt.div %1, %d : ...
    %3 = mblt.linear %2 {weight = W, bias = b} : ...
    ```
    becomes
    ```mlir
    %3 = mblt.linear %x {weight = W / d, bias = b - W c / d} : ...
    ```
    In detail: an op on constants becomes a constant (unless it grows beyond its operands); `x - c` and `x / c` become
    `x + -c` and `x * 1/c`; two additions or two multiplications become one; a factor (and, where no zero padding
    mixes in, an addend) before a layer goes into it unless the layer before can take it; maximum and minimum with one
    number become clip.
    """

    name = "mblt-fold-constants"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        patterns = [_Evaluate(ctx), _Normalize(ctx), _MergeConstants(ctx), _FoldIntoLayer(ctx), _BoundAsClip(ctx)]
        rewrite(op, patterns)
        sweep(op, ctx)


@dataclass
class _Evaluate(RewritePattern):
    """An op whose operands are all constant."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, MbltOp) or not op.operands:
            return
        if not all(isinstance(value.owner, ConstantOp) for value in op.operands):
            return
        size = math.prod(shape_of(op.results[0]))
        if size < 0 or size > GROWTH_LIMIT + sum(math.prod(shape_of(value)) for value in op.operands):
            return
        from qbc.execute.float_torch import evaluate

        operands = [constant_data(self.ctx, value) for value in op.operands]
        data = evaluate(op, [array for array in operands if array is not None], self.ctx.store)
        folded = new_constant(self.ctx, data, dtype_name(element_of(op.results[0])))
        replace_group(rewriter, op, folded, [])
        self.ctx.count("evaluated")


@dataclass
class _Normalize(RewritePattern):
    """`x - c` is `x + -c`, `x / c` is `x * 1/c`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, SubOp | DivOp) or not is_float32(op.results[0]):
            return
        data = constant_data(self.ctx, op.operands[1])
        if data is None or isinstance(op.operands[0].owner, ConstantOp):
            return
        if isinstance(op, DivOp) and not invertible(data):
            return
        import numpy as np

        wide = data.astype(np.float64)
        constant = new_constant(self.ctx, -wide if isinstance(op, SubOp) else 1.0 / wide)
        cls = AddOp if isinstance(op, SubOp) else MulOp
        changed = rebuild(cls, [op.operands[0], constant], op.properties, op.results[0])
        replace_group(rewriter, op, [constant, changed], [])


@dataclass
class _MergeConstants(RewritePattern):
    """`(x + a) + b` and `(x * a) * b`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, AddOp | MulOp) or not is_float32(op.results[0]):
            return
        outer = split_constant(self.ctx, op)
        inner_op = None if outer is None else made_by(outer[0], type(op))
        if outer is None or inner_op is None or single_user(outer[0]) is not op:
            return
        inner = split_constant(self.ctx, inner_op)
        if inner is None:
            return
        import numpy as np

        first, second = (constant_data(self.ctx, value) for value in (inner[1], outer[1]))
        if first is None or second is None:
            return
        combine = np.add if isinstance(op, AddOp) else np.multiply
        constant = new_constant(self.ctx, combine(first.astype(np.float64), second.astype(np.float64)))
        merged = rebuild(type(op), [inner[0], constant], op.properties, op.results[0])
        replace_group(rewriter, op, [constant, merged], [inner_op])
        self.ctx.count("merged")


@dataclass
class _FoldIntoLayer(RewritePattern):
    """`layer(x * f)` and `layer(x + c)`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, LAYERS):
            return
        source = op.operands[0]
        affine = made_by(source, AddOp, MulOp)
        split = None if affine is None else split_constant(self.ctx, affine)
        if affine is None or split is None or single_user(source) is not op or split[0].type != source.type:
            return
        vector = channel_vector(self.ctx, split[1], channels_of(source))
        if vector is None or self._belongs_to_producer(split[0], affine):
            return
        factor, offset = _factor_and_offset(affine, vector)
        if offset is not None and not offset_is_exact(op):
            return
        folded = layer_of_affine(self.ctx, op, split[0], factor, offset)
        replace_group(rewriter, op, folded, [affine])
        self.ctx.count("folded")

    @staticmethod
    def _belongs_to_producer(value: SSAValue, affine: Operation) -> bool:
        """Whether a layer before takes the constant itself: per output channel, which quantizes better."""
        return made_by(value, *LAYERS) is not None and single_user(value) is affine


def _factor_and_offset(op: Operation, vector: Float64Array) -> tuple[Float64Array | None, Float64Array | None]:
    return (None, vector) if isinstance(op, AddOp) else (vector, None)


@dataclass
class _BoundAsClip(RewritePattern):
    """`maximum(x, c)` is `clip(x, c, inf)`, `minimum(x, c)` is `clip(x, -inf, c)`."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, MaximumOp | MinimumOp) or has_activation(op) or not is_float32(op.results[0]):
            return
        split = split_constant(self.ctx, op)
        bound = None if split is None else scalar(self.ctx, split[1])
        if split is None or bound is None or split[0].type != op.results[0].type:
            return
        low, high = (bound, math.inf) if isinstance(op, MaximumOp) else (-math.inf, bound)
        replace_group(rewriter, op, ClipOp.of(split[0], min=low, max=high), [])
        self.ctx.count("clips")
