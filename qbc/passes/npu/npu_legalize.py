"""`npu-legalize`: check every command against the rules of the target."""

from __future__ import annotations

from dataclasses import dataclass

from qbc.dialects.npu import KernelOp, ProgramOp
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, located, source_names
from qbc.passes.npu.constraints import RULES, rule_text
from qbc.passes.npu.programs import ProgramPass, commands, target_of


@dataclass(frozen=True)
class NpuLegalize(ProgramPass):
    """Refuse what the target cannot run: one UNSUPPORTED_OP error that lists the operations under the rules they break.

    The rules are the functions of `qbc.passes.npu.constraints`; their docstrings are the texts shown. A legal program
    is left as it is.
    """

    name = "npu-legalize"

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        target = target_of(ctx)
        problems: dict[str, list[str]] = {}
        refused: list[KernelOp] = []
        for command in commands(op):
            for rule in RULES:
                found = rule(command, target)
                if found is None:
                    continue
                if command not in refused[-1:]:
                    refused.append(command)
                node = "/".join(source_names(command)) or "unnamed"
                problems.setdefault(rule_text(rule), []).append(f"{node} ({command.name}){found and f': {found}'}")
        ctx.count("checked", len(commands(op)))
        if problems:
            lines = [line for rule, nodes in problems.items() for line in (rule, *(f"  {node}" for node in nodes))]
            message = f"{target.name} cannot run {len(refused)} of the operations:\n  " + "\n  ".join(lines)
            raise located(QBCompilerError(message, code="UNSUPPORTED_OP"), refused[0])
