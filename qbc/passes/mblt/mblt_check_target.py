"""`mblt-check-target`: check every layer against the rules of the target."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from qbc.passes.base import CompileContext, ModulePass
from qbc.passes.capabilities import Breach, breaches, refusal
from qbc.passes.mblt.demands import demands_of
from qbc.passes.quant.convert_mblt_to_quant.convert import npu_functions, unconvertible


@dataclass(frozen=True)
class MbltCheckTarget(ModulePass):
    """Refuse layers that the target cannot run, before any sample is read; the graph is left as it is.

    One UNSUPPORTED_OP error lists the layers under the rules that they break, with their source nodes, then the
    operators without a form on any NPU. The rules are the functions of `qbc.passes.capabilities`. Without a target
    there is nothing to check.

    Refused where the target has no multi-function unit, left as it is elsewhere:
    ```mlir
    %0 = mblt.softmax %x {axis = 1, beta = 1.0 : f32} : tensor<1x8xf32> -> tensor<1x8xf32>
    ```
    """

    name = "mblt-check-target"
    needs = ("mblt",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        if ctx.target is None:
            return
        found = target_breaches(op, ctx)
        if found:
            others = unconvertible(npu_functions(op), ctx.report.get("conversion", ()))
            lines = ["Operators without a form on any NPU:", *(f"  {line}" for line, _ in others)] if others else ()
            raise refusal(found, ctx.target, lines)


def target_breaches(module: ModuleOp, ctx: CompileContext) -> list[Breach]:
    """Return the layers that the target of `ctx` cannot run, with the rules that they break."""
    return breaches(demands_of(npu_functions(module), ctx.store), ctx.target)


__all__ = ["MbltCheckTarget", "target_breaches"]
