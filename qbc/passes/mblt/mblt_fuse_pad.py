"""`mblt-fuse-pad`: zero padding becomes padding of the convolution or pooling that follows."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qbc.dialects.common.access import flag, integers, number, text
from qbc.dialects.mblt import AvgPool2dOp, Conv2dOp, MaxPool2dOp, PadOp, ReluOp
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.matching import made_by, replace_group, sweep, with_properties
from qbc.passes.mblt.mblt_fuse_activation import fused_interval


@dataclass(frozen=True)
class FusePadPass(FunctionPass):
    """Fuse `mblt.pad` with zeros on H and W into the conv2d, avg_pool2d or max_pool2d whose only source it is.

    ```mlir
    %1 = mblt.pad %0 {before = [0, 1, 1, 0], after = [0, 1, 1, 0], mode = "constant", value = 0.0 : f32} : ...
    %2 = mblt.conv2d %1 {padding = [0, 0, 0, 0], ...} : ...
    ```
    becomes
    ```mlir
    %2 = mblt.conv2d %0 {padding = [1, 1, 1, 1], ...} : ...
    ```
    An average pool counts the zeros as elements; it is fused when it had no padding, or counted it already. A max pool
    is fused when no element lies below the padding: after a relu, for zeros no larger than its windows.
    """

    name = "mblt-fuse-pad"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FusePad(ctx)])
        sweep(op, ctx)


@dataclass
class _FusePad(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, Conv2dOp | AvgPool2dOp | MaxPool2dOp):
            return
        pad = made_by(op.operands[0], PadOp)
        if pad is None or single_user(op.operands[0]) is not op:
            return
        if text(pad, "mode") != "constant" or number(pad, "value", 0.0) != 0.0 or "values" in pad.properties:
            return
        before, after = integers(pad, "before"), integers(pad, "after")
        if any((before[0], before[3], after[0], after[3])):
            return
        own = integers(op, "padding")
        added = (before[1], before[2], after[1], after[2])
        changes: dict[str, object] = {"padding": [first + second for first, second in zip(own, added, strict=True)]}
        if isinstance(op, AvgPool2dOp):
            if flag(op, "ceil_mode") or (any(own) and not flag(op, "count_include_pad")):
                return
            changes["count_include_pad"] = True
        if isinstance(op, MaxPool2dOp) and not self._zeros_never_matter(op, pad):
            return
        replace_group(rewriter, op, with_properties(op, changes, [pad.operands[0]]), [pad])
        self.ctx.count("fused")

    @staticmethod
    def _zeros_never_matter(op: MaxPool2dOp, pad: Operation) -> bool:
        """Whether all elements are >= 0 and every window holds one of them, so that zeros never win."""
        source = pad.operands[0].owner
        positive = isinstance(source, ReluOp) or (isinstance(source, Operation) and fused_interval(source)[0] >= 0)
        top, left, bottom, right = (
            first + second
            for first, second in zip(
                integers(op, "padding"),
                (*integers(pad, "before")[1:3], *integers(pad, "after")[1:3]),
                strict=True,
            )
        )
        kernel = integers(op, "kernel")
        inside = max(top, bottom) < kernel[0] and max(left, right) < kernel[1]
        return positive and inside and set(integers(op, "dilations")) == {1} and not flag(op, "ceil_mode")
