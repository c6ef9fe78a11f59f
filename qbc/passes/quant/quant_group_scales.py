"""`quant-group-scales`: optional ties between values whose ranges hardly differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant import ParamsOp, ParamTable
from qbc.passes.base import CompileContext, ModulePass, check_choice, check_options
from qbc.passes.quant.legality import GROUP_METHODS, SHARED_BY_UNION, ZERO_POINT_METHODS, quant_ops
from qbc.passes.quant.row_statistics import read_statistics, unite_statistics

if TYPE_CHECKING:
    from qbc.store import BlobStore


@dataclass(frozen=True)
class QuantGroupScales(ModulePass):
    """Merge rows where one scale for all saves a rounding and costs little precision.

    Candidates are the branches of a concatenation, maximum or minimum that keep encodings of their own (methods 0 and
    2) and whose producer only moves codes, so that it cannot take the wanted scale itself. They are tied when the
    common step is less than `tie_ratio` times the own step of every member (a second rounding costs as much).

    ```mlir
    quant.params "r0" {statistics = {...}}   // -1.0 .. 1.0
    quant.params "r1" {statistics = {...}}   // -1.2 .. 1.1, concatenated with a value of r0
    ```
    becomes one row with the statistics of both.
    """

    name: ClassVar[str] = "quant-group-scales"
    needs: ClassVar[tuple[str, ...]] = ("quant.created",)

    method: int = 3
    tie_ratio: float = 1.4

    def __post_init__(self) -> None:
        check_choice("method", self.method, range(4))
        check_options(1, tie_ratio=self.tie_ratio)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        if self.method in GROUP_METHODS:
            return  # everything that must agree shares a row since the conversion
        table = ParamTable(op)
        for inner in quant_ops(op):
            if isinstance(inner, SHARED_BY_UNION):
                self._tie_branches(inner, table, ctx)

    def _tie_branches(self, op: Operation, table: ParamTable, ctx: CompileContext) -> None:
        result = table.row_of(op.results[0])
        for value in op.operands:
            row = table.row_of(value)
            if row is None or result is None or row is result or row.is_fixed or result.is_fixed:
                continue
            if row.bits != result.bits or not _is_shared(value, row, table):
                continue
            if self._worst_ratio(ctx.store, row, result) < self.tie_ratio:
                unite_statistics(result, row)
                table.merge(result, row)
                ctx.count("tied")

    def _worst_ratio(self, store: BlobStore, *rows: ParamsOp) -> float:
        """Return the common step over the smallest own step; infinite while statistics are missing."""
        ranges = [_range(store, row) for row in rows]
        known = [bounds for bounds in ranges if bounds is not None]
        if len(known) < len(rows):
            return float("inf")
        steps = [self._step(*bounds) for bounds in known]
        common = self._step(min(low for low, _ in known), max(high for _, high in known))
        return common / min(steps) if min(steps) > 0 else float("inf")

    def _step(self, low: float, high: float) -> float:
        if self.method in ZERO_POINT_METHODS:
            return (max(high, 0.0) - min(low, 0.0)) / 255.0
        return max(abs(low), abs(high)) / 127.0


def _is_shared(value: SSAValue, row: ParamsOp, table: ParamTable) -> bool:
    """Return whether the producer cannot simply emit another scale: the row has more values, or it is a graph input."""
    return len(table.members(row)) > 1 or not isinstance(value.owner, quant.QuantOp) or len(list(value.uses)) > 1


def _range(store: BlobStore, row: ParamsOp) -> tuple[float, float] | None:
    statistics = list(read_statistics(store, row).values())
    if not statistics:
        return None
    return min(part.minimum for part in statistics), max(part.maximum for part in statistics)
