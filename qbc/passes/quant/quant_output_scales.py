"""`quant-output-scales`: the encoding of graph outputs, a scale for each channel or one that suits a sigmoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qbc.dialects import quant
from qbc.dialects.blob import write_blob
from qbc.dialects.common.graph import result_names
from qbc.dialects.quant import ParamsOp, ParamTable
from qbc.passes.base import CompileContext, ModulePass, check_options, source_names
from qbc.passes.quant.channel_layout import channel_count
from qbc.passes.quant.graph_outputs import inner_readers, output_values, values_of_one_encoding
from qbc.passes.quant.legality import ZERO_POINT_METHODS
from qbc.passes.quant.output_channels import channel_classes, class_ranges, described
from qbc.passes.quant.row_ranges import set_range
from qbc.passes.quant.row_statistics import read_statistics

LAYER, CHANNEL, SIGMOID = 0, 1, 2


@dataclass(frozen=True)
class QuantOutputScales(ModulePass):
    """Refines the encoding of graph outputs; everything inside the graph stays as it is.

    - `output` 0: one scale, as the ranges gave it.
    - `output` 1: each channel of the last axis gets its own scale where convolutions and linear layers make the codes,
      directly or through data movement: their multipliers take it over at no cost. Channels that a reshape or a
      concatenation brings together share one. No channel gets a larger step than one scale would give; the zero point
      is the same for all. A channel with fewer than 10^4 values in the calibration data is taken to need more than was
      seen, with 100 or less as much as the whole output.
    - `output` 2: the output is read by a sigmoid: the range minimizes the error behind it and clips logits at 12 or
      less.

    An output keeps one scale, with a notice that says why, where another operation makes its codes, where something in
    the graph reads them, or where its encoding is fixed (a sigmoid or softmax). `output_margin` is how much wider than
    the extremes of the calibration data a channel is, at least.

    ```mlir
    quant.params "r1" {storage = i8, scale = 0.5 : f32, zero_point = 0}
    %1 = quant.linear %0 {weight = ...} : ... -> tensor<1x2x!quant.q<"r1">>
    %2 = quant.dequantize %1 : tensor<1x2x!quant.q<"r1">> -> tensor<1x2xf32>
    // becomes with output = 1
    quant.params "r2" {storage = i8, scales = #blob.ref<... : tensor<2xf32>>, zero_point = 0}
    %1 = quant.linear %0 {weight = ...} : ... -> tensor<1x2x!quant.q<"r2">>
    ```
    """

    name: ClassVar[str] = "quant-output-scales"
    needs: ClassVar[tuple[str, ...]] = ("quant.ranged",)
    output: int = 0
    method: int = 3
    output_margin: float = 0.25

    def __post_init__(self) -> None:
        check_options(0, output_margin=self.output_margin)
        check_options(LAYER, SIGMOID, output=self.output)
        check_options(0, 3, method=self.method)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        if self.output == LAYER:
            return
        table = ParamTable(op)
        kept: dict[str, str] = {}
        done: set[SSAValue] = set()
        for dequantize, value in output_values(op):
            if value in done:
                continue
            values = values_of_one_encoding(value)
            done.update(values)
            if self._is_served(values, table):
                continue
            reason = self._refine(values, table, ctx)
            if reason is None:
                ctx.count("outputs")
            else:
                kept[_output_name(dequantize)] = reason
        table.drop_unused()
        if kept:
            listed = ", ".join(f"{name!r} ({reason})" for name, reason in kept.items())
            what = "one scale for all channels" if self.output == CHANNEL else "the range of all their values"
            ctx.notice(f"outputs that keep {what}: {listed}")

    def _is_served(self, values: list[SSAValue], table: ParamTable) -> bool:
        """Return whether an output has what is asked for: one channel has one scale, a probability its range."""
        if self.output == CHANNEL:
            return all(channel_count(value) == 1 for value in values)
        return any(row.is_fixed for value in values if (row := table.row_of(value)) is not None)

    def _refine(self, values: list[SSAValue], table: ParamTable, ctx: CompileContext) -> str | None:
        """Choose the encoding of an output and return None, or the reason why it stays as it is."""
        rows = [row for value in values if (row := table.row_of(value)) is not None]
        if any(row.is_fixed for row in rows):
            return "its encoding is fixed"
        reader = next(inner_readers(values), None)
        if reader is not None:
            return f"{described(reader)} reads it in the graph"
        if self.output == SIGMOID:
            return self._fit_sigmoid(rows, table, ctx)
        return self._split_channels(values, table, ctx)

    def _fit_sigmoid(self, rows: list[ParamsOp], table: ParamTable, ctx: CompileContext) -> str | None:
        from qbc.algorithms.output_ranges import sigmoid_range

        parts = [part for row in dict.fromkeys(rows) for part in read_statistics(ctx.store, row).values()]
        storage = rows[0].bits or "i8"
        if storage == "i16":
            return "its 16 bits hold the extremes"
        if not parts:
            return "it has no statistics"
        asymmetric = self.method in ZERO_POINT_METHODS
        low, high = sigmoid_range(parts, storage, asymmetric=asymmetric)
        for row in dict.fromkeys(rows):
            set_range(table, row, low, high, storage, asymmetric=asymmetric)
        return None

    def _split_channels(self, values: list[SSAValue], table: ParamTable, ctx: CompileContext) -> str | None:
        from qbc.algorithms.output_ranges import encode_channels

        classes, reason = channel_classes(values)
        count, channels = classes.numbered()
        if count == 1:
            return reason or "its channels come together"
        ranges = class_ranges(channels, count, self.output_margin, ctx)
        if ranges.are_equal:
            return "too few values of each channel were seen to tell them apart"
        first = table.row_of(values[0])
        storage = (first.bits if first is not None else None) or "i8"
        scales, zero_point = encode_channels(ranges, storage, asymmetric=self.method in ZERO_POINT_METHODS)
        rows: dict[tuple[float, ...], ParamsOp] = {}
        for value in values:
            own = scales[channels[value]]
            key = tuple(own.tolist()) if len(set(own.tolist())) > 1 else (float(own[0]),)
            if key not in rows:
                rows[key] = table.new_row()
            if len(key) == 1:
                table.set_encoding(rows[key], storage, key[0], zero_point)
            else:
                table.set_channel_scales(rows[key], storage, write_blob(ctx.store, own), zero_point)
            table.assign(value, rows[key])
        return None


def _output_name(dequantize: quant.DequantizeOp) -> str:
    """Return the name of the graph output that a dequantize makes."""
    function, end = dequantize.parent_op(), next(iter(dequantize.results[0].uses), None)
    if not isinstance(function, FuncOp) or end is None:
        return ", ".join(source_names(dequantize))
    name: str = result_names(function)[end.index]
    return name
