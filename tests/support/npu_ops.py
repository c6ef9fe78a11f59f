"""One legal instance of every npu command, and helpers to build programs around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block

from qbc.dialects.blob import write_blob
from qbc.dialects.common.properties import int_list
from qbc.dialects.npu import KERNEL_OPS, HostTensorAttr, NpuTensorType, ProgramOp, ReturnOp
from qbc.passes.base import name_loc
from qbc.store import BlobStore

Spec = tuple[tuple[int, ...], str]
M, S = 1 << 30, 33
RESCALE = {"zx": 2, "m": M, "s": S, "z": 1, "lo": -128, "hi": 127}
WINDOW = {"kernel": (2, 2), "strides": (1, 1), "padding": (0, 1, 1, 0), "dilations": (1, 1)}
CONV = {"strides": (1, 2), "padding": (1, 1, 1, 1), "dilations": (1, 1), "zx": 2, "z": 1, "lo": -128, "hi": 127}
ADD = {"za": 1, "zb": 2, "ma": M, "mb": -M, "s": S, "z": 0, "lo": -128, "hi": 127}
FUSED_ADD = {f"add_{name}": value for name, value in ADD.items()}


@dataclass
class Case:
    """Inputs, output and properties of one command; arrays are constants."""

    op: str
    inputs: Sequence[Spec]
    output: Spec
    properties: Mapping[str, object] = field(default_factory=dict)


def rescale(channels: int) -> dict[str, np.ndarray]:
    """bias, multiplier and shift of a weighted sum."""
    rng = np.random.default_rng(channels)
    return {
        "bias": rng.integers(-500, 500, channels),
        "multiplier": rng.integers(M, 2 * M, channels),
        "shift": np.full(channels, 39),
    }


def weight(*shape: int) -> np.ndarray:
    """i8 weight codes."""
    return np.random.default_rng(sum(shape)).integers(-127, 128, shape).astype(np.int8)


def table(entries: int, dtype: type = np.int8) -> np.ndarray:
    """A table of codes."""
    return np.random.default_rng(entries).integers(-100, 100, entries).astype(dtype)


def i32(*values: int) -> np.ndarray:
    """Indices."""
    return np.array(values, np.int32)


X: Spec = ((1, 6, 8, 4), "i8")
X16: Spec = ((1, 6, 8, 4), "i16")
Y: Spec = ((1, 6, 4, 6), "i8")
RANGE = {"zx": 2, "z": 1, "lo": -128, "hi": 127}
CODES = {"m": M, "s": S, "z": 0, "lo": -128, "hi": 127}
NODES = np.linspace(1 << 30, 1 << 29, 257).astype(np.int64)
LOG2_NODES = np.floor(2**24 * np.log2(1 + np.arange(257) / 256) + 0.5).astype(np.int64)
PRODUCT = {"za": 1, "zb": 2, **CODES}
PREDICATES = ("equal", "greater", "less", "logical_and", "logical_or")
CASES: tuple[Case, ...] = (
    Case("conv2d", [X], Y, {**CONV, "groups": 1, "weight": weight(6, 3, 3, 4), **rescale(6)}),
    Case("conv2d", [X], Y, {**CONV, "groups": 2, "weight": weight(6, 3, 3, 2), **rescale(6), "table": table(256)}),
    Case("conv2d", [X, Y], Y, {**CONV, "groups": 1, "weight": weight(6, 3, 3, 4), **rescale(6), **FUSED_ADD}),
    Case("conv2d", [X16], (Y[0], "i32"), {**CONV, "zx": 0, "groups": 1, "plane": "hi", "weight": weight(6, 3, 3, 4)}),
    Case(
        "conv2d",
        [X16, (Y[0], "i32")],
        Y,
        {**CONV, "zx": 0, "groups": 1, "plane": "lo", "weight": weight(6, 3, 3, 4), **rescale(6)},
    ),
    Case(
        "depthwise_conv2d", [X], ((1, 6, 4, 4), "i8"), {**CONV, "groups": 4, "weight": weight(4, 3, 3, 1), **rescale(4)}
    ),
    Case(
        "transpose_conv2d",
        [X],
        ((1, 12, 16, 3), "i8"),
        {
            **CONV,
            "strides": (2, 2),
            "padding": (0, 0, 0, 0),
            "groups": 1,
            "weight": weight(3, 2, 2, 4),
            **rescale(3),
        },
    ),
    Case("linear", [((2, 7), "i8")], ((2, 5), "i8"), {**RANGE, "weight": weight(5, 7), **rescale(5)}),
    Case(
        "matmul",
        [((2, 3, 4), "i8"), ((2, 4, 5), "i8")],
        ((2, 3, 5), "i8"),
        {**PRODUCT, "transpose_b": 0},
    ),
    Case("matmul", [((3, 4), "i8"), ((5, 4), "i8")], ((3, 5), "i8"), {**PRODUCT, "transpose_b": 1}),
    Case("add", [X, ((4,), "i8")], X, ADD),
    Case("mul", [X, X], X, {"za": 1, "zb": 2, **CODES}),
    Case("div", [X, X], X, {"za": 1, "zb": 2, "p": 1 << 20, "t": 10, "z": 0, "lo": -128, "hi": 127}),
    Case("maximum", [X, X], X, {"lo": -100, "hi": 100}),
    Case("minimum", [X, X], X, {"lo": -100, "hi": 100}),
    *(Case(kind, [X, X], X) for kind in PREDICATES),
    Case("logical_not", [X], X),
    Case("where", [X, X, X], X),
    Case("requantize", [X], X, RESCALE),
    Case("lut", [X], X, {"table": table(256)}),
    Case("lut16", [X16], X, {"lo": -128, "hi": 127, "table": table(513, np.int32)}),
    Case(
        "mantissa_lut",
        [X16],
        X16,
        {
            "function": "reciprocal",
            **CODES,
            "m": M,
            "s": 31,
            "table": NODES,
        },
    ),
    Case("max_pool2d", [X], X, WINDOW),
    Case(
        "avg_pool2d",
        [X],
        X,
        {
            **WINDOW,
            "count_include_pad": 1,
            **{name: value for name, value in RESCALE.items() if name not in "ms"},
            "counts": np.array([4]),
            "multiplier": np.array([M]),
            "shift": np.array([32]),
        },
    ),
    Case("reduce_sum", [X], ((1, 1, 1, 4), "i8"), {"axes": (1, 2), **RESCALE, "s": 36}),
    Case("reduce_max", [X], ((1, 4), "i8"), {"axes": (1, 2)}),
    Case("reduce_min", [X], ((1, 4), "i8"), {"axes": (1, 2)}),
    Case("reduce_l2", [X], ((1, 4), "i8"), {"axes": (1, 2), **RESCALE}),
    Case("arg_max", [X], ((1, 6, 8), "i32"), {"axis": 3}),
    Case("softmax", [X], X, {"k": 1 << 22, "q": 255 << 16, "g": 16, "z": -128, "lo": -128, "hi": 127}),
    Case("log_softmax", [X], X, {"k": 1 << 22, **CODES, "table": LOG2_NODES}),
    Case(
        "layer_norm",
        [X],
        X,
        {
            "n": 4,
            "zx": 2,
            "eps": 16,
            "t": 40,
            "z": 0,
            "lo": -128,
            "hi": 127,
            "gamma": np.full(4, 1 << 26),
            "beta": np.full(4, 1 << 30),
        },
    ),
    Case("reshape", [X], ((6, 32), "i8")),
    Case("transpose", [X], ((1, 4, 6, 8), "i8"), {"permutation": (0, 3, 1, 2)}),
    Case("slice", [X], ((1, 3, 4, 4), "i8"), {"starts": (0, 1, 0, 0), "steps": (1, 2, 2, 1)}),
    Case("concat", [X, X], ((1, 6, 8, 8), "i8"), {"axis": 3}),
    Case("expand", [((1, 4), "i8")], ((3, 2, 4), "i8")),
    Case("gather", [((9, 4), "i8"), ((2, 3), "i32")], ((2, 3, 4), "i8"), {"axis": 0}),
    Case("pad", [X], ((1, 8, 9, 4), "i8"), {"before": (0, 1, 0, 0), "after": (0, 1, 1, 0), "value": -3}),
    Case("tile", [((2, 3), "i8")], ((4, 3), "i8"), {"repeats": (2, 1)}),
    Case("resize_nearest", [X], ((1, 2, 3, 4), "i8"), {"index_h": i32(0, 5), "index_w": i32(7, 0, 1)}),
    Case(
        "resize_linear",
        [X],
        ((1, 2, 1, 4), "i8"),
        {
            "h0": i32(0, 2),
            "h1": i32(1, 3),
            "hw": i32(0, 1024),
            "w0": i32(0),
            "w1": i32(1),
            "ww": i32(512),
            **RESCALE,
            "s": 54,
        },
    ),
)


def attribute(value: object, store: BlobStore) -> Attribute:
    """Turn a Python value into a property."""
    if isinstance(value, np.ndarray):
        return write_blob(store, value)
    if isinstance(value, tuple):
        return int_list(value)
    return StringAttr(value) if isinstance(value, str) else IntegerAttr(int(str(value)), i64)


def host(index: int, element: str) -> HostTensorAttr:
    """A host descriptor that fits an element type."""
    return HostTensorAttr.of(f"v{index}", "i32" if element == "i32" else "f32", 0.5, 0)


def program_of(case: Case, store: BlobStore) -> ProgramOp:
    """A program of one command whose inputs are graph inputs and whose result is the graph output."""
    types = [NpuTensorType.of(*spec) for spec in case.inputs]
    block = Block(arg_types=types)
    properties = {name: attribute(value, store) for name, value in case.properties.items()}
    op = KERNEL_OPS[f"npu.{case.op}"].build_value(list(block.args), NpuTensorType.of(*case.output), properties)
    op.location = name_loc(f"node/{case.op}")
    block.add_ops([op, ReturnOp.build(operands=[[op.results[0]]])])
    inputs = [host(index, spec[1]) for index, spec in enumerate(case.inputs)]
    outputs = [host(0, case.output[1])]
    return ProgramOp.make("main", "aries-rb", host_inputs=inputs, host_outputs=outputs, body=block)
