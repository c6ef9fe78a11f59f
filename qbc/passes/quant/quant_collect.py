"""`quant-collect`: one pass over the calibration samples, statistics on rows and mean inputs on weighted operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.blob import read_blob, write_blob
from qbc.dialects.quant import ParamTable, quantized_element
from qbc.dialects.quant.base import integer, ints, number, shape_of
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, ModulePass, SampleSource, check_options, located
from qbc.passes.quant.float_graph import forget_float_graphs, keep_float_graph
from qbc.passes.quant.kept_statistics import (
    CHANNEL_EXTREMES,
    INPUT_MEAN,
    INVERSE_VARIANCE,
    gather_statistics,
    restore_statistics,
    statistics_key,
)
from qbc.passes.quant.legality import SHARED_BY_UNION, is_movement, tied_values
from qbc.passes.quant.lift import Lifted, lift
from qbc.passes.quant.row_statistics import clear_statistics, write_statistics

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.algorithms.output_ranges import ChannelExtremes
    from qbc.algorithms.statistics import Sketch
    from qbc.algorithms.tap_means import ChannelMean, InverseVariance, TapMean
    from qbc.dialects.quant import WeightedOp

    Observer = Callable[[npt.NDArray[np.generic]], None]


@dataclass(frozen=True)
class QuantCollect(ModulePass):
    """Runs the float graph on the samples and records what range and bias passes need.

    - every row gets the statistics of its values (minimum, maximum, mean, exact tails, histogram) as blobs;
    - every convolution and linear layer gets `input_mean`, its mean input per kernel tap (borders included);
    - every layer norm gets `inverse_variance`, the mean of 1 / (variance + epsilon) over its rows;
    - what makes a graph output gets `channel_extremes`, the smallest and largest value of each channel;
    - every function gets `quant.float_graph`, the float graph that was run, which `quant-report` compares with.

    `samples` limits the number of samples (0 = all), `topk_ratio` is the share of elements kept exactly at each end.
    With `ctx.kept_statistics` the statistics of an earlier run are taken from a file, or those of this run kept in one.
    Raises NO_CALIBRATION_DATA without samples, INVALID_CALIBRATION_DATA when a value becomes NaN or infinite.

    ```mlir
    quant.params "r1"
    %1 = quant.conv2d %0 {weight = ...} : tensor<...!quant.q<"r0">> -> tensor<...!quant.q<"r1">>
    // becomes
    quant.params "r1" {statistics = {v1.moments = #blob.ref<...>, v1.counts = ..., v1.largest = ..., v1.smallest = ...}}
    %1 = quant.conv2d %0 {weight = ..., input_mean = #blob.ref<...>} : ...
    ```
    """

    name: ClassVar[str] = "quant-collect"
    needs: ClassVar[tuple[str, ...]] = ("quant.created",)
    samples: int = 0
    topk_ratio: float = 0.01

    def __post_init__(self) -> None:
        check_options(0, samples=self.samples)
        check_options(0, 1, topk_ratio=self.topk_ratio)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        table = ParamTable(op)
        for row in table:
            clear_statistics(row)
        forget_float_graphs(op)
        if ctx.kept_statistics is None:
            self._collect(op, table, ctx)
            return
        key = statistics_key(op, self.topk_ratio)
        kept = ctx.kept_statistics.load(key)
        if kept is None:
            self._collect(op, table, ctx)
        else:
            restore_statistics(op, ctx.store, kept)
            for function in _quantized_functions(op):
                keep_float_graph(function, lift(function).function, ctx.store)
        ctx.kept_statistics.save(key, gather_statistics(op, ctx.store))

    def _collect(self, op: ModuleOp, table: ParamTable, ctx: CompileContext) -> None:
        samples = _require_samples(ctx)
        for function in _quantized_functions(op):
            _Collector(function, table, ctx).run(samples, self.samples, self.topk_ratio)


def _quantized_functions(module: ModuleOp) -> list[FuncOp]:
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]
    return [func for func in functions if any(isinstance(op, quant.QuantOp) for op in func.body.block.ops)]


class _Collector:
    """Observers of one function."""

    def __init__(self, function: FuncOp, table: ParamTable, ctx: CompileContext) -> None:
        self.function = function
        self.table = table
        self.ctx = ctx
        self.lifted: Lifted = lift(function)
        self.sketches: dict[SSAValue, Sketch] = {}
        self.means: dict[WeightedOp, TapMean | ChannelMean] = {}
        self.spreads: dict[quant.LayerNormOp, InverseVariance] = {}
        self.extremes: dict[Operation, ChannelExtremes] = {}

    def run(self, samples: SampleSource, limit: int, tail_ratio: float) -> None:
        observers = self._observers()
        count = self._stream(samples, limit, observers)
        if count == 0:
            raise _no_samples("the calibration data holds no sample")
        self.ctx.count("samples", count)
        keep_float_graph(self.function, self.lifted.function, self.ctx.store)
        self._write(tail_ratio)

    def _observers(self) -> dict[SSAValue, list[Observer]]:
        """Return the float values to watch and what to do with each."""
        from qbc.algorithms.output_ranges import ChannelExtremes
        from qbc.algorithms.statistics import Sketch
        from qbc.algorithms.tap_means import InverseVariance

        observers: dict[SSAValue, list[Observer]] = {}
        for value in _values_to_observe(self.function.body.block, self.table):
            sketch = self.sketches[value] = Sketch()
            observers.setdefault(self.lifted.values[value], []).append(_guarded(sketch.update, value))
        for op in self.function.body.block.ops:
            if isinstance(op, quant.WeightedOp):
                mean = self.means[op] = _mean_of(op)
                observers.setdefault(self.lifted.values[op.operands[0]], []).append(mean.add)
            elif isinstance(op, quant.LayerNormOp):
                spread = self.spreads[op] = InverseVariance(
                    integer(op, "normalized_rank", 1), number(op, "epsilon", 0.0)
                )
                observers.setdefault(self.lifted.values[op.operands[0]], []).append(spread.add)
        for op in dict.fromkeys(_makers_of_outputs(self.function.body.block)):
            extremes = self.extremes[op] = ChannelExtremes()
            observers.setdefault(self.lifted.values[op.results[0]], []).append(extremes.add)
        return observers

    def _stream(
        self,
        samples: SampleSource,
        limit: int,
        observers: dict[SSAValue, list[Observer]],
    ) -> int:
        from qbc.execute.float_ort import FloatSession

        session = FloatSession(self.lifted.function, self.ctx.store, list(observers))
        count = 0
        for sample in islice(iter(samples), limit or None):
            self._observe(session.run(sample), observers, count)
            count += 1
        return count

    def _observe(
        self,
        seen: dict[SSAValue, npt.NDArray[np.generic]],
        observers: dict[SSAValue, list[Observer]],
        index: int,
    ) -> None:
        calls = [(callback, seen[value]) for value, callbacks in observers.items() for callback in callbacks]
        for callback, data in calls:
            try:
                callback(data)
            except _NonFiniteError as error:
                raise error.located(index) from None

    def _write(self, tail_ratio: float) -> None:
        for index, (value, sketch) in enumerate(self.sketches.items()):
            row = self.table.row_of(value)
            if row is not None:
                write_statistics(self.ctx.store, row, f"v{index:04}", sketch.freeze(tail_ratio))
        constants = (op for op in self.function.body.block.ops if isinstance(op, quant.ConstantOp))
        for index, constant in enumerate(constants):
            self._write_constant(constant, f"c{index:04}", tail_ratio)
        for weighted, mean in self.means.items():
            weighted.attributes[INPUT_MEAN] = write_blob(self.ctx.store, mean.mean.astype("float32"))
        for norm, spread in self.spreads.items():
            norm.attributes[INVERSE_VARIANCE] = FloatAttr(spread.mean, f64)
        for maker, extremes in self.extremes.items():
            maker.attributes[CHANNEL_EXTREMES] = write_blob(self.ctx.store, extremes.to_array())
        self.ctx.count("values", len(self.sketches))

    def _write_constant(self, op: quant.ConstantOp, key: str, tail_ratio: float) -> None:
        from qbc.algorithms.statistics import Sketch

        row = self.table.row_of(op.results[0])
        if row is None:
            return
        sketch = Sketch()
        _guarded(sketch.update, op.results[0])(read_blob(self.ctx.store, op.properties["value"]))
        write_statistics(self.ctx.store, row, key, sketch.freeze(tail_ratio))


class _NonFiniteError(Exception):
    """A value became NaN or infinite; the sample is added where it is known."""

    def __init__(self, value: SSAValue) -> None:
        super().__init__()
        self.value = value

    def located(self, sample: int) -> QBCompilerError:
        error = QBCompilerError(
            f"a value is NaN or infinite on calibration sample {sample}",
            code="INVALID_CALIBRATION_DATA",
            hint="check the preprocessing of the samples, and masks that the model fills with infinities",
        )
        return located(error, self.value.owner)


def _guarded(update: Observer, value: SSAValue) -> Observer:
    def observe(data: npt.NDArray[np.generic]) -> None:
        try:
            update(data)
        except ValueError:
            raise _NonFiniteError(value) from None

    return observe


def _values_to_observe(block: Block, table: ParamTable) -> Iterator[SSAValue]:
    """Yield the values whose statistics say something new about their row."""
    for op in block.ops:
        for value in op.results:
            if quantized_element(value) is None or isinstance(op, quant.ConstantOp):
                continue
            if not _copies(op, table):
                yield value


def _makers_of_outputs(block: Block) -> Iterator[Operation]:
    """Yield what computes the codes of graph outputs, behind data movement and changes of encoding."""
    pending = [op.operands[0] for op in block.ops if isinstance(op, quant.DequantizeOp)]
    seen = set(pending)
    while pending:
        value = pending.pop()
        op = value.owner
        if not isinstance(op, Operation) or isinstance(op, quant.ConstantOp):
            continue
        tied = tied_values(op)
        if value not in tied:
            yield op
        before = tied if value in tied else op.operands if isinstance(op, quant.RequantizeOp) else ()
        fresh = [operand for operand in dict.fromkeys(before) if operand not in seen]
        seen.update(fresh)
        pending.extend(fresh)


def _copies(op: Operation, table: ParamTable) -> bool:
    """Return whether the result holds elements of the operands only and shares their row: it adds no information."""
    if not isinstance(op, SHARED_BY_UNION) and not is_movement(op):
        return False
    if isinstance(op, quant.PadOp) and (number(op, "value", 0.0) != 0.0 or "values" in op.properties):
        return False
    return len({table.row_of(value) for value in tied_values(op)}) == 1


def _mean_of(op: WeightedOp) -> TapMean | ChannelMean:
    from qbc.algorithms.tap_means import ChannelMean, TapMean, TapWindow

    if isinstance(op, quant.LinearOp):
        return ChannelMean()
    _, height, width, _ = shape_of(op.operands[0])
    _, out_height, out_width, _ = shape_of(op.results[0])
    _, kernel_h, kernel_w, _ = op.weight_shape
    top, left, _, _ = ints(op, "padding")
    (stride_h, stride_w), (dilation_h, dilation_w) = ints(op, "strides"), ints(op, "dilations")
    transposed = isinstance(op, quant.TransposeConv2dOp)
    return TapMean(
        TapWindow(height, out_height, kernel_h, stride_h, top, dilation_h, transposed),
        TapWindow(width, out_width, kernel_w, stride_w, left, dilation_w, transposed),
    )


def _require_samples(ctx: CompileContext) -> SampleSource:
    if ctx.samples is None:
        raise _no_samples("no calibration dataset is provided")
    return ctx.samples


def _no_samples(message: str) -> QBCompilerError:
    return QBCompilerError(
        message,
        code="NO_CALIBRATION_DATA",
        hint="pass calib_data_path (--calib-data-path), or use_random_calib for a smoke test",
    )
