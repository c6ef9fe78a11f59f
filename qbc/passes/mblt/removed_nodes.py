"""The record of source nodes that no operation stands for any more: `ctx.report["removed"]`, node name -> reason."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from qbc.passes.base import CompileContext, source_names


def named_nodes(function: FuncOp) -> set[str]:
    """Return the names of the source nodes that the operations of a function stand for."""
    return {name for op in function.body.walk() for name in source_names(op)}


def record_missing(ctx: CompileContext, before: set[str], function: FuncOp, reason: str) -> None:
    """Record with `reason` the nodes of `before` that the function has lost since."""
    removed = ctx.report.setdefault("removed", {})
    for name in sorted(before - named_nodes(function)):
        removed.setdefault(name, reason)
