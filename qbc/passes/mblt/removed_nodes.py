"""The record of source nodes that no operation stands for any more: `ctx.report["removed"]`, node name -> reason."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qbc.dialects.framework import ConstantOp
from qbc.passes.base import CompileContext, source_names


def named_nodes(scope: FuncOp | ModuleOp) -> dict[str, None]:
    """Return the names of the source nodes that operations stand for, those in bodies included, in order.

    Constants of the source model are no nodes: they carry the names of tensors.
    """
    return {name: None for op in scope.walk() if not isinstance(op, ConstantOp) for name in source_names(op)}


def record_missing(ctx: CompileContext, before: Iterable[str], scope: FuncOp | ModuleOp, reason: str) -> None:
    """Record with `reason` the nodes of `before` that `scope` has lost since."""
    removed = ctx.report.setdefault("removed", {})
    left = named_nodes(scope)
    for name in before:
        if name not in left:
            removed.setdefault(name, reason)
