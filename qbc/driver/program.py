"""From the programs that `npu-emit` left to an `.mxq` file, and from an `.mxq` back to IR text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp

from qbc.driver.context import DriverContext, find_target
from qbc.errors import QBCompilerError
from qbc.pipelines.text import parse_ir, print_ir

if TYPE_CHECKING:
    from qbc.artifact.manifest import Manifest
    from qbc.dialects.npu import ProgramOp

IMAGES_REPORT = "images"  # npu-emit: (mode, variant) -> ProgramImage


def write_program(path: Path, module: ModuleOp, ctx: DriverContext, manifest: Manifest) -> None:
    """Write the executable: the packed programs, the constants they name, the manifest, and the IR text for people."""
    from qbc.artifact.mxq import write_mxq

    images = ctx.report.get(IMAGES_REPORT)
    if not images:
        raise QBCompilerError(
            "the pipeline left no program to write", code="PIPELINE_ERROR", hint="the encode phase needs npu-emit"
        )
    golden = {key: _golden(image.code, ctx) for key, image in images.items()}
    write_mxq(path, images, ctx.store, manifest, ir_text=print_ir(module), golden=golden)


def _golden(code: bytes, ctx: DriverContext) -> bytes:
    from qbc.program import decode_program
    from qbc.runtime.golden import golden_vectors
    from qbc.runtime.simulator import Simulator

    return golden_vectors(Simulator(decode_program(code), ctx.store))


def latency_report(ctx: DriverContext) -> dict[str, Any]:
    """Return the latency estimate as plain data: layers of the first program, totals of every core mode."""
    from qbc.program import decode_debug, decode_program
    from qbc.report.latency import latency_table, mode_row, program_latency
    from qbc.targets.latency import SYNCHRONIZATION

    images = ctx.report[IMAGES_REPORT]
    results = {
        mode: program_latency(decode_program(image.code), decode_debug(image.debug), ctx.target)
        for (mode, _), image in images.items()
    }
    rows = [mode_row(mode, result) for mode, result in results.items()]
    report = {"mode": rows[0]["mode"], **latency_table(next(iter(results.values()))), "modes": rows}
    return {**report, "not_modelled": SYNCHRONIZATION} if any(row["cores"] > 1 for row in rows) else report


def module_of_mxq(path: Path, ctx: DriverContext) -> ModuleOp:
    """Parse the IR text of an executable and adopt its constants; the text may have been removed."""
    from qbc.artifact.mxq import read_mxq_info
    from qbc.store import adopt_blobs

    info = read_mxq_info(path)
    if not info.ir_text:
        raise QBCompilerError(
            f"{str(path)!r} holds no IR text, only packed programs", code="INVALID_SNAPSHOT", hint="use qbcompiler info"
        )
    adopt_blobs(info.container, ctx.store)
    return parse_ir(ctx, info.ir_text, str(path))


def programs_of(module: ModuleOp) -> list[ProgramOp]:
    """Return the programs of a lowered module, none for others; by name, so that those do not load the dialect."""
    return [cast("ProgramOp", op) for op in module.ops if op.name == "npu.program"]


def take_recorded_target(module: ModuleOp, ctx: DriverContext) -> None:
    """Take the target that the programs of a module record, unless one was chosen.

    A chosen target of another name is told: passes plan for it from then on.
    """
    programs = programs_of(module)
    if not programs:
        return
    recorded = programs[0].target.data
    if ctx.target is None:
        try:
            ctx.target = find_target(recorded, ctx)
        except QBCompilerError:  # a machine description of a user, which is not here
            ctx.notice(f"the program was made for {recorded}, which is no device known here (--target-device FILE)")
    elif ctx.target.name != recorded:
        ctx.notice(f"the program was made for {recorded}, passes work for {ctx.target.name}")
