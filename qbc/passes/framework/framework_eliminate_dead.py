"""Remove operators whose results nobody uses."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qbc.passes.base import CompileContext, FunctionPass, erase_dead_ops
from qbc.passes.framework.common import record_removed


@dataclass(frozen=True)
class FrameworkEliminateDead(FunctionPass):
    """Erase operators without users, last first, in bodies too. ONNX operators have no side effects.

    Before:
        %0 = framework.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %1 = framework.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
        func.return %0 : tensor<4xf32>

    After:
        %0 = framework.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
        func.return %0 : tensor<4xf32>
    """

    name = "framework-eliminate-dead"
    needs = ("framework",)

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        def is_removable(inner: Operation) -> bool:
            if not inner.name.startswith("framework."):
                return False
            if inner.name != "framework.Constant":
                record_removed(ctx, inner, "its results are not used")
            return True

        ctx.count("erased", erase_dead_ops(op, is_removable=is_removable))
