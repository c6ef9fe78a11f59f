"""`npu-assign-mode`: choose the core mode of a program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr

from qbc.dialects.npu import ProgramOp
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext
from qbc.passes.npu.programs import ProgramPass, target_of

MODES = ("single", "multi", "global4", "global8", "all")
AVAILABLE = ("single",)


@dataclass(frozen=True)
class NpuAssignMode(ProgramPass):
    """Set the core mode. `single` runs the whole program on one core; other modes are refused by name.

    Before: `npu.program @main ... mode("multi")`, after: `npu.program @main ... mode("single")`.
    """

    name = "npu-assign-mode"
    mode: str = "single"

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        if self.mode not in MODES:
            raise QBCompilerError(
                f"unknown core mode {self.mode!r}", code="ARGUMENT_ERROR", hint=f"choose one of {', '.join(MODES)}"
            )
        target = target_of(ctx)
        if self.mode not in target.modes and self.mode != "all":
            raise QBCompilerError(
                f"{target.name} has no core mode {self.mode!r}, it has {', '.join(target.modes)}", code="TARGET_ERROR"
            )
        if self.mode not in AVAILABLE:
            raise QBCompilerError(
                f"core mode {self.mode!r} is not available in this version",
                code="UNSUPPORTED_FEATURE",
                hint="leave the core mode at 'single'",
            )
        op.properties["mode"] = StringAttr(self.mode)
