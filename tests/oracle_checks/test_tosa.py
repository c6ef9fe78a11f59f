"""Kernels and oracle against the TOSA reference model: equal codes.

TOSA's SINGLE_ROUND rescale has the rounding of ours. Its sums start from a 32-bit bias without the zero-point term,
which our bias constant includes.
"""

from __future__ import annotations

import numpy as np
import pytest

from qbc.kernels import KernelCall
from tests.oracle_checks.compare import kernel_codes, oracle_codes, spec
from tests.oracle_checks.random_values import codes
from tests.oracle_checks.random_values import multiplier as any_multiplier
from tests.oracle_checks.tosa import Program

RESCALE = (
    "scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = {}, input_unsigned = false, output_unsigned = false"
)


def multiplier(rng: np.random.Generator, acc_bound: float, dtype: str) -> tuple[int, int]:
    """A multiplier that TOSA accepts too: its shifts start at 2."""
    while True:
        m, s = any_multiplier(rng, acc_bound, dtype)
        if s >= 2:
            return m, s


def _i8(*values: int) -> np.ndarray:
    return np.array(values, np.int8)


def _rescale(program: Program, value: str, m, s, zx: int, z: int, shape, input_type=np.int32) -> str:
    m, s = np.atleast_1d(np.asarray(m, np.int32)), np.atleast_1d(np.asarray(s, np.int8))
    operands = [value, program.constant(m), program.constant(s)]
    operands += [program.constant(np.array([zx], input_type)), program.constant(_i8(z))]
    return program.op("rescale", operands, RESCALE.format("true" if len(m) > 1 else "false"), shape, "i8")


def _check(call: KernelCall, inputs: list[np.ndarray], program: Program, result: str) -> None:
    expected = program.run(result).astype(np.int64).reshape(call.output.shape)
    assert np.array_equal(oracle_codes(call, inputs), expected)
    assert np.array_equal(kernel_codes(call, inputs), expected)


def _weights(rng, shape, zx: int, axes):
    weight = rng.integers(-127, 128, shape).astype(np.int8)
    bias = rng.integers(-5000, 5000, shape[0]).astype(np.int32)
    pairs = [multiplier(rng, 128.0 * np.abs(w.astype(int)).sum() / 4, "i8") for w in weight]
    constants = {
        "weight": weight,
        "bias": bias.astype(np.int64) - zx * weight.astype(np.int64).sum(axes),
        "multiplier": np.array([m for m, _ in pairs], np.int64),
        "shift": np.array([s for _, s in pairs], np.int64),
    }
    return constants, bias


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_conv2d(depthwise: bool, stride: int, dilation: int) -> None:
    rng = np.random.default_rng(stride * 10 + dilation + depthwise)
    channels, out_channels, zx, z = 6, 6 if depthwise else 5, -7, 9
    padding = (1, 2, 1, 0)
    height, width = 3 + 2 * dilation + 3 * stride, 2 + 2 * dilation + 2 * stride
    height -= (height + 2 - 2 * dilation - 1) % stride
    width -= (width + 2 - 2 * dilation - 1) % stride
    x = codes(rng, (1, height, width, channels), "i8").astype(np.int8)
    constants, bias = _weights(rng, (out_channels, 3, 3, 1 if depthwise else channels), zx, (1, 2, 3))
    sides = [(n + p - 2 * dilation - 1) // stride + 1 for n, p in ((height, 2), (width, 2))]
    shape = (1, *sides, out_channels)
    program = Program([x])
    weight = constants["weight"]
    if depthwise:
        weight = weight.transpose(1, 2, 0, 3)
    operands = [
        "x0",
        program.constant(weight),
        program.constant(bias),
        program.constant(_i8(zx)),
        program.constant(_i8(0)),
    ]
    top, left, bottom, right = padding
    attributes = (
        f"acc_type = i32, pad = array<i64: {top}, {bottom}, {left}, {right}>, "
        f"stride = array<i64: {stride}, {stride}>, dilation = array<i64: {dilation}, {dilation}>"
    )
    acc = program.op("depthwise_conv2d" if depthwise else "conv2d", operands, attributes, shape, "i32")
    result = _rescale(program, acc, constants["multiplier"], constants["shift"], 0, z, shape)
    call = KernelCall(
        "conv2d",
        (spec(x.shape, "i8"),),
        spec(shape, "i8"),
        {
            "strides": (stride, stride),
            "padding": padding,
            "dilations": (dilation, dilation),
            "groups": channels if depthwise else 1,
            "zx": zx,
            "z": z,
            "lo": -128,
            "hi": 127,
            "plane": "full",
        },
        constants,
    )
    _check(call, [x], program, result)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_transpose_conv2d(stride: int) -> None:
    rng = np.random.default_rng(stride)
    zx, z, channels, out_channels = 5, -3, 4, 3
    x = codes(rng, (1, 4, 3, channels), "i8").astype(np.int8)
    constants, bias = _weights(rng, (out_channels, 3, 2, channels), zx, (1, 2, 3))
    shape = (1, 3 * stride + 3 - 1, 2 * stride + 2, out_channels)
    program = Program([x])
    operands = ["x0", program.constant(constants["weight"]), program.constant(bias)]
    operands += [program.constant(_i8(zx)), program.constant(_i8(0))]
    attributes = f"acc_type = i32, out_pad = array<i64: -1, 0, 0, 0>, stride = array<i64: {stride}, {stride}>"
    acc = program.op("transpose_conv2d", operands, attributes, shape, "i32")
    result = _rescale(program, acc, constants["multiplier"], constants["shift"], 0, z, shape)
    attributes = {"strides": (stride, stride), "padding": (1, 0, 0, 0), "dilations": (1, 1), "groups": 1}
    attributes.update(zx=zx, z=z, lo=-128, hi=127, plane="full")
    call = KernelCall("transpose_conv2d", (spec(x.shape, "i8"),), spec(shape, "i8"), attributes, constants)
    _check(call, [x], program, result)


def test_matmul() -> None:
    rng = np.random.default_rng(4)
    a, b = (codes(rng, shape, "i8").astype(np.int8) for shape in ((2, 5, 33), (2, 33, 4)))
    za, zb, z = 11, -20, 2
    m, s = multiplier(rng, 33 * 128.0 * 128 / 4, "i8")
    program = Program([a, b])
    operands = ["x0", "x1", program.constant(_i8(za)), program.constant(_i8(zb))]
    acc = program.op("matmul", operands, "", (2, 5, 4), "i32")
    result = _rescale(program, acc, m, s, 0, z, (2, 5, 4))
    attributes = {"za": za, "zb": zb, "transpose_b": 0, "m": m, "s": s, "z": z, "lo": -128, "hi": 127}
    call = KernelCall("matmul", (spec(a.shape, "i8"), spec(b.shape, "i8")), spec((2, 5, 4), "i8"), attributes)
    _check(call, [a, b], program, result)


def test_requantize_every_code() -> None:
    rng = np.random.default_rng(5)
    x = np.arange(-128, 128).astype(np.int8).reshape(1, 16, 16, 1)
    for _ in range(4):
        m, s = multiplier(rng, 128.0, "i8")
        zx, z = (int(v) for v in rng.integers(-128, 128, 2))
        program = Program([x])
        result = _rescale(program, "x0", m, s, zx, z, x.shape, np.int8)
        attributes = {"zx": zx, "m": m, "s": s, "z": z, "lo": -128, "hi": 127}
        _check(KernelCall("requantize", (spec(x.shape, "i8"),), spec(x.shape, "i8"), attributes), [x], program, result)


def test_tables() -> None:
    rng = np.random.default_rng(6)
    x = np.arange(-128, 128).astype(np.int8).reshape(1, 4, 8, 8)
    table = codes(rng, (256,), "i8").astype(np.int8)
    program = Program([x])
    result = program.op("table", ["x0", program.constant(table)], "", x.shape, "i8")
    _check(KernelCall("lut", (spec(x.shape, "i8"),), spec(x.shape, "i8"), {}, {"table": table}), [x], program, result)


def test_table_of_513_nodes_in_its_seven_fraction_bits() -> None:
    """TOSA's 16-bit table returns the interpolation in units of 1/128; ours rounds it to a code."""
    rng = np.random.default_rng(7)
    x = codes(rng, (1, 8, 8, 8), "i16").astype(np.int16)
    table = np.cumsum(rng.integers(-100, 101, 513)).astype(np.int16)
    program = Program([x])
    fine = program.run(program.op("table", ["x0", program.constant(table)], "", x.shape, "i32")).astype(np.int64)
    expected = np.clip((fine + 64) >> 7, -32768, 32639)
    constants = {"table": table.astype(np.int32)}
    call = KernelCall("lut16", (spec(x.shape, "i16"),), spec(x.shape, "i16"), {"lo": -32768, "hi": 32639}, constants)
    assert np.array_equal(oracle_codes(call, [x]), expected)
    assert np.array_equal(kernel_codes(call, [x]), expected)


def test_max_pool2d_and_clamp() -> None:
    rng = np.random.default_rng(8)
    x = codes(rng, (1, 7, 6, 5), "i8").astype(np.int8)
    shape = (1, 4, 3, 5)
    program = Program([x])
    attributes = "kernel = array<i64: 3, 2>, stride = array<i64: 2, 2>, pad = array<i64: 1, 1, 0, 0>"
    result = program.op("max_pool2d", ["x0"], attributes, shape, "i8")
    attributes = {"kernel": (3, 2), "strides": (2, 2), "padding": (1, 0, 1, 0), "dilations": (1, 1)}
    _check(KernelCall("max_pool2d", (spec(x.shape, "i8"),), spec(shape, "i8"), attributes), [x], program, result)

    clamped = Program([x])
    result = clamped.op("clamp", ["x0"], "min_val = -30 : i8, max_val = 71 : i8", x.shape, "i8")
    low = np.full(x.shape, -128, np.int8)
    specs = (spec(x.shape, "i8"), spec(x.shape, "i8"))
    call = KernelCall("maximum", specs, spec(x.shape, "i8"), {"lo": -30, "hi": 71})
    _check(call, [x, low], clamped, result)


def test_reduce_sum_then_rescale_is_the_mean() -> None:
    rng = np.random.default_rng(9)
    x = codes(rng, (1, 6, 1, 8), "i8").astype(np.int8)
    zx, z = -9, 4
    m, s = multiplier(rng, 6 * 128.0, "i8")
    program = Program([x.astype(np.int32) - zx])
    total = program.op("reduce_sum", ["x0"], "axis = 1 : i32", (1, 1, 1, 8), "i32")
    result = _rescale(program, total, m, s, 0, z, (1, 1, 1, 8))
    attributes = {"axes": (1,), "zx": zx, "m": m, "s": s, "z": z, "lo": -128, "hi": 127}
    call = KernelCall("reduce_sum", (spec(x.shape, "i8"),), spec((1, 1, 1, 8), "i8"), attributes)
    _check(call, [x], program, result)
