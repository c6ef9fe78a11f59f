"""Remove operators that change nothing, merge chains of views, and take the branch of an If that is known."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qbc.dialects.framework import operator, read_constant
from qbc.passes.base import CompileContext, FunctionPass, fuse_locations
from qbc.passes.framework.common import record_removed, replace_with_value
from qbc.passes.framework.inference import update_signature
from qbc.passes.framework.simplify_rules import RULES, sink_view

MAX_ROUNDS = 16


@dataclass(frozen=True)
class FrameworkSimplify(FunctionPass):
    """Apply the rules of `simplify_rules` until nothing changes; results are bit-equal.

    Removed: Identity, casts to the same type, Dropout, views and expansions to the same shape, Pad by zero, Tile by
    one, whole slices, products with one, Concat / Sum / Max / Min of one value. Merged: Transpose of Transpose, Reshape
    of a view; a view in front of a Softmax over the last axis moves behind it when a Reshape follows there. An If whose
    condition is constant is replaced by its branch.

    Before:
        %0 = framework.Identity(%x) : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
        %1 = framework.Transpose(%0) {perm = [0, 2, 1]} : (tensor<1x8x4xf32>) -> tensor<1x4x8xf32>
        %2 = framework.Transpose(%1) {perm = [0, 2, 1]} : (tensor<1x4x8xf32>) -> tensor<1x8x4xf32>
        %3 = framework.Relu(%2) : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>

    After:
        %3 = framework.Relu(%x) : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
    """

    name = "framework-simplify"
    needs = ("framework",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for _ in range(MAX_ROUNDS):
            if not _sweep(op, ctx):
                break
        update_signature(op)


def _sweep(function: FuncOp, ctx: CompileContext) -> bool:
    changed = False
    for op in list(function.walk()):
        if op.parent is None or not op.name.startswith("framework.") or not op.results:
            continue
        if op.name == "framework.If":
            changed |= _take_branch(op, ctx)
        elif op.name in ("framework.Softmax", "framework.LogSoftmax") and sink_view(op):
            ctx.count("sunk")
            changed = True
        elif op.name != "framework.opaque":
            changed |= _apply(op, ctx)
    return changed


def _apply(op: Operation, ctx: CompileContext) -> bool:
    rule = RULES.get(operator(op))
    if rule is None or not any(True for result in op.results for _ in result.uses):
        return False
    inner = op.operands[0].owner if op.operands else None
    outcome = rule(op, ctx)
    if outcome is None:
        return False
    if not isinstance(outcome, SSAValue):  # changed in place: it now stands for the operator before it, too
        if isinstance(inner, Operation):
            op.location = fuse_locations([inner, op])
        ctx.count("merged")
        return True
    replace_with_value(ctx, op, outcome, f"{operator(op)} changes nothing here")
    ctx.count("removed")
    return True


def _take_branch(op: Operation, ctx: CompileContext) -> bool:
    """Replace an If with a constant condition by the operations of the branch it takes."""
    condition = read_constant(ctx.store, op.operands[0])
    if condition is None or condition.size != 1:
        return False
    body = op.regions[1 if condition.reshape(-1)[0] else 0].block  # attributes in order: else_branch, then_branch
    terminator = body.last_op
    if terminator is None:
        return False
    values = list(terminator.operands)
    Rewriter.erase_op(terminator)
    for inner in list(body.ops):
        body.detach_op(inner)
        Rewriter.insert_op(inner, InsertPoint.before(op))
    record_removed(ctx, op, "its condition is a constant")
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)
    ctx.count("branches")
    return True
