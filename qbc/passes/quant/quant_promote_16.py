"""`quant-promote-16`: values whose 8-bit step is too coarse for what reads them get 16 bits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant import ParamsOp, ParamTable
from qbc.dialects.quant.base import number
from qbc.passes.base import CompileContext, ModulePass, array_of, check_options
from qbc.passes.capabilities import Demand, function_unit
from qbc.passes.quant.kept_statistics import INVERSE_VARIANCE
from qbc.passes.quant.macs import multiply_accumulates
from qbc.passes.quant.row_ranges import lookups_of, promote_row, range_of, value_names
from qbc.passes.quant.row_statistics import read_statistics

NODE_CODES = 128  # distance of the nodes of a 16-bit table
WORTHWHILE_GAIN_DB = 6.0
_LINEAR = (quant.AddOp, quant.SubOp, quant.RequantizeOp, quant.ReshapeOp, quant.TransposeOp, quant.SliceOp)
_WITHOUT_PRODUCTS = (
    quant.LayerNormOp, quant.AddOp, quant.SubOp, quant.ReduceMaxOp, quant.ReduceMinOp, quant.MaxPool2dOp,
    quant.ReshapeOp, quant.TransposeOp, quant.SliceOp, quant.ConcatOp, quant.GatherOp,
)  # fmt: skip
_SCALED = (quant.MulOp, quant.DivOp)


@dataclass(frozen=True)
class QuantPromote16(ModulePass):
    """Gives 16 bits to rows by rules that are known before anything runs; only the last one adds multiplications.

    1. Logits: a value that feeds a softmax, directly or through additions, masks and scalings, when
       `beta * step > logit_step`. A logit moves by at most half a step, so a probability changes by at most a factor
       `exp(+-step)`.
    2. Normalization: a value that a layer norm reads, and otherwise only additions, maxima and data movement, when
       rounding it to 8 bits leaves an error after the norm that is less than `sqnr` dB below the norm's variance (rows
       of small spread enlarge it), or when its largest magnitude is more than `tail_ratio` times its 99.9th percentile.
    3. Lookups: a value read only by table lookups, when rounding it to 8 bits leaves an error at a table's output that
       is less than `sqnr` dB below the output's variance and a 16-bit table with its 513 nodes does better.
    4. Products: values that convolutions and matrix products read and whose central variance is less than `sqnr` dB
       above the error of 8-bit codes, the lowest first, while the multiplications they add (as many again as their
       readers have) stay within the share `mac_budget` of the whole graph.

    Rows with an encoding that the graph fixes are left alone, and rows that table lookups read where the target has no
    unit for 16-bit tables. The range of a promoted row covers its extremes, that of
    a lookup stays (rule 3).

    ```mlir
    quant.params "r4" {storage = i8, scale = 1.5 : f32, zero_point = 0, ...}   // read by quant.softmax only
    // becomes
    quant.params "r4" {storage = i16, scale = 0.0058 : f32, zero_point = 0, ...}
    ```
    """

    name: ClassVar[str] = "quant-promote-16"
    needs: ClassVar[tuple[str, ...]] = ("quant.ranged",)
    logit_step: float = 0.1
    tail_ratio: float = 8.0
    sqnr: float = 33.0
    mac_budget: float = 0.05

    def __post_init__(self) -> None:
        check_options(0, logit_step=self.logit_step, tail_ratio=self.tail_ratio)
        check_options(-math.inf, sqnr=self.sqnr)
        check_options(0, 1, mac_budget=self.mac_budget)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        table = ParamTable(op)
        promoted: dict[str, tuple[ParamsOp, str]] = {}
        refused: dict[str, Any] = {}
        for row, rule in self._proposals(op, table, ctx):
            if row.is_fixed or row.bits == "i16":
                continue
            if _needs_missing_unit(table, row, ctx):
                refused[row.row_name] = _nodes(table, row)
                continue
            promoted.setdefault(row.row_name, (row, rule))
        for row, rule in promoted.values():
            promote_row(table, row, ctx.store, keep_range=rule == "lookup")
            ctx.count(rule)
        for row in self._affordable_products(op, table, ctx):
            promote_row(table, row, ctx.store, keep_range=False)
            promoted[row.row_name] = (row, "products")
            ctx.count("products")
        if refused:
            names = ", ".join(name for nodes in refused.values() for name in nodes)
            ctx.notice(f"{ctx.target.name} has no unit for 16-bit tables: values of lookups stay at 8 bits: {names}")
        ctx.report["promoted"] = [
            {"row": row.row_name, "rule": rule, "nodes": _nodes(table, row)} for row, rule in promoted.values()
        ]

    def _proposals(self, op: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[tuple[ParamsOp, str]]:
        for inner in op.walk():
            if isinstance(inner, quant.SoftmaxOp):
                yield from self._logits(inner.operands[0], number(inner, "beta", 1.0), table, ctx)
        for row in table:
            if self._is_coarse_normalization(table, row, ctx):
                yield row, "normalization"
            elif self._is_coarse_lookup(table, row, ctx):
                yield row, "lookup"

    def _logits(
        self, logits: SSAValue, beta: float, table: ParamTable, ctx: CompileContext
    ) -> Iterator[tuple[ParamsOp, str]]:
        """Yield the rows of the logits and of what they are a scaled sum of.

        The gain of a value is what one of its units counts in the exponent; a value is visited again only with a
        larger gain, so that chains of additions stay cheap.
        """
        pending, gains = [(logits, beta)], dict[SSAValue, float]()
        while pending:
            value, gain = pending.pop()
            row = table.row_of(value)
            if row is None or row.encoding is None or gains.get(value, 0.0) >= gain:
                continue
            gains[value] = gain
            if isinstance(value.owner, quant.ConstantOp):
                continue
            if gain * row.encoding[1] > self.logit_step:
                yield row, "logits"
            pending.extend(_summands(value.owner, gain, ctx))

    def _affordable_products(self, op: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[ParamsOp]:
        """Yield the rows of rule 4 in the order of their SQNR while the budget lasts."""
        total = sum(multiply_accumulates(inner) for inner in op.walk())
        left = self.mac_budget * total
        ranked = sorted(self._coarse_products(table, ctx), key=lambda item: item[0])
        for _, cost, row in ranked:
            if cost <= left:
                left -= cost
                yield row

    def _coarse_products(self, table: ParamTable, ctx: CompileContext) -> Iterator[tuple[float, int, ParamsOp]]:
        """Yield (SQNR, added multiplications, row) of values with too coarse codes that products read."""
        from qbc.algorithms.flat_zones import rounding_sqnr

        for row in table:
            encoding, members = row.encoding, table.members(row)
            if encoding is None or row.bits == "i16" or row.is_fixed or _is_graph_input(members):
                continue
            if _needs_missing_unit(table, row, ctx):
                continue
            cost = sum(multiply_accumulates(use.operation) for member in members for use in member.uses)
            low, high = code_limits(encoding)
            found = [
                rounding_sqnr(lambda x: x, statistics, encoding[1], low, high)
                for statistics in read_statistics(ctx.store, row).values()
            ]
            if cost and found and min(found) < self.sqnr:
                yield min(found), cost, row

    def _is_coarse_normalization(self, table: ParamTable, row: ParamsOp, ctx: CompileContext) -> bool:
        """Return whether a layer norm reads the row, nothing that multiplies does, and 8-bit codes are too coarse."""
        readers = [use.operation for member in table.members(row) for use in member.uses]
        norms = [reader for reader in readers if isinstance(reader, quant.LayerNormOp)]
        if row.encoding is None or not norms or not all(isinstance(reader, _WITHOUT_PRODUCTS) for reader in readers):
            return False
        return any(_normalized_sqnr(norm, row.encoding[1]) < self.sqnr for norm in norms) or self._is_spiky(row, ctx)

    def _is_spiky(self, row: ParamsOp, ctx: CompileContext) -> bool:
        from qbc.algorithms.ranges import percentile_range

        for statistics in read_statistics(ctx.store, row).values():
            usual = percentile_range(statistics, 0.999, False)
            spread = max(-usual.low, usual.high)
            if max(-statistics.minimum, statistics.maximum) > self.tail_ratio * spread > 0.0:
                return True
        return False

    def _is_coarse_lookup(self, table: ParamTable, row: ParamsOp, ctx: CompileContext) -> bool:
        """Return whether 8-bit codes are too coarse for a lookup that reads the row and a 16-bit table is better."""
        from qbc.algorithms.flat_zones import interpolation_sqnr, rounding_sqnr

        readers = lookups_of(table, row)
        encoding, bounds = row.encoding, range_of(row)
        if not readers or encoding is None or bounds is None:
            return False
        low, high = code_limits(encoding)
        spacing = NODE_CODES * max(-bounds[0], bounds[1]) / quant.CODE_RANGES["i16"][1]
        for statistics in read_statistics(ctx.store, row).values():
            for function, _ in readers:
                coarse = rounding_sqnr(function, statistics, encoding[1], low, high)
                fine = interpolation_sqnr(function, statistics, spacing, low, high)
                if coarse < self.sqnr and fine > coarse + WORTHWHILE_GAIN_DB:
                    return True
        return False


def _needs_missing_unit(table: ParamTable, row: ParamsOp, ctx: CompileContext) -> bool:
    """Return whether 16-bit codes of a row would be read by a table that the target cannot run."""
    if ctx.target is None or function_unit(Demand(function_unit=True), ctx.target) is None:
        return False
    return any(isinstance(use.operation, quant.LutOp) for member in table.members(row) for use in member.uses)


def _is_graph_input(members: Sequence[SSAValue]) -> bool:
    return any(isinstance(member.owner, quant.QuantizeOp) for member in members)


def code_limits(encoding: tuple[str, float, int]) -> tuple[float, float]:
    """Return the smallest and the largest value that codes represent."""
    storage, scale, zero_point = encoding
    low, high = quant.CODE_RANGES[storage]
    return scale * (low - zero_point), scale * (high - zero_point)


def _normalized_sqnr(norm: quant.LayerNormOp, step: float) -> float:
    """Return, in dB, how far the error of rounding its input to `step` lies below the unit variance of a layer norm.

    A row of variance v enlarges the squared error step^2 / 12 by 1 / v; `quant-collect` has measured the mean of 1 / v.
    """
    gain = norm.attributes.get(INVERSE_VARIANCE)
    if not isinstance(gain, FloatAttr) or gain.value.data <= 0.0:
        return math.inf
    return -10.0 * math.log10(gain.value.data * step**2 / 12.0)


def _summands(owner: object, gain: float, ctx: CompileContext) -> list[tuple[SSAValue, float]]:
    """Return (operand, gain) of what a value is a scaled sum of; empty where it is none."""
    if isinstance(owner, _LINEAR):
        return [(operand, gain) for operand in owner.operands]
    if not isinstance(owner, _SCALED):
        return []
    for value, other in ((owner.operands[0], owner.operands[1]), (owner.operands[1], owner.operands[0])):
        factor = _constant_factor(owner, other, ctx)
        if factor is not None:
            return [(value, gain * factor)]
    return []


def _constant_factor(op: Operation, operand: SSAValue, ctx: CompileContext) -> float | None:
    """Return the largest magnitude by which a constant operand scales the other one; None where it does not."""
    divides = isinstance(op, quant.DivOp)
    if not isinstance(operand.owner, quant.ConstantOp) or (divides and operand is not op.operands[1]):
        return None
    data: Any = abs(array_of(ctx, operand.owner.properties["value"]))
    if data.size == 0 or float(data.max()) == 0.0:
        return None
    if not divides:
        return float(data.max())
    return 1.0 / float(data.min()) if float(data.min()) > 0.0 else None


def _nodes(table: ParamTable, row: ParamsOp) -> list[str]:
    return list(dict.fromkeys(name for member in table.members(row) for name in value_names(member)))
