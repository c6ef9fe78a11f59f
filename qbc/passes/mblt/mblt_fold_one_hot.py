"""`mblt-fold-one-hot`: selecting rows of a matrix by a product with a one-hot matrix becomes a gather."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qbc.dialects.common.access import integer
from qbc.dialects.common.graph import argument_names
from qbc.dialects.mblt import (
    CastOp,
    ConstantOp,
    EqualOp,
    ExpandOp,
    FunctionOp,
    GatherOp,
    LinearOp,
    ReshapeOp,
    element_of,
    shape_of,
)
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.layers import weight_of
from qbc.passes.mblt.matching import (
    constant_data,
    inner_values_stay_inside,
    made_by,
    new_constant,
    read_optional,
    rebuild,
    replace_group,
    split_constant,
    sweep,
)
from qbc.passes.mblt.mblt_fuse_activation import fused_interval

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array


@dataclass(frozen=True)
class FoldOneHotPass(FunctionPass):
    """Replace `linear(cast(x == [0, 1, ..., n-1]))` by a gather of the rows that the linear would select.

    ```mlir
    %1 = mblt.reshape %x : tensor<1x6xi32> -> tensor<1x6x1xi32>
    %2 = mblt.equal %1, %range : (tensor<1x6x1xi32>, tensor<1x1x9xi32>) -> tensor<1x6x9xi1>
    %3 = mblt.cast %2 : tensor<1x6x9xi1> -> tensor<1x6x9xf32>
    %4 = mblt.linear %3 {weight = W, bias = b} : tensor<1x6x9xf32> -> tensor<1x6x4xf32>
    ```
    becomes
    ```mlir
    %rows = mblt.constant {value = transposed W + b} : tensor<9x4xf32>
    %4 = mblt.gather %rows, %x {axis = 0} : (tensor<9x4xf32>, tensor<1x6xi32>) -> tensor<1x6x4xf32>
    ```
    Functions of one element that follow a gather of constant rows are applied to the rows. The values of x must lie
    in 0..n-1 (a one-hot of anything else is zero, a gather of it is not defined): a notice says so.
    """

    name = "mblt-fold-one-hot"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FoldOneHot(ctx), _FunctionOfRows(ctx)])
        sweep(op, ctx)


@dataclass
class _FoldOneHot(RewritePattern):
    ctx: CompileContext

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LinearOp, rewriter: PatternRewriter) -> None:
        found = self._indices(op.operands[0])
        if found is None:
            return
        indices, group = found
        if not inner_values_stay_inside([*group, op]):
            return
        wanted = list(shape_of(op.results[0])[:-1])
        if sum(size < 0 for size in wanted) > 1:
            return  # a reshape to several unknown sizes cannot be written down
        rows = new_constant(self.ctx, self._rows(op))
        new_ops: list[Operation] = [rows]
        if list(shape_of(indices)) != wanted:
            flat = ReshapeOp.of(indices, result_type=TensorType(element_of(indices), wanted))
            new_ops.append(flat)
            indices = flat.results[0]
        new_ops.append(GatherOp.of(rows, indices, axis=0))
        self.ctx.notice(f"values of {_name(indices)} are taken to lie in 0..{rows.result.type.get_shape()[0] - 1}")
        replace_group(rewriter, op, new_ops, group)
        self.ctx.count("folded")

    def _rows(self, op: LinearOp) -> Float64Array:
        import numpy as np

        rows, bias = weight_of(self.ctx, op).T, read_optional(self.ctx, op, "bias")
        return np.clip(rows if bias is None else rows + bias, *fused_interval(op))

    def _indices(self, value: SSAValue) -> tuple[SSAValue, list[Operation]] | None:
        """Return the integers of which `value` is the one-hot along its last axis, and the ops that make it."""
        cast = made_by(value, CastOp)
        equal = None if cast is None else made_by(cast.operands[0], EqualOp)
        split = None if equal is None else split_constant(self.ctx, equal)
        if cast is None or equal is None or split is None:
            return None
        indices, constant = split
        group: list[Operation] = [equal, cast]
        if not self._is_range(constant, shape_of(value)[-1]):
            return None
        expand = made_by(indices, ExpandOp)
        if expand is not None:
            group.insert(0, expand)
            indices = expand.operands[0]
        shape = shape_of(indices)
        if shape[-1] != 1 or shape[:-1] != shape_of(value)[:-1]:
            return None
        reshape = made_by(indices, ReshapeOp)
        if reshape is not None and shape_of(reshape.operands[0]) == shape[:-1]:
            group.insert(0, reshape)
            indices = reshape.operands[0]
        return indices, group

    def _is_range(self, value: SSAValue, count: int) -> bool:
        """Whether a constant is 0, 1, ..., count-1 along its last axis and does not vary along others."""
        import numpy as np

        data = constant_data(self.ctx, value)
        if data is None or data.dtype.kind not in "iu" or data.ndim == 0 or data.shape[-1] != count:
            return False
        return bool((data == np.arange(count)).all())


@dataclass
class _FunctionOfRows(RewritePattern):
    """`f(gather(rows, i))` is `gather(f(rows), i)` for constant rows and a function f of one element."""

    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, FunctionOp):
            return
        gather = made_by(op.operands[0], GatherOp)
        if gather is None or single_user(op.operands[0]) is not op:
            return
        rows = gather.operands[0]
        if not isinstance(rows.owner, ConstantOp):
            return
        from qbc.execute.float_torch import evaluate

        data = constant_data(self.ctx, rows)
        if data is None:
            return
        function = rebuild(type(op), [rows], op.properties, rows)
        computed = new_constant(self.ctx, evaluate(function, [data], self.ctx.store), data.dtype.name)
        function.erase()
        gathered = GatherOp.of(computed, gather.operands[1], axis=integer(gather, "axis"))
        replace_group(rewriter, op, [computed, gathered], [gather])
        self.ctx.count("functions")


def _name(value: SSAValue) -> str:
    """Name an integer value for the notice: the graph input it comes from, if it is one."""
    while isinstance(value.owner, ReshapeOp | CastOp):
        value = value.owner.operands[0]
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if isinstance(value, BlockArgument) and isinstance(function, FuncOp):
        return f"input {argument_names(function)[value.index]!r}"
    return "the indices of a one-hot selection"
