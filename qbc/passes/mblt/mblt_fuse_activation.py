"""`mblt-fuse-activation`: relu and clip become the output clamp of the op before them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qbc.dialects.common.access import number, text
from qbc.dialects.mblt import (
    AddOp,
    ClipOp,
    Conv2dOp,
    DivOp,
    LinearOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    PowOp,
    ReluOp,
    SubOp,
    TransposeConv2dOp,
)
from qbc.passes.base import CompileContext, FunctionPass, rewrite, single_user
from qbc.passes.mblt.matching import is_float32, replace_group, sweep, with_properties

CARRIERS = (
    Conv2dOp,
    TransposeConv2dOp,
    LinearOp,
    AddOp,
    SubOp,
    MulOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    PowOp,
)
Interval = tuple[float, float]


@dataclass(frozen=True)
class FuseActivationPass(FunctionPass):
    """Fuse `mblt.relu` and `mblt.clip` into the op whose only user they are; clamps in a row become one.

    ```mlir
    %1 = mblt.conv2d %0 {...} : tensor<1x8x8x3xf32> -> tensor<1x8x8x16xf32>
    %2 = mblt.relu %1 : tensor<1x8x8x16xf32> -> tensor<1x8x8x16xf32>
    ```
    becomes
    ```mlir
    %2 = mblt.conv2d %0 {activation = "relu", ...} : tensor<1x8x8x3xf32> -> tensor<1x8x8x16xf32>
    ```
    """

    name = "mblt-fuse-activation"
    needs = ("mblt",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        rewrite(op, [_FuseActivation(ctx)])
        sweep(op, ctx)


@dataclass
class _FuseActivation(RewritePattern):
    ctx: CompileContext

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ReluOp | ClipOp) or not is_float32(op.results[0]):
            return
        carrier = op.operands[0].owner
        if not isinstance(carrier, CARRIERS) or single_user(op.operands[0]) is not op:
            return
        fused = with_properties(carrier, activation_properties(compose(fused_interval(carrier), own_interval(op))))
        replace_group(rewriter, op, fused, [carrier])
        self.ctx.count("fused")


def own_interval(op: ReluOp | ClipOp) -> Interval:
    """Return the bounds of a clamp op."""
    return (0.0, math.inf) if isinstance(op, ReluOp) else (number(op, "min"), number(op, "max"))


def fused_interval(op: Operation) -> Interval:
    """Return the bounds of the fused activation of an op; infinite without one."""
    if "activation" not in op.properties:
        return -math.inf, math.inf
    kind = text(op, "activation")
    if kind == "clip":
        return number(op, "activation_min"), number(op, "activation_max")
    return 0.0, (6.0 if kind == "relu6" else math.inf)


def compose(first: Interval, then: Interval) -> Interval:
    """Return the bounds of clamping to `first`, then to `then`."""
    low, high = (min(max(bound, then[0]), then[1]) for bound in first)
    return low, high


def activation_properties(interval: Interval) -> dict[str, object]:
    """Return the activation properties that clamp to `interval`."""
    if interval == (0.0, math.inf):
        return {"activation": "relu", "activation_min": None, "activation_max": None}
    if interval == (0.0, 6.0):
        return {"activation": "relu6", "activation_min": None, "activation_max": None}
    return {"activation": "clip", "activation_min": interval[0], "activation_max": interval[1]}
