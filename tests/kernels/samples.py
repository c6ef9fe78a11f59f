"""One small valid call of every kind, for tests that go over all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from qbc.kernels import KernelCall, TensorSpec

WINDOW = {"strides": (1, 1), "padding": (1, 1, 1, 1), "dilations": (1, 1)}
RESCALE = {"m": 1 << 30, "s": 33}
RANGE = {"z": 3, "lo": -120, "hi": 120}


def spec(*shape: int, dtype: str = "i8") -> TensorSpec:
    """Shorthand of a tensor spec."""
    return TensorSpec(shape, dtype)


def call(kind: str, inputs: list[TensorSpec], output: TensorSpec, *attributes: dict[str, Any], **constants: Any) -> Any:
    """Shorthand of a call."""
    merged = {key: value for part in attributes for key, value in part.items()}
    return KernelCall(kind, tuple(inputs), output, merged, constants)


def weighted(channels: int) -> dict[str, Any]:
    """bias, multiplier and shift of a weighted sum."""
    return {
        "bias": np.arange(channels, dtype=np.int64) * 100,
        "multiplier": np.full(channels, (1 << 30) + 9, np.int64),
        "shift": np.full(channels, 40, np.int64),
    }


def all_samples() -> dict[str, KernelCall]:
    """Return kind (with a suffix for variants) -> call."""
    rng = np.random.default_rng(0)
    image, vector = spec(1, 5, 6, 4), spec(2, 3, 10)
    w = rng.integers(-127, 128, (8, 3, 3, 4)).astype(np.int8)
    single = rng.integers(-127, 128, (4, 3, 3, 1)).astype(np.int8)
    dense = rng.integers(-127, 128, (7, 10)).astype(np.int8)
    add = {"za": 1, "zb": -2, "ma": 1 << 30, "mb": -(1 << 29), "s": 31}
    fused = {f"add_{key}": value for key, value in (add | RANGE).items()}
    table = rng.integers(-128, 128, 256).astype(np.int8)
    zx = {"zx": -5}
    full = RANGE | zx
    wide = {"z": 0, "lo": -32768, "hi": 32639}
    maps = {name: np.array([0, 1, 2], np.int32) for name in ("h0", "h1", "w0", "w1")}
    weights = {name: np.array([0, 1024, 2048], np.int32) for name in ("hw", "ww")}
    samples = {
        "conv2d": call("conv2d", [image], spec(1, 5, 6, 8), WINDOW, full, {"groups": 1}, weight=w, **weighted(8)),
        "conv2d grouped": call(
            "conv2d", [image], spec(1, 5, 6, 8), WINDOW, full, {"groups": 2}, weight=w[..., :2].copy(), **weighted(8)
        ),
        "conv2d table": call("conv2d", [image], spec(1, 5, 6, 8), WINDOW, full, weight=w, table=table, **weighted(8)),
        "conv2d add": call(
            "conv2d", [image, spec(1, 5, 6, 8)], spec(1, 5, 6, 8), WINDOW, full, fused, weight=w, **weighted(8)
        ),
        "conv2d i16": call(
            "conv2d",
            [spec(1, 5, 6, 4, dtype="i16")],
            spec(1, 5, 6, 8, dtype="i16"),
            WINDOW,
            wide,
            {"zx": 0},
            weight=w,
            **(weighted(8) | {"shift": np.full(8, 46)}),
        ),
        "conv2d hi": call(
            "conv2d",
            [spec(1, 5, 6, 4, dtype="i16")],
            spec(1, 5, 6, 8, dtype="i32"),
            WINDOW,
            {"zx": 0, "plane": "hi"},
            weight=w,
        ),
        "conv2d lo": call(
            "conv2d",
            [spec(1, 5, 6, 4, dtype="i16"), spec(1, 5, 6, 8, dtype="i32")],
            spec(1, 5, 6, 8, dtype="i16"),
            WINDOW,
            wide,
            {"zx": 0, "plane": "lo"},
            weight=w,
            **weighted(8),
        ),
        "depthwise_conv2d": call(
            "depthwise_conv2d", [image], spec(1, 5, 6, 4), WINDOW, full, {"groups": 4}, weight=single, **weighted(4)
        ),
        "transpose_conv2d": call(
            "transpose_conv2d",
            [image],
            spec(1, 9, 11, 8),
            WINDOW | {"strides": (2, 2)},
            full,
            {"groups": 1},
            weight=w,
            **weighted(8),
        ),
        "linear": call("linear", [vector], spec(2, 3, 7), full, weight=dense, **weighted(7)),
        "matmul": call("matmul", [vector, spec(2, 10, 4)], spec(2, 3, 4), {"za": 1, "zb": 2}, RESCALE, RANGE),
        "add": call("add", [vector, spec(10)], vector, add, RANGE),
        "sub": call("sub", [vector, vector], vector, add, RANGE),
        "mul": call("mul", [vector, spec(2, 1, 1)], vector, {"za": 1, "zb": 2}, RESCALE, RANGE),
        "div": call("div", [vector, vector], vector, {"za": 1, "zb": 2, "p": 1 << 30, "t": 30}, RANGE),
        "arg_max": call("arg_max", [vector], spec(2, 3, dtype="i32"), {"axis": -1}),
        "lut": call("lut", [vector], vector, table=table),
        "lut16": call(
            "lut16",
            [spec(4, 5, dtype="i16")],
            spec(4, 5),
            {"lo": -128, "hi": 127},
            table=rng.integers(-200, 200, 513).astype(np.int32),
        ),
        "mantissa_lut": call(
            "mantissa_lut",
            [spec(40, dtype="i16")],
            spec(40, dtype="i16"),
            {"function": "sqrt", "m": 1 << 30, "s": 45},
            wide,
            table=np.full((2, 257), 1 << 29, np.int64),
        ),
        "mantissa_lut log": call(
            "mantissa_lut",
            [spec(40, dtype="i16")],
            spec(40, dtype="i16"),
            {"function": "log", "m": 1 << 30, "s": 45, "c1": 11629080, "c2": -104661720},
            wide,
            table=np.arange(257, dtype=np.int64) << 15,
        ),
        "softmax": call("softmax", [vector], vector, {"k": 1 << 20, "q": 255 << 16, "g": 16, "z": -128}),
        "log_softmax": call(
            "log_softmax",
            [vector],
            spec(2, 3, 10, dtype="i16"),
            {"k": 1 << 20},
            RESCALE,
            wide,
            table=np.arange(257, dtype=np.int64) << 16,
        ),
        "layer_norm": call(
            "layer_norm",
            [vector],
            vector,
            full,
            {"n": 10, "eps": 7, "t": 36, "rms": 0},
            gamma=np.full(10, 1 << 24, np.int64),
            beta=np.full(10, 1 << 40, np.int64),
        ),
        "max_pool2d": call("max_pool2d", [image], spec(1, 5, 6, 4), WINDOW, {"kernel": (3, 3)}),
        "avg_pool2d": call(
            "avg_pool2d",
            [image],
            spec(1, 5, 6, 4),
            WINDOW,
            full,
            {"kernel": (3, 3), "count_include_pad": 0},
            counts=np.array([4, 6, 9]),
            multiplier=np.array([1 << 30, 3 << 28, 1 << 29]),
            shift=np.array([32, 32, 32]),
        ),
        "reduce_sum": call("reduce_sum", [image], spec(1, 4), {"axes": (1, 2)}, RESCALE, full),
        "reduce_l2": call("reduce_l2", [image], spec(1, 1, 1, 4), {"axes": (1, 2)}, RESCALE, full),
        "reshape": call("reshape", [image], spec(30, 4)),
        "transpose": call("transpose", [image], spec(4, 6, 5, 1), {"permutation": (3, 2, 1, 0)}),
        "slice": call("slice", [image], spec(1, 2, 2, 4), {"starts": (0, 1, 1, 0), "steps": (1, 2, 3, 1)}),
        "concat": call("concat", [image, spec(1, 5, 2, 4)], spec(1, 5, 8, 4), {"axis": 2}),
        "expand": call("expand", [spec(1, 4)], spec(3, 5, 4)),
        "tile": call("tile", [spec(2, 4)], spec(4, 12), {"repeats": (2, 3)}),
        "gather": call("gather", [image, spec(3, dtype="i32")], spec(1, 5, 3, 4), {"axis": 2}),
        "pad": call("pad", [image], spec(1, 8, 7, 4), {"before": (0, 1, 0, 0), "after": (0, 2, 1, 0), "value": -9}),
        "resize_nearest": call("resize_nearest", [image], spec(1, 3, 3, 4), index_h=maps["h0"], index_w=maps["w0"]),
        "resize_linear": call(
            "resize_linear", [image], spec(1, 3, 3, 4), full, {"m": 1 << 30, "s": 52}, **maps, **weights
        ),
        "requantize": call("requantize", [vector], vector, RESCALE, full),
        "quantize": call("quantize", [spec(6, dtype="f32")], spec(6), {"z": 4}, scale=np.array([0.1], np.float32)),
        "dequantize": call("dequantize", [spec(6)], spec(6, dtype="f32"), {"zx": 4}, scale=np.array([0.1], np.float32)),
        "logical_not": call("logical_not", [vector], vector),
        "where": call("where", [vector, vector, vector], vector),
    }
    for kind in ("maximum", "minimum", "equal", "greater", "less", "logical_and", "logical_or"):
        samples[kind] = call(kind, [vector, spec(10)], vector)
    for kind in ("reduce_max", "reduce_min"):
        samples[kind] = call(kind, [image], spec(1, 5, 6), {"axes": (3,)})
    return samples


def stored_inputs(sample: KernelCall, seed: int = 0) -> list[np.ndarray]:
    """Random arrays for the inputs of a call; indices stay in range."""
    rng = np.random.default_rng(seed)
    arrays = []
    for tensor in sample.inputs:
        if tensor.dtype == "f32":
            arrays.append(rng.standard_normal(tensor.shape).astype(np.float32))
        elif tensor.dtype == "i32":
            arrays.append(rng.integers(-1, 2, tensor.shape).astype(np.int32))
        elif tensor.dtype == "i16":
            arrays.append(rng.integers(-32768, 32640, tensor.shape).astype(np.int16))
        else:
            arrays.append(rng.integers(0, 256, tensor.shape).astype(np.uint8))
    return arrays
