"""`npu-assign-mode`: choose the core mode of a program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr

from qbc.dialects.npu import ProgramOp
from qbc.errors import QBCompilerError
from qbc.modes import ALL, MODE_NAMES, SINGLE
from qbc.passes.base import CompileContext, check_choice
from qbc.passes.npu.programs import ProgramPass, target_of


@dataclass(frozen=True)
class NpuAssignMode(ProgramPass):
    """Set the core mode: `single` (one core), `multi` (four images on four cores), `global4` or `global8` (one image on
    four or eight cores). `all` makes one program for each mode that the target has; they share their constants.

    A mode that the target lacks is a TARGET_ERROR; `all` on a target with one core is `single`, with a notice.

    Before: `npu.program @main ... mode("single")`, after `npu-assign-mode{mode=all}` on a target with two modes:
    `npu.program @main ... mode("single")` and `npu.program @main_global4 ... mode("global4")`.
    """

    name = "npu-assign-mode"
    mode: str = SINGLE

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, (*MODE_NAMES, ALL))

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        target = target_of(ctx)
        if self.mode != ALL and self.mode not in target.modes:
            raise QBCompilerError(
                f"{target.name} has no core mode {self.mode!r}, it has {', '.join(target.modes)}", code="TARGET_ERROR"
            )
        first, *others = target.modes if self.mode == ALL else (self.mode,)
        op.properties["mode"] = StringAttr(first)
        if self.mode == ALL:
            _tell(ctx, target.name, target.modes)
        for mode in reversed(others):
            _add_program(op, mode)


def _tell(ctx: CompileContext, target: str, modes: tuple[str, ...]) -> None:
    if len(modes) == 1:
        ctx.notice(f"{target} has one core: core mode all is {modes[0]}")
        return
    ctx.notice(
        f"the file holds core modes {', '.join(modes)}: it does not load in core mode Auto, "
        "choose one of them in the ModelConfig"
    )


def _add_program(op: ProgramOp, mode: str) -> None:
    block = op.parent_block()
    if block is None:
        raise QBCompilerError("core mode 'all' needs a program inside a module", code="PIPELINE_ERROR")
    program = op.clone()
    for old, new in zip(op.body.block.args, program.body.block.args, strict=True):
        new.location = old.location
    program.properties["mode"] = StringAttr(mode)
    program.properties["sym_name"] = StringAttr(f"{op.sym_name.data}_{mode}")
    block.insert_op_after(program, op)
