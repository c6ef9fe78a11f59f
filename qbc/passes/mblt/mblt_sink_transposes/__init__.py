"""`mblt-sink-transposes`: move transposes until they cancel, or stand at arguments and results."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.func import FuncOp

from qbc.dialects.common.graph import source_layouts
from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import TransposeOp, shape_of
from qbc.passes.base import CompileContext, FunctionPass
from qbc.passes.mblt.mblt_sink_transposes.boundary import absorb
from qbc.passes.mblt.mblt_sink_transposes.permutations import moves_units_only
from qbc.passes.mblt.mblt_sink_transposes.sweeps import Sweeper
from qbc.passes.mblt.removed_nodes import named_nodes, record_missing

# Sequences of sweeps (direction, eager) that are tried in turn; the one that moves the fewest elements stays.
TRIALS = (
    (("sink", False),),
    (("hoist", False), ("sink", False)),
    (("sink", True), ("hoist", False), ("sink", False)),
    (("hoist", True), ("sink", False), ("hoist", False), ("sink", False)),
    (("hoist", False),),
)


@dataclass(frozen=True)
class MbltSinkTransposes(FunctionPass):
    """Move transposes through ops without a layout: elementwise, concat, reductions, softmax, slice, pad, reshape, ...

    Transposes merge, cancel, become reshapes where only axes of size 1 move, and go into the weight of a linear op
    beside a flatten. A transpose of a constant is carried out. Where all uses of a graph argument transpose it to
    channel-last, or some do for a convolution, pooling or resize, or where a result is transposed back last, the layout
    of the argument or result changes and `mblt.source_layout` records it. Several orders of moves are tried; the one
    that moves the fewest elements is kept, between equals the one that makes the most arguments channel-last.

    Before:
    ```mlir
    func.func @main(%x: tensor<1x3x8x8xf32> {mblt.name = "x"}) -> (tensor<1x4x8x8xf32> {mblt.name = "y"}) {
      %0 = mblt.transpose %x {permutation = [0, 2, 3, 1]} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
      %1 = mblt.conv2d %0 {...} : tensor<1x8x8x3xf32> -> tensor<1x8x8x4xf32>
      %2 = mblt.transpose %1 {permutation = [0, 3, 1, 2]} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
      %3 = mblt.relu %2 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
      func.return %3 : tensor<1x4x8x8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<1x8x8x3xf32> {mblt.name = "x", mblt.source_layout = "nchw"})
        -> (tensor<1x8x8x4xf32> {mblt.name = "y", mblt.source_layout = "nchw"}) {
      %0 = mblt.conv2d %x {...} : tensor<1x8x8x3xf32> -> tensor<1x8x8x4xf32>
      %1 = mblt.relu %0 : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
      func.return %1 : tensor<1x8x8x4xf32>
    }
    ```
    """

    name = "mblt-sink-transposes"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        if not op.body.blocks:
            return
        before, names = cost(op), named_nodes(op)
        _try(op, TRIALS[0], ctx, accept_equal=True)
        for trial in TRIALS[1:]:
            if cost(op) == (0, 0):
                break
            _try(op, trial, ctx)
        Sweeper(op.body.block, ctx, eager=False).finish()
        record_missing(ctx, names, op, "only moves data, and the moves cancel")
        ctx.count("transposes before", before[1])
        ctx.count("transposes after", cost(op)[1])


def cost(function: FuncOp) -> tuple[int, int]:
    """Return the number of elements that transposes move, and how many transposes do (not those of axes of size 1)."""
    volumes = [
        prod(1 if size == DYNAMIC else size for size in shape_of(op.results[0]))
        for op in function.body.block.ops
        if isinstance(op, TransposeOp) and not moves_units_only(shape_of(op.operands[0]), op.ints("permutation"))
    ]
    return sum(volumes), len(volumes)


def _rank(function: FuncOp) -> tuple[int, int, int]:
    """Return what trials are compared by: the cost, then how many arguments keep the layout of the source model."""
    layouts = source_layouts(function.arg_attrs, len(function.body.block.args))
    return (*cost(function), layouts.count(None))


def _try(
    function: FuncOp, trial: tuple[tuple[str, bool], ...], ctx: CompileContext, *, accept_equal: bool = False
) -> None:
    """Run sweeps on a copy and keep it when it is cheaper (or equal, if asked)."""
    copy = function.clone()
    for direction, eager in trial:
        sweeper = Sweeper(copy.body.block, ctx, eager=eager)
        if direction == "sink":
            sweeper.sink()
        else:
            sweeper.hoist()
        absorb(copy)
    before, after = _rank(function), _rank(copy)
    if after > before or (after == before and not accept_equal):
        return
    block = copy.body.detach_block(0)
    function.body.erase_block(function.body.block, safe_erase=False)
    function.body.add_block(block)
    function.properties.update(copy.properties)


__all__ = ["MbltSinkTransposes", "cost"]
