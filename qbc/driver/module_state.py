"""Where a module stands between the phases, and what it must forget there."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, Operation

from qbc.driver.files import is_source_model
from qbc.driver.plan import PARSE_PHASES
from qbc.driver.samples import argument_attributes, main_function
from qbc.errors import QBCompilerError
from qbc.pipelines.phases import PHASES
from qbc.pipelines.text import names_source

_PHASE_OF_DIALECT = {"npu": "encode", "quant": "lower", "mblt": "quantize", "framework": "import"}


def first_phase(module: ModuleOp) -> str:
    """Return the phase that goes on from a module: the most lowered dialect in it decides."""
    present = {Dialect.split_name(op.name)[0] for op in module.walk() if "." in op.name}
    if "framework" in present and not any("mblt.name" in _argument_keys(op) for op in module.ops):
        return "import"
    for dialect, phase in _PHASE_OF_DIALECT.items():
        if dialect in present:
            return phase
    return "quantize"


def phase_after(source: Path, module: ModuleOp) -> str:
    """Return the phase that goes on from a file: models start at the first, a `.mblt` is parsed whatever it kept."""
    found = first_phase(module)
    if is_source_model(source):
        return PHASES[0]
    is_parsed = source.suffix.lower() == ".mblt" and found in PARSE_PHASES
    return PHASES[len(PARSE_PHASES)] if is_parsed else found


def _argument_keys(op: Operation) -> set[str]:
    if not isinstance(op, FuncOp):
        return set()
    return {key for attributes in argument_attributes(op) for key in attributes}


def require_results(module: ModuleOp) -> None:
    """Raise VERIFY_ERROR where `@main` returns nothing: there is nothing to compute."""
    if not main_function(module).function_type.outputs.data:
        raise QBCompilerError("@main returns nothing, so there is nothing to compile", code="VERIFY_ERROR")


def forget_value_names(module: ModuleOp) -> None:
    """Drop the name hints of values and positions in text, which snapshots do not keep, so that both routes agree."""
    from xdsl.dialects.builtin import UnknownLoc

    for op in module.walk():
        blocks = [block for region in op.regions for block in region.blocks]
        for value in (*op.results, *(argument for block in blocks for argument in block.args)):
            value.name_hint = None
        if not names_source(op.location):
            op.location = UnknownLoc()
