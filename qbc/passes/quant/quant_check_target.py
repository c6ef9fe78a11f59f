"""`quant-check-target`: check the chosen widths against the rules of the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qbc.dialects.quant import LutOp, ParamTable
from qbc.passes.base import CompileContext, ModulePass
from qbc.passes.capabilities import Demand, breaches, refusal


@dataclass(frozen=True)
class QuantCheckTarget(ModulePass):
    """Refuse tables of 16-bit values where the target has no unit for them, before any sample is read.

    One UNSUPPORTED_OP error lists the functions whose operand has 16 bits, with their source nodes; the graph is left
    as it is. Without a target there is nothing to check. `mblt-check-target` checks what does not depend on widths.

    Refused where the target has no multi-function unit and row "r0" has the storage i16:
    ```mlir
    %1 = quant.lut %0 {function = "tanh"} : tensor<1x4x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r1">>
    ```
    """

    name = "quant-check-target"
    needs = ("quant.created",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        if ctx.target is None:
            return
        found = breaches(_demands(op), ctx.target)
        if found:
            raise refusal(found, ctx.target)


def _demands(module: ModuleOp) -> Iterator[tuple[Operation, Demand]]:
    table = ParamTable(module)
    for op in module.walk():
        if not isinstance(op, LutOp):
            continue
        row = table.row_of(op.operands[0])
        yield op, Demand(function_unit=row is not None and row.bits == "i16")
