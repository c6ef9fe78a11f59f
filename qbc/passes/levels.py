"""What stands in a module: its dialects and how far it is lowered, and whether a pass can work on that.

Levels, in the order of a compilation: `framework`, `mblt`, `quant.created` (values name rows), `quant.ranged` (every
row has its scale), `quant.materialized` (types are final), `npu.values` (commands on values), `npu.buffers`.
A pass that needs `quant.created` takes a ranged module too.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, Operation

from qbc.errors import QBCompilerError
from qbc.passes.base import Pass, source_names

# Dialects that hold structure; a pass that needs another dialect does not mind them.
_NEUTRAL_DIALECTS = frozenset({"builtin", "func"})

# Each level with the pass that leads to it.
_MADE_BY = {
    "framework": "",
    "mblt": "convert-framework-to-mblt",
    "quant.created": "convert-mblt-to-quant",
    "quant.ranged": "quant-assign-ranges",
    "quant.materialized": "quant-materialize",
    "npu.values": "convert-quant-to-npu",
    "npu.buffers": "npu-assign-buffers",
}
LEVELS = tuple(_MADE_BY)
_OWN_DIALECTS = frozenset(name.partition(".")[0] for name in LEVELS)


def check_needs(instance: Pass, module: ModuleOp) -> None:
    """Raise PIPELINE_ERROR when a module holds operations, but none of a dialect or level that the pass needs."""
    if not instance.needs:
        return
    present = present_levels(module)
    if not present or present & set(instance.needs):
        return
    stray = next((op for op in module.walk() if _dialect(op) not in _NEUTRAL_DIALECTS), None)
    names = [] if stray is None else list(source_names(stray))
    error = QBCompilerError(
        f"pass {instance.name!r} works on {_listed(instance.needs)}, found {_listed(_most_exact(present))}",
        code="PIPELINE_ERROR",
        node=", ".join(names) or None,
        hint=_advice(instance.needs, present),
    )
    error.operation = stray
    raise error


def present_levels(module: ModuleOp) -> set[str]:
    """Return the dialects of a module (without `builtin` and `func`) and the levels of those that have some."""
    present = {_dialect(op) for op in module.walk()} - _NEUTRAL_DIALECTS
    if present == {"framework"} and any(_has_mblt_interface(op) for op in module.ops):
        present.add("mblt")
    if "quant" in present:
        present.update(_quant_levels(module))
    if "npu" in present:
        present.update(_npu_levels(module))
    return present


def _quant_levels(module: ModuleOp) -> set[str]:
    from qbc.dialects.quant.table import ParamTable, level, quantized_values

    if next(quantized_values(module), None) is None:  # integers alone: they have no encoding at any level
        return {name for name in LEVELS if name.startswith("quant.")}
    found = level(module)
    table = ParamTable(module)
    if found == "materialized" and any(not table.members(row) for row in table):
        return {"quant.created", "quant.ranged"}  # rows without values: nothing was materialized yet
    return {"quant.created", "quant.ranged"} if found == "ranged" else {f"quant.{found}"}


def _npu_levels(module: ModuleOp) -> set[str]:
    from qbc.dialects.npu import BufferType, ProgramOp

    found = set()
    for op in module.walk():
        if isinstance(op, ProgramOp):
            returned = op.return_op.values
            buffers = any(isinstance(value.type, BufferType) for value in returned)
            found.add("npu.buffers" if buffers else "npu.values")
    return found


def _has_mblt_interface(op: Operation) -> bool:
    """Return whether the interface of a function is named as in mblt: its operators all stayed as they were."""
    if not isinstance(op, FuncOp):
        return False
    listed = [entry for entries in (op.arg_attrs, op.res_attrs) for entry in entries or ()]
    return any(isinstance(entry, DictionaryAttr) and "mblt.name" in entry.data for entry in listed)


def _dialect(op: Operation) -> str:
    return Dialect.split_name(op.name)[0] if "." in op.name else "builtin"


def _most_exact(present: set[str]) -> list[str]:
    """Return the present levels without those that another one says more exactly."""
    exact = [name for name in present if not any(other.startswith(f"{name}.") for other in present)]
    return ["quant.ranged" if name == "quant.created" and "quant.ranged" in present else name for name in exact]


def _listed(names: Iterable[str]) -> str:
    return f"{' or '.join(sorted(set(names)))} operations"


def _advice(needs: tuple[str, ...], present: set[str]) -> str:
    """Say which pass leads to what is needed, or that it lies behind."""
    wanted = next((name for name in LEVELS if any(name == need or name.startswith(f"{need}.") for need in needs)), None)
    if wanted is None:
        return "run a conversion to that dialect first"
    if not any(name.partition(".")[0] in _OWN_DIALECTS for name in present):
        return f"run a pass that turns {_listed(present)} into {wanted.partition('.')[0]} operations first"
    reached = max((LEVELS.index(name) for name in present if name in LEVELS), default=-1)
    if reached > LEVELS.index(wanted):
        return "the module is lowered further already: leave the pass out, or start from an earlier snapshot"
    made_by = _MADE_BY[wanted]
    return f"run {made_by} first" if made_by else "start from a source model"
