"""Lowered programs give the codes that the oracle gives for the program they came from."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block, SSAValue

from qbc.dialects.npu import KERNEL_OPS, HostTensorAttr, NpuTensorType, ProgramOp, ReturnOp, value_type
from qbc.passes.base import name_loc
from qbc.passes.npu.programs import commands
from qbc.store import BlobStore
from tests.support.npu_lowering import LOWERING, apply, context, meaning, random_codes, simulate
from tests.support.npu_ops import ADD, CASES, CONV, Case, M, attribute, program_of, rescale, table, weight

IDS = [f"{index}-{case.op}" for index, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_each_command(case: Case) -> None:
    store, rng = BlobStore(), np.random.default_rng(5)
    program = program_of(case, store)
    codes = [random_codes(rng, *spec) for spec in case.inputs]
    if case.properties.get("plane") == "lo":
        codes[1] = rng.integers(-10000, 10000, case.inputs[1][0]).astype(np.int32)
    if case.op.startswith("logical") or case.op == "where":
        codes = [np.abs(array) % 2 if array.dtype == np.int8 else array for array in codes]
    expected = meaning(program, store, codes)
    apply(program, context(store), LOWERING[3:] if any(e == "i32" for _, e in case.inputs) else LOWERING)
    for found, wanted in zip(simulate(program, store, codes), expected, strict=True):
        assert np.array_equal(found, wanted)


class Graph:
    """Builds random programs of NHWC values with 4 or 6 channels."""

    def __init__(self, rng: np.random.Generator, element: str) -> None:
        self.rng = rng
        self.store = BlobStore()
        self.input = NpuTensorType.of((1, 6, 5, 4), element)
        self.block = Block(arg_types=[self.input])
        self.values: list[SSAValue] = [self.block.args[0]]

    def add(self, op: str, inputs: list[SSAValue], shape: tuple[int, ...], element: str, **properties: object) -> None:
        attributes = {name: attribute(value, self.store) for name, value in properties.items()}
        new = KERNEL_OPS[f"npu.{op}"].build_value(inputs, NpuTensorType.of(shape, element), attributes)
        new.location = name_loc(f"{op}_{len(self.values)}")
        self.block.add_op(new)
        self.values.append(new.results[0])

    def pick(self) -> SSAValue:
        if self.rng.random() < 0.5:
            return self.values[-1]
        return self.values[int(self.rng.integers(max(0, len(self.values) - 4), len(self.values)))]

    def grow(self) -> None:
        kind = self.rng.choice(["conv", "conv", "add", "add", "lut", "reshape", "linear", "requantize"])
        x = self.pick()
        shape, element = value_type(x).shape, value_type(x).element
        if kind == "conv" and len(shape) == 4:
            channels = int(self.rng.choice([4, 6]))
            window = {**CONV, "strides": (1, 1), "groups": 1, "zx": 0 if element == "i16" else 2}
            self.add("conv2d", [x], (*shape[:3], channels), "i8", **window, **self._weights(channels, 3, 3, shape[3]))
        elif kind == "linear":
            clamp = {"zx": 0 if element == "i16" else -3, "z": 4, "lo": -100, "hi": 100}
            self.add("linear", [x], (*shape[:-1], 6), "i8", **clamp, **self._weights(6, shape[-1]))
        elif kind == "add":
            others = [v for v in self.values if value_type(v).shape == shape and value_type(v).element == "i8"]
            if element == "i8" and others:
                other = others[int(self.rng.integers(len(others)))]
                self.add("add", [x, other], shape, "i8", **{**ADD, "ma": M, "mb": M - 5, "s": 31})
        elif kind == "lut" and element == "i8":
            self.add("lut", [x], shape, "i8", table=table(256))
        elif kind == "reshape" and len(shape) == 4:
            self.add("reshape", [x], (shape[1] * shape[2], shape[3]), element)
        elif kind == "requantize":
            zero = 0 if element == "i16" else 7
            scale = {"zx": zero, "m": M, "s": 40 if element == "i16" else 31}
            self.add("requantize", [x], shape, "i8", **scale, z=-2, lo=-128, hi=127)

    def _weights(self, channels: int, *shape: int) -> dict[str, object]:
        return {"weight": weight(channels, *shape), **rescale(channels)}

    def program(self) -> ProgramOp:
        unused = [value for value in self.values[1:] if not value.uses] or [self.values[-1]]
        self.block.add_op(ReturnOp.build(operands=[unused]))
        outputs = [HostTensorAttr.of(f"y{index}", "f32", 0.5, 0) for index in range(len(unused))]
        inputs = [HostTensorAttr.of("x", "f32", 0.5, 0)]
        return ProgramOp.make("main", "aries-rb", host_inputs=inputs, host_outputs=outputs, body=self.block)


@pytest.mark.parametrize("element", ["i8", "i16"])
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed: int, element: str) -> None:
    rng = np.random.default_rng(seed)
    graph = Graph(rng, element)
    while len(graph.values) < 16:
        graph.grow()
    program = graph.program()
    program.verify()
    codes = [random_codes(rng, graph.input.shape, element)]
    expected = meaning(program, graph.store, codes)
    ctx = context(graph.store)
    apply(program, ctx, LOWERING)
    found = simulate(program, graph.store, codes)
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("element", ["i8", "i16"])
def test_fusions_keep_the_bits(element: str) -> None:
    rng = np.random.default_rng(2)
    graph = Graph(rng, element)
    shape = (1, 6, 5, 4)
    window = {**CONV, "strides": (1, 1), "groups": 1, "zx": 0 if element == "i16" else 2}
    for _ in range(2):
        weights = {"weight": weight(4, 3, 3, 4), **rescale(4)}
        graph.add("conv2d", [graph.values[0]], shape, "i8", **window, **weights)
    first, second = graph.values[1:]
    graph.add("lut", [first], shape, "i8", table=table(256))
    graph.add("add", [graph.values[-1], second], shape, "i8", **{**ADD, "mb": M})
    graph.add("add", [graph.values[-1], graph.values[3]], shape, "i8", **ADD)
    program = graph.program()
    codes = [random_codes(rng, shape, element)]
    expected = meaning(program, graph.store, codes)
    apply(program, context(graph.store), LOWERING)
    kinds = [(c.KIND, sorted({"table", "add_ma", "plane"} & set(c.properties))) for c in commands(program)]
    if element == "i8":
        assert sorted(kinds) == [("add", []), ("conv2d", ["add_ma"]), ("conv2d", ["table"])]
    else:
        planes = [("conv2d", ["add_ma", "plane"]), ("conv2d", ["plane"]), ("conv2d", ["plane"])]
        assert sorted(kinds) == [("add", []), *planes, ("conv2d", ["plane", "table"])]
    assert np.array_equal(simulate(program, graph.store, codes)[0], expected[0])
