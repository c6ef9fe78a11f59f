"""`quant-assign-bits`: the storage of every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qbc.dialects.common.graph import argument_names, result_names
from qbc.dialects.quant import DequantizeOp, ParamsOp, ParamTable, QuantizeOp
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, ModulePass, check_choice, source_names
from qbc.passes.layer_names import matching_names

PRESETS = {"w8a8": "i8", "w8a16": "i16"}
_LATER = ("w4a8", "w4a16", "w16a16")


@dataclass(frozen=True)
class QuantAssignBits(ModulePass):
    """Give every row that has no storage the one of the preset: `w8a8` (i8) or `w8a16` (i16 activations).

    `activation16` lists source nodes, by name or glob, whose results get i16, and inputs and outputs of the graph; all
    values of the scale group of such a value follow. An entry that matches no node is an error with the nearest names,
    a row with a fixed encoding keeps it.

    ```mlir
    quant.params "r0"
    ```
    becomes
    ```mlir
    quant.params "r0" {storage = i8}
    ```
    """

    name: ClassVar[str] = "quant-assign-bits"
    needs: ClassVar[tuple[str, ...]] = ("quant.created",)

    preset: str = "w8a8"
    activation16: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.preset in _LATER:
            raise QBCompilerError(f"preset {self.preset} is not available yet", code="UNSUPPORTED_FEATURE")
        check_choice("preset", self.preset, PRESETS)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        table = ParamTable(op)
        wide = self._wide_rows(op, table)
        for row in table:
            if row.bits is None:
                table.set_storage(row, "i16" if row.row_name in wide else PRESETS[self.preset])
                ctx.count(row.bits or "")

    def _wide_rows(self, module: ModuleOp, table: ParamTable) -> set[str]:
        """Return the names of the rows that hold a result of a listed node, or a listed input or output."""
        rows_of: dict[str, list[ParamsOp]] = {}
        for inner in module.walk():
            for name, value in _boundary(inner) if isinstance(inner, FuncOp) else ():
                row = table.row_of(value)
                rows_of.setdefault(name, []).extend([] if row is None else [row])
            rows = [row for result in inner.results if (row := table.row_of(result)) is not None]
            for name in source_names(inner) if rows else ():
                rows_of.setdefault(name, []).extend(rows)
        wide = matching_names(self.activation16, rows_of, "activation16")
        return {row.row_name for name in sorted(wide) for row in rows_of[name]}


def _boundary(func: FuncOp) -> Iterator[tuple[str, SSAValue]]:
    """Yield the quantized values of graph inputs and outputs under the names of the source model."""
    if func.is_declaration:
        return
    for name, argument in zip(argument_names(func), func.args, strict=True):
        for use in argument.uses:
            if isinstance(use.operation, QuantizeOp):
                yield name, use.operation.output
    end = func.body.block.last_op
    for name, value in zip(result_names(func), () if end is None else end.operands, strict=False):
        if isinstance(value.owner, DequantizeOp):
            yield name, value.owner.operands[0]
