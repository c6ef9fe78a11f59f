"""`npu-legalize`: check every command against the rules of the target."""

from __future__ import annotations

from dataclasses import dataclass

from qbc.dialects.npu import ProgramOp
from qbc.passes.base import CompileContext
from qbc.passes.capabilities import breaches, refusal
from qbc.passes.npu.constraints import demand_of
from qbc.passes.npu.programs import ProgramPass, commands, target_of


@dataclass(frozen=True)
class NpuLegalize(ProgramPass):
    """Refuse what the target cannot run: one UNSUPPORTED_OP error that lists the operations under the rules they break.

    The rules are the functions of `qbc.passes.capabilities`; their docstrings are the texts shown. A legal program
    is left as it is. `mblt-check-target` and `quant-check-target` find most of it before samples are read; this is the
    last guard, for what later passes decide.
    """

    name = "npu-legalize"

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        target = target_of(ctx)
        found = breaches(((command, demand_of(command)) for command in commands(op)), target)
        ctx.count("checked", len(commands(op)))
        if found:
            raise refusal(found, target)
