"""`quant-report`: how well the integer program follows the float graph, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.common.graph import result_names
from qbc.dialects.quant import quantized_element
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, ModulePass, check_options, source_names
from qbc.passes.quant.float_graph import float_graph

if TYPE_CHECKING:
    from qbc.algorithms.fidelity import Fidelity
    from qbc.report.accuracy import LayerAccuracy
    from qbc.store import BlobStore

_LOOKUPS = (quant.LutOp, quant.Lut16Op, quant.MantissaLutOp)
_SKIPPED = (quant.QuantizeOp, quant.DequantizeOp, quant.ConstantOp)


@dataclass(frozen=True)
class QuantReport(ModulePass):
    """Runs the materialized function on the integer kernels and the float graph on the same samples.

    Leaves `ctx.report["accuracy"]`, an `AccuracyReport`: for every operation bits, scale (the largest, where channels
    have their own), the centred SQNR of the running program, and with `isolated` the SQNR of the operation alone on
    exact inputs. `samples` limits the number of samples. The IR does not change. The float graph is the one that
    `quant-collect` left in the module (`quant.float_graph`): PIPELINE_ERROR where there is none, NO_CALIBRATION_DATA
    without samples, MISSING_BLOB where IR text came without its weights.
    """

    name: ClassVar[str] = "quant-report"
    needs: ClassVar[tuple[str, ...]] = ("quant.materialized",)
    samples: int = 2
    isolated: bool = True

    def __post_init__(self) -> None:
        check_options(1, samples=self.samples)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        from qbc.report.accuracy import AccuracyReport

        if ctx.samples is None and ctx.kept_statistics is not None:
            ctx.notice("no accuracy report: the statistics were loaded and there are no samples")
            return
        functions = [inner for inner in op.body.block.ops if isinstance(inner, FuncOp)]
        if not any(isinstance(inner, quant.QuantOp) for inner in op.walk()):
            ctx.notice("no accuracy report: the graph computes nothing")
            return
        references = [(function, float_graph(function, ctx)) for function in functions]
        compared = [(function, reference) for function, reference in references if reference is not None]
        if not compared:
            raise QBCompilerError(
                "quant-report needs the float graph that quant-collect keeps",
                code="PIPELINE_ERROR",
                hint="run quant-collect before quant-materialize",
            )
        if ctx.samples is None:
            raise QBCompilerError(
                "quant-report needs calibration samples",
                code="NO_CALIBRATION_DATA",
                hint="pass calib_data_path (--calib-data-path), or use_random_calib for a smoke test",
            )
        for function, reference in compared:
            measured = _Comparison(reference, function, ctx, self.isolated)
            count = measured.run(islice(iter(ctx.samples), self.samples))
            ctx.report["accuracy"] = AccuracyReport(tuple(measured.layers()), measured.outputs(), count)


class _Comparison:
    """Float values and integer values of one function, matched by source node and shape."""

    def __init__(self, reference: FuncOp, function: FuncOp, ctx: CompileContext, isolated: bool) -> None:
        from qbc.algorithms.fidelity import Fidelity
        from qbc.execute.float_ort import FloatSession
        from qbc.execute.integer import IntegerProgram

        self.function = function
        self.ctx = ctx
        self.float_of = dict(_match(reference, function))
        values = [value for value in self.float_of if isinstance(value.owner, Operation)]
        self.total: dict[SSAValue, Fidelity] = {value: Fidelity() for value in values}
        self.own: dict[SSAValue, Fidelity] = {value: Fidelity() for value in values} if isolated else {}
        self.results: dict[str, Fidelity] = {name: Fidelity() for name in result_names(function)}
        self.program = IntegerProgram(function, ctx.store)
        returned = _returned(reference)
        self.float_results = dict(zip(self.results, returned, strict=True))
        self.session = FloatSession(reference, ctx.store, list(dict.fromkeys([*self.float_of.values(), *returned])))

    def run(self, samples: Iterator[dict[str, Any]]) -> int:
        """Compare on all samples and return how many there were."""
        count = 0
        for sample in samples:
            expected = self.session.run(sample)
            self._run_integer(sample, expected)
            for value in self.own:
                self._run_alone(value, expected)
            count += 1
        return count

    def _run_integer(self, sample: dict[str, Any], expected: dict[SSAValue, Any]) -> None:
        def observer(value: SSAValue) -> Any:
            return lambda codes: self.total[value].add(self._reference(value, expected), self._decode(codes, value))

        results = self.program.run(sample, {value: observer(value) for value in self.total})
        for name, array in results.items():
            self.results[name].add(expected[self.float_results[name]], array)

    def _run_alone(self, value: SSAValue, expected: dict[SSAValue, Any]) -> None:
        """Run one operation on the exact inputs, rounded once."""
        import numpy as np

        from qbc.execute.integer import kernel_call
        from qbc.kernels import prepare
        from qbc.kernels.storage import load_codes

        op = value.owner
        assert isinstance(op, Operation)
        arrays = [self._stored_input(operand, expected) for operand in op.operands]
        if any(array is None for array in arrays):
            return
        call = kernel_call(op, self.ctx.store)
        output = np.empty(call.output.shape, call.output.numpy_dtype)
        prepare(call)(*arrays, output)
        self.own[value].add(self._reference(value, expected), self._decode(load_codes(output), value))

    def _decode(self, codes: Any, value: SSAValue) -> Any:
        from qbc.kernels.storage import dequantize

        encoding = _encoding(value, self.ctx.store)
        return codes if encoding is None else dequantize(codes, encoding[1], encoding[2])

    def _reference(self, value: SSAValue, expected: dict[SSAValue, Any]) -> Any:
        """Return the float value; where only lookups read it, clipped to the range that codes were given there."""
        import numpy as np

        reference = expected[self.float_of[value]]
        encoding = _encoding(value, self.ctx.store)
        if encoding is None or not all(isinstance(use.operation, _LOOKUPS) for use in value.uses):
            return reference
        low, high = quant.CODE_RANGES[encoding[0]]
        return np.clip(reference, encoding[1] * (low - encoding[2]), encoding[1] * (high - encoding[2]))

    def _stored_input(self, operand: SSAValue, expected: dict[SSAValue, Any]) -> Any:
        from qbc.dialects.blob import read_blob
        from qbc.kernels.storage import quantize_to_codes, store_codes

        encoding = _encoding(operand, self.ctx.store)
        if encoding is None:
            return None
        storage, scale, zero_point = encoding
        if isinstance(operand.owner, quant.ConstantOp):
            return store_codes(read_blob(self.ctx.store, operand.owner.properties["value"]), storage)
        source = operand.owner.operands[0] if isinstance(operand.owner, quant.QuantizeOp) else operand
        found = self.float_of.get(source)
        if found is None:
            return None
        return store_codes(quantize_to_codes(expected[found], scale, zero_point, storage), storage)

    def layers(self) -> Iterator[LayerAccuracy]:
        """Return the rows of the table in program order."""
        import numpy as np

        from qbc.report.accuracy import LayerAccuracy

        for value, total in self.total.items():
            encoding = _encoding(value, self.ctx.store)
            op = value.owner
            if encoding is None or not isinstance(op, Operation) or total.count == 0:
                continue
            own = self.own.get(value)
            step = float(np.max(encoding[1]))
            yield LayerAccuracy(
                layer=", ".join(source_names(op)) or "(unnamed)",
                operation=op.name.partition(".")[2],
                bits=encoding[0],
                scale=step,
                own_sqnr=own.sqnr if own is not None and own.count else None,
                total_sqnr=total.sqnr,
                worst_steps=total.worst / step,
            )

    def outputs(self) -> dict[str, float]:
        """Return SQNR by output name."""
        return {name: fidelity.sqnr for name, fidelity in self.results.items()}


def _match(reference: FuncOp, function: FuncOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield (integer value, float value) pairs with the same source nodes and shape; of several, the same operation."""
    table: dict[tuple[tuple[str, ...], tuple[int, ...]], list[Operation]] = {}
    for op in reference.body.block.ops:
        if op.results:
            table.setdefault((source_names(op), _shape(op.results[0])), []).append(op)
    yield from zip(function.body.block.args, reference.body.block.args, strict=True)
    taken: dict[Operation, Operation] = {}
    for op in function.body.block.ops:
        if not op.results or isinstance(op, _SKIPPED) or quantized_element(op.results[0]) is None:
            continue
        names = source_names(op)
        candidates = table.get((names, _shape(op.results[0])), []) if names else []
        found = _choose(op, candidates, taken)
        if found is not None:
            taken[found] = op
            yield op.results[0], found.results[0]


def _choose(op: Operation, candidates: list[Operation], taken: dict[Operation, Operation]) -> Operation | None:
    if not candidates:
        return None
    kind = op.name.partition(".")[2]
    alike = [found for found in candidates if found.name.partition(".")[2] == kind and found not in taken]
    return alike[0] if alike else candidates[-1]


def _encoding(value: SSAValue, store: BlobStore) -> tuple[str, Any, int] | None:
    """Return (storage, scale or array of scales, zero point); None for values that are not quantized."""
    from qbc.execute.integer import final_encoding

    return None if quantized_element(value) is None else final_encoding(value, store)


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return tuple(value.type.get_shape())


def _returned(function: FuncOp) -> list[SSAValue]:
    last = function.body.block.last_op
    return list(last.operands) if last is not None else []
