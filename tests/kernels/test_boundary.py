"""Storage bytes, and float32 quantize / dequantize against a scalar reference."""

import numpy as np
import pytest

from qbc.errors import QBCompilerError
from qbc.kernels.storage import dequantize, load_codes, quantize_to_codes, store_codes, to_bytes, to_codes
from tests.kernels.support import RANGES, execute


def test_bytes_round_trip():
    every = np.arange(-128, 128)
    assert to_bytes(every).tolist() == list(range(256))
    assert to_bytes(every.astype(np.int8)).tolist() == list(range(256))
    assert to_codes(to_bytes(every)).tolist() == every.tolist()
    assert load_codes(store_codes(np.array([-32768, 32639]), "i16")).tolist() == [-32768, 32639]


def reference(value, scale, z, dtype):
    low, high = RANGES[dtype]
    if np.isnan(value):
        return z
    with np.errstate(over="ignore"):
        steps = np.float32(value) / np.float32(scale)
    if np.isinf(steps):
        return high if steps > 0 else low
    exact = round(float(steps))  # Python rounds halves to even, exactly
    return max(low, min(high, exact + z))


@pytest.mark.parametrize("dtype", ["i8", "i16"])
@pytest.mark.parametrize(("scale", "z"), [(0.1, 0), (0.5, -128), (1.0, 127), (1e-30, 3), (0.003921569, -128)])
def test_quantize(dtype, scale, z):
    rng = np.random.default_rng(1)
    span = scale * (RANGES[dtype][1] - RANGES[dtype][0])
    x = (rng.standard_normal(500) * span).astype(np.float32)
    ties = (np.arange(-6, 7) * 0.5 * scale).astype(np.float32)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3.4e38, -3.4e38], np.float32)
    x = np.concatenate([x, ties, special])
    expected = [reference(value, scale, z, dtype) for value in x]
    np.testing.assert_array_equal(quantize_to_codes(x, scale, z, dtype), expected)
    constants = {"scale": np.array([scale], np.float32)}
    stored = np.empty(x.shape, "uint8" if dtype == "i8" else "int16")
    from qbc.kernels import KernelCall, TensorSpec, prepare

    call = KernelCall("quantize", (TensorSpec(x.shape, "f32"),), TensorSpec(x.shape, dtype), {"z": z}, constants)
    prepare(call)(x, stored)
    np.testing.assert_array_equal(load_codes(stored), expected)


@pytest.mark.parametrize("dtype", ["i8", "i16"])
def test_dequantize(dtype):
    low, high = RANGES[dtype]
    codes = np.arange(low, high + 1)
    scale, z = 0.0173, -7
    expected = np.array([np.float32(int(q) - z) * np.float32(scale) for q in codes], np.float32)
    np.testing.assert_array_equal(dequantize(codes.astype(np.int16), scale, z), expected)
    got = execute(
        "dequantize", [(codes, dtype)], (codes.shape, "f32"), {"zx": z}, {"scale": np.array([scale], np.float32)}
    )
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["i8", "i16"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 4, 5, 3)])
def test_scales_of_channels_belong_to_the_last_axis(dtype, shape):
    rng = np.random.default_rng(5)
    codes, z = rng.integers(*RANGES[dtype], shape), 7 if dtype == "i8" else 0
    scales = np.array([0.1, 3.0, 1e-20], np.float32)
    expected = np.empty(shape, np.float32)
    for index in np.ndindex(*shape):
        expected[index] = np.float32(int(codes[index]) - z) * scales[index[-1]]
    assert np.array_equal(dequantize(codes, scales, z), expected)
    result = execute("dequantize", [(codes, dtype)], (shape, "f32"), {"zx": z}, {"scale": scales})
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("scales", [[0.1, 0.2], [0.1, 0.2, -1.0], [0.1, 0.2, np.inf], [[0.1, 0.2, 0.3]]])
def test_wrong_scales_of_channels_are_refused(scales):
    constants = {"scale": np.array(scales, np.float32)}
    with pytest.raises(QBCompilerError, match="scale"):
        execute("dequantize", [(np.zeros((2, 3), int), "i8")], ((2, 3), "f32"), {"zx": 0}, constants)
