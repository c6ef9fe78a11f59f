"""One mblt operation from float to integers: hand-set encodings, integer run, float64 reference on the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType, f32, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qbc.dialects.blob import write_blob
from qbc.dialects.quant import CODE_RANGES, ParamTable, round_to_f32
from qbc.driver.context import make_context
from qbc.execute.float_torch import FloatProgram
from qbc.execute.integer import IntegerProgram
from qbc.passes.base import CompileContext, name_loc
from qbc.passes.quant.convert_mblt_to_quant import ConvertMbltToQuant
from qbc.passes.quant.lift import lift
from qbc.passes.quant.quant_insert_requant import QuantInsertRequant
from qbc.passes.quant.quant_materialize import QuantMaterialize
from qbc.passes.quant.quant_verify import QuantVerify
from qbc.store import BlobStore

Array = npt.NDArray[Any]


class Graph:
    """An mblt function under construction."""

    def __init__(self, inputs: Sequence[Array]) -> None:
        self.store = BlobStore()
        self.ctx: CompileContext = make_context(store=self.store)
        types = [TensorType(f32 if x.dtype.kind == "f" else i32, x.shape) for x in inputs]
        self.block = Block(arg_types=types)
        self.types = types

    @property
    def args(self) -> list[SSAValue]:
        """Values of the inputs."""
        return list(self.block.args)

    def add(self, op: Operation, name: str = "") -> SSAValue:
        """Add an operation; `name` is its source node."""
        if name:
            op.location = name_loc(name)
        self.block.add_op(op)
        return op.results[0]

    def blob(self, data: Array) -> Any:
        """Store an array (float64 becomes float32)."""
        return write_blob(self.store, data.astype(np.float32) if data.dtype.kind == "f" else data)

    def module(self, *results: SSAValue) -> ModuleOp:
        """Finish the function: inputs are named x0, x1, ..., results y0, y1, ..."""
        self.block.add_op(ReturnOp(*results))
        function = FuncOp(
            "main",
            (self.types, [value.type for value in results]),
            Region([self.block]),
            arg_attrs=_named("x", len(self.types)),
            res_attrs=_named("y", len(results)),
        )
        module = ModuleOp([function])
        module.verify()
        return module


def _named(prefix: str, count: int) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"mblt.name": StringAttr(f"{prefix}{i}")}) for i in range(count)])


def function_of(module: ModuleOp) -> FuncOp:
    """Return the only function."""
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def encoding_for(low: float, high: float, storage: str, symmetric: bool = False) -> tuple[str, float, int]:
    """Return an encoding that covers low..high and 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    if storage == "i16" or symmetric:
        limit = 32639 if storage == "i16" else 127
        return storage, round_to_f32(max(-low, high, 1e-6) / limit), 0
    scale = round_to_f32(max(high - low, 1e-6) / 255.0)
    return storage, scale, int(np.clip(np.rint(-128 - low / scale), -128, 127))


@dataclass
class Outcome:
    """Integer and float64 results of one run, and the output step."""

    got: dict[str, Array]
    wanted: dict[str, Array]
    step: dict[str, float]
    limits: dict[str, tuple[float, float]]
    module: ModuleOp

    def worst(self, name: str = "y0") -> float:
        """Return the largest error in output steps; the reference saturates at the output range."""
        low, high = self.limits[name]
        wanted = np.clip(self.wanted[name], low, high)
        return float(np.abs(self.got[name] - wanted).max() / self.step[name])


def run_both(
    build: Callable[[Graph], SSAValue],
    inputs: Sequence[Array],
    *,
    storage: str = "i8",
    out_storage: str | None = None,
    method: int = 3,
    symmetric: bool = False,
) -> Outcome:
    """Quantize what `build` adds to a graph with encodings from the data, run it, and run float64 beside it.

    The inputs are rounded to their codes first, so that both runs see the same numbers. Every row gets `storage`,
    rows of graph results `out_storage`.
    """
    graph = Graph(inputs)
    module = graph.module(build(graph))
    ConvertMbltToQuant(method).run(module, graph.ctx)
    module.verify()
    QuantVerify("created").run(module, graph.ctx)
    function = function_of(module)
    table = ParamTable(module)
    named = {f"x{i}": _on_grid(x, storage, symmetric) for i, x in enumerate(inputs)}
    reference = lift(function)
    seen: dict[SSAValue, Array] = {}
    observers = {value: _keeper(seen, value) for value in reference.values.values()}
    wanted = FloatProgram(reference.function, graph.store, "float64").run(named, observers)
    for index, argument in enumerate(reference.function.body.block.args):
        seen.setdefault(argument, named[f"x{index}"])
    returned = function.body.block.last_op
    assert returned is not None
    last = {value.owner.operands[0] for value in returned.operands if isinstance(value.owner, Operation)}
    for row in table:
        if row.is_fixed:
            continue
        members = table.members(row)
        data = [seen[reference.values[value]] for value in members]
        kind = out_storage if out_storage and set(members) & last else storage
        low, high = min(float(x.min()) for x in data), max(float(x.max()) for x in data)
        table.set_encoding(row, *encoding_for(low, high, kind, symmetric))
    QuantInsertRequant().run(module, graph.ctx)
    QuantVerify("ranged").run(module, graph.ctx)
    encodings = [
        table.encoding(value.owner.operands[0]) for value in returned.operands if isinstance(value.owner, Operation)
    ]
    QuantMaterialize().run(module, graph.ctx)
    module.verify()
    QuantVerify("materialized").run(module, graph.ctx)
    got = IntegerProgram(function_of(module), graph.store).run(named)
    step, limits = {}, {}
    for index, encoding in enumerate(encodings):
        assert encoding is not None
        kind, scale, zero = encoding
        low_code, high_code = CODE_RANGES[kind]
        step[f"y{index}"] = scale
        limits[f"y{index}"] = (scale * (low_code - zero), scale * (high_code - zero))
    return Outcome(got, wanted, step, limits, module)


def _on_grid(x: Array, storage: str, symmetric: bool) -> Array:
    if x.dtype.kind != "f":
        return x
    kind, scale, zero = encoding_for(float(x.min()), float(x.max()), storage, symmetric)
    low, high = CODE_RANGES[kind]
    codes = np.clip(np.rint(x.astype(np.float32) / np.float32(scale)) + zero, low, high)
    return ((codes - zero).astype(np.float32) * np.float32(scale)).astype(np.float32)


def _keeper(seen: dict[SSAValue, Array], value: SSAValue) -> Callable[[Array], None]:
    def keep(data: Array) -> None:
        seen[value] = np.array(data)

    return keep


def grid_weights(rng: np.random.Generator, *shape: int, exponent: int = -6) -> Array:
    """Return whole multiples of 2^exponent with a 127 in every output channel, so that 8-bit weights are exact."""
    codes = rng.integers(-127, 128, shape).astype(np.float64)
    codes.reshape(shape[0], -1)[:, 0] = 127
    return codes * 2.0**exponent
