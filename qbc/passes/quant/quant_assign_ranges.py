"""`quant-assign-ranges`: scale and zero point of every row, from its statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import ModuleOp

from qbc.dialects.quant import ParamTable
from qbc.passes.base import CompileContext, ModulePass, check_choice, check_options
from qbc.passes.quant.row_ranges import assign_encoding, clip_flat_zones

if TYPE_CHECKING:
    from qbc.algorithms.ranges import RangeOptions

METHODS = (0, 1, 2, 3)
MODES = (0, 1, 2)


@dataclass(frozen=True)
class QuantAssignRanges(ModulePass):
    """Chooses the encoding of every row whose encoding the graph does not fix.

    - `mode` 0: extremes; 1: the element of rank `(1 - percentile) * count` from each end, after the `spared` outermost
      elements a sample, which are never clipped; 2: least squared error over the histogram (clipping below half the
      extreme must gain 1 dB).
    - `method` 0, 1: symmetric i8 (zero point 0); 2, 3: i8 with a zero point. i16 is symmetric under every method and
      covers the extremes in modes 0 and 1.
    - A row with the maximum or minimum over an axis covers its extremes in mode 1: those decide the result.
    - Graph outputs cover their extremes and `output_margin` more in every mode: unseen data exceeds the calibration
      samples, and nothing after an output makes up for a clipped one.
    - A row with several values gets one range: the candidate with the least relative error summed over the values (all
      of them, where they leave the graph).
    - A value that feeds only table lookups or clamps is not given codes where those are flat.

    Raises QUANTIZATION_ERROR for a row without statistics.

    ```mlir
    quant.params "r1" {statistics = {v1.moments = ..., ...}}
    // becomes
    quant.params "r1" {statistics = ..., storage = i8, scale = 0.0416 : f32, zero_point = -56}
    ```
    """

    name: ClassVar[str] = "quant-assign-ranges"
    needs: ClassVar[tuple[str, ...]] = ("quant.created",)
    mode: int = 1
    percentile: float = 0.9999
    spared: int = 8
    method: int = 3
    min_clip_ratio: float = 0.5
    output_margin: float = 0.25
    flat_zones: bool = True

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MODES)
        check_choice("method", self.method, METHODS)
        check_options(0, 1, min_clip_ratio=self.min_clip_ratio)
        if not 0.5 < self.percentile <= 1.0:
            raise ValueError(f"percentile is {self.percentile}, it must be above 0.5 and at most 1")
        check_options(0, spared=self.spared, output_margin=self.output_margin)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        options = self._options()
        table = ParamTable(op)
        rows = [row for row in table if table.members(row) and not row.is_fixed]
        for row in rows:
            estimated = assign_encoding(table, row, ctx.store, options, asymmetric=self.method >= 2)
            if estimated:
                ctx.count("histogram_percentiles")
        if self.flat_zones:
            clipped = [row for row in rows if clip_flat_zones(table, row, ctx.store, asymmetric=self.method >= 2)]
            ctx.count("clipped_at_flat_zones", len(clipped))
        ctx.count("rows", len(rows))
        self._notice_short_tails(ctx)

    def _options(self) -> RangeOptions:
        from qbc.algorithms.ranges import RangeOptions

        return RangeOptions(self.mode, self.percentile, self.spared, self.min_clip_ratio, self.output_margin)

    def _notice_short_tails(self, ctx: CompileContext) -> None:
        count = ctx.statistics.get(ctx.current_pass, {}).get("histogram_percentiles", 0)
        if count:
            ctx.notice(
                f"{count} percentiles lie outside the exact tails and were read from histograms; raise topk-ratio"
            )
