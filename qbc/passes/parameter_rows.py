"""The parameter table of a module between passes: its rules for the verifier, and rows that lost their last value.

Rows are shared by all functions of a module, so neither an operation nor a pattern can know that a row is not needed
any more. The runner therefore asks here after each pass, whichever it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue


def row_violations(module: Operation) -> Iterator[tuple[Operation, str]]:
    """Yield every broken rule of the table of a module: the operation it concerns and the text of the rule."""
    if not isinstance(module, ModuleOp) or not _has_rows(module):
        return
    from qbc.dialects.quant.table import table_violations

    yield from table_violations(module)


def prune_rows(module: ModuleOp) -> None:
    """Erase the rows of a module that no value names."""
    if not any(op.name == "quant.params" for op in module.ops):
        return
    from qbc.dialects.quant.table import ParamTable

    ParamTable(module).drop_unused()


def _has_rows(module: ModuleOp) -> bool:
    """Return whether a module has rows or types that may name some, without loading the dialect to see."""
    return any(op.name == "quant.params" or any(_is_quantized(value) for value in _defined(op)) for op in module.walk())


def _defined(op: Operation) -> Iterator[SSAValue]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _is_quantized(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.element_type.name == "quant.q"
