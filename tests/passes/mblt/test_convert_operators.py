"""Each ONNX operator with an mblt form gives the values of onnxruntime, before and after sinking transposes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.conversion import Array, check_conversion, convert, execute, single_node

RANDOM = np.random.default_rng(7)


def normal(*shape: int) -> Array:
    """Standard normal float32 values."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> Array:
    """Values in 0.1..2."""
    return RANDOM.uniform(0.1, 2.0, shape).astype(np.float32)


def ints(*values: int) -> Array:
    """An int64 vector."""
    return np.array(values, np.int64)


def scalar(value: float) -> Array:
    """A float32 scalar."""
    return np.array(value, np.float32)


MAP = (1, 4, 7, 9)
Case = tuple[str, list[Array], list[Array | None], dict[str, Any]]

CONVOLUTION: list[Case] = [
    ("Conv", [normal(*MAP)], [normal(6, 4, 3, 3), normal(6)], {"pads": [1, 1, 1, 1]}),
    ("Conv", [normal(2, 4, 7, 9)], [normal(6, 4, 3, 2)], {"pads": [0, 1, 2, 0], "strides": [2, 1]}),
    ("Conv", [normal(*MAP)], [normal(8, 1, 3, 3), normal(8)], {"group": 4, "dilations": [2, 2]}),
    ("Conv", [normal(*MAP)], [normal(6, 2, 3, 3)], {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ("Conv", [normal(*MAP)], [normal(6, 4, 2, 4)], {"auto_pad": "SAME_LOWER"}),
    ("Conv", [normal(*MAP)], [normal(6, 4, 2, 4)], {"auto_pad": "VALID"}),
    ("Conv", [normal(1, 4, 11)], [normal(6, 4, 3), normal(6)], {"pads": [2, 0], "strides": [2]}),
    ("ConvTranspose", [normal(*MAP)], [normal(4, 6, 2, 2), normal(6)], {"strides": [2, 2]}),
    ("ConvTranspose", [normal(*MAP)], [normal(4, 3, 3, 3)], {"group": 2, "pads": [1, 0, 1, 2], "strides": [2, 3]}),
    ("ConvTranspose", [normal(*MAP)], [normal(4, 3, 3, 3)], {"strides": [2, 2], "output_padding": [1, 0]}),
    ("ConvTranspose", [normal(*MAP)], [normal(4, 3, 3, 3)], {"strides": [2, 2], "output_shape": [14, 20]}),
    ("ConvTranspose", [normal(*MAP)], [normal(4, 3, 3, 3)], {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ("ConvTranspose", [normal(*MAP)], [normal(4, 3, 3, 3)], {"strides": [2, 2], "dilations": [2, 1]}),
    ("ConvTranspose", [normal(1, 4, 11)], [normal(4, 6, 4)], {"strides": [2], "pads": [1, 1]}),
]

POOLING: list[Case] = [
    ("MaxPool", [normal(*MAP)], [], {"kernel_shape": [2, 3], "strides": [2, 2]}),
    ("MaxPool", [normal(*MAP)], [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ("MaxPool", [normal(*MAP)], [], {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", [normal(*MAP)], [], {"kernel_shape": [3, 3], "dilations": [2, 2]}),
    ("MaxPool", [normal(*MAP)], [], {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ("MaxPool", [normal(1, 4, 11)], [], {"kernel_shape": [3], "strides": [2]}),
    ("AveragePool", [normal(*MAP)], [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ("AveragePool", [normal(*MAP)], [], {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "count_include_pad": 1}),
    ("AveragePool", [normal(*MAP)], [], {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("AveragePool", [normal(*MAP)], [], {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ("AveragePool", [normal(1, 4, 11)], [], {"kernel_shape": [4], "strides": [3]}),
    ("GlobalAveragePool", [normal(*MAP)], [], {}),
    ("GlobalMaxPool", [normal(*MAP)], [], {}),
]

PRODUCTS: list[Case] = [
    ("Gemm", [normal(3, 5)], [normal(5, 4), normal(4)], {}),
    ("Gemm", [normal(3, 5)], [normal(4, 5), normal(1, 4)], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    ("Gemm", [normal(5, 3)], [normal(5, 4), scalar(1.5)], {"transA": 1}),
    ("Gemm", [normal(3, 5)], [normal(5, 4), normal(3, 1)], {"beta": 0.5}),
    ("Gemm", [normal(3, 5), normal(4, 5)], [normal(3, 4)], {"transB": 1, "alpha": 2.0}),
    ("Gemm", [normal(3, 5)], [normal(5, 4)], {}),
    ("MatMul", [normal(2, 3, 5)], [normal(5, 4)], {}),
    ("MatMul", [normal(5)], [normal(5, 4)], {}),
    ("MatMul", [normal(2, 3, 5)], [normal(5)], {}),
    ("MatMul", [normal(2, 3, 5)], [normal(1, 5, 4)], {}),
    ("MatMul", [normal(2, 3, 5)], [normal(2, 5, 4)], {}),
    ("MatMul", [normal(2, 3, 5), normal(2, 5, 4)], [], {}),
    ("MatMul", [normal(3, 5), normal(2, 5, 4)], [], {}),
    ("MatMul", [normal(5), normal(2, 5, 4)], [], {}),
    ("MatMul", [normal(2, 3, 5), normal(5)], [], {}),
]

ELEMENTWISE: list[Case] = [
    *[(name, [normal(*MAP), normal(*MAP)], [], {}) for name in ("Add", "Sub", "Mul", "Div", "Max", "Min")],
    *[(name, [normal(*MAP)], [normal(4, 1, 1)], {}) for name in ("Add", "Sub", "Mul", "Max")],
    ("Add", [normal(9), normal(*MAP)], [], {}),
    ("Sum", [normal(*MAP), normal(9)], [scalar(2.0)], {}),
    ("Mean", [normal(*MAP), normal(9)], [scalar(2.0)], {}),
    ("Max", [normal(*MAP)], [], {}),
    *[("Pow", [positive(2, 3)], [scalar(value)], {}) for value in (2.0, 0.5, -1.0, -0.5, 1.0, 3.0)],
    ("Pow", [positive(2, 3)], [ints(2, 3, 1)], {}),
    ("Pow", [positive(2, 3), normal(2, 3)], [], {}),
    *[(name, [normal(2, 3), normal(3)], [], {}) for name in ("Greater", "Less", "GreaterOrEqual", "LessOrEqual")],
    ("Equal", [np.array([1, 2, 3], np.int64)], [np.array([1, 0, 3], np.int64)], {}),
    *[(name, [normal(4) > 0, normal(4) > 0], [], {}) for name in ("And", "Or", "Xor")],
    ("Not", [normal(4) > 0], [], {}),
    ("Where", [normal(2, 3) > 0, normal(2, 3), normal(3)], [], {}),
]

FUNCTIONS = ["Relu", "Sigmoid", "HardSwish", "Tanh", "Exp", "Abs", "Neg", "Erf", "Softplus", "Mish", "Sin", "Cos"]
FUNCTIONS += ["Floor", "Ceil", "Identity"]
UNARY: list[Case] = [
    *[(name, [normal(2, 3, 4)], [], {}) for name in FUNCTIONS],
    *[(name, [positive(2, 3, 4)], [], {}) for name in ("Log", "Sqrt", "Reciprocal")],
    ("LeakyRelu", [normal(2, 3)], [], {"alpha": 0.3}),
    ("Elu", [normal(2, 3)], [], {"alpha": 1.3}),
    ("Selu", [normal(2, 3)], [], {}),
    ("Celu", [normal(2, 3)], [], {"alpha": 0.7}),
    ("Softsign", [normal(2, 3)], [], {}),
    ("ThresholdedRelu", [normal(2, 3)], [], {"alpha": 0.4}),
    ("HardSigmoid", [normal(2, 3)], [], {"alpha": 0.3, "beta": 0.4}),
    ("Gelu", [normal(2, 3)], [], {}),
    ("Gelu", [normal(2, 3)], [], {"approximate": "tanh"}),
    ("Clip", [normal(2, 3)], [scalar(-0.5), scalar(0.5)], {}),
    ("Clip", [normal(2, 3)], [None, scalar(0.5)], {}),
    ("Clip", [normal(2, 3), scalar(-0.2)], [], {}),
    ("Clip", [np.arange(6, dtype=np.int64)], [np.array(2, np.int64), np.array(4, np.int64)], {}),
    ("PRelu", [normal(*MAP)], [normal(4, 1, 1)], {}),
    ("PRelu", [normal(*MAP)], [normal(1)], {}),
    ("PRelu", [normal(2, 3)], [normal(3)], {}),
    ("PRelu", [normal(*MAP)], [normal(4, 1, 9)], {}),
    ("PRelu", [normal(2, 3), normal(3)], [], {}),
    ("Dropout", [normal(2, 3)], [], {}),
]

NORMALIZATION: list[Case] = [
    ("BatchNormalization", [normal(*MAP)], [normal(4), normal(4), normal(4), positive(4)], {"epsilon": 1e-3}),
    ("BatchNormalization", [normal(3, 4)], [normal(4), normal(4), normal(4), positive(4)], {}),
    ("BatchNormalization", [normal(2, 4, 5)], [normal(4), normal(4), normal(4), positive(4)], {}),
    ("InstanceNormalization", [normal(*MAP)], [normal(4), normal(4)], {"epsilon": 1e-3}),
    ("LayerNormalization", [normal(2, 3, 8)], [normal(8), normal(8)], {"axis": -1}),
    ("LayerNormalization", [normal(2, 3, 8)], [normal(3, 8)], {"axis": 1, "epsilon": 1e-3}),
    ("Softmax", [normal(2, 3, 4)], [], {"axis": 1}),
    ("Softmax", [normal(2, 3, 4)], [], {}),
    ("LogSoftmax", [normal(2, 3, 4)], [], {"axis": 1}),
    ("LpNormalization", [normal(2, 3, 4)], [], {"axis": 1}),
    ("LRN", [normal(1, 7, 4, 3)], [], {"size": 3, "alpha": 0.5, "beta": 0.75, "bias": 1.5}),
    ("LRN", [normal(1, 7, 4, 3)], [], {"size": 5}),
    ("LpNormalization", [normal(2, 3, 4)], [], {"axis": -1, "p": 1}),
]

REDUCTIONS: list[Case] = [
    *[
        (name, [normal(2, 3, 4)], [ints(-1, 1)], {"keepdims": keep})
        for name in ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"]
        for keep in (0, 1)
    ],
    ("ReduceMean", [normal(2, 3, 4)], [], {}),
    ("ReduceMean", [normal(2, 3, 4)], [], {"noop_with_empty_axes": 1}),
    ("ArgMax", [normal(2, 3, 4)], [], {"axis": -2, "keepdims": 0}),
    ("ArgMin", [normal(2, 3, 4)], [], {"axis": 1}),
]

SHAPE: list[Case] = [
    ("Reshape", [normal(2, 3, 4)], [ints(0, -1)], {}),
    ("Flatten", [normal(*MAP)], [], {"axis": -2}),
    ("Squeeze", [normal(2, 1, 4)], [ints(1)], {}),
    ("Unsqueeze", [normal(2, 4)], [ints(-1, 0)], {}),
    ("Transpose", [normal(2, 3, 4)], [], {}),
    ("Transpose", [normal(2, 3, 4)], [], {"perm": [0, 2, 1]}),
    ("Concat", [normal(2, 3), normal(2, 2)], [normal(2, 4)], {"axis": -1}),
    ("Slice", [normal(5, 6)], [ints(1, -4), ints(4, 100), ints(0, 1), ints(2, 1)], {}),
    ("Slice", [normal(5, 6)], [ints(-1), ints(-100), ints(1), ints(-2)], {}),
    ("Slice", [normal(5, 6)], [ints(1), ints(4)], {}),
    ("Gather", [normal(5, 6)], [ints(0, -1, 3)], {"axis": 1}),
    ("Gather", [normal(5, 6)], [np.array(-2, np.int64)], {"axis": 0}),
    ("Gather", [normal(5, 6)], [np.array([[1], [4]], np.int64)], {"axis": 0}),
    ("Gather", [normal(5, 6), np.array([[1, 0], [4, 2]], np.int64)], [], {"axis": 0}),
    ("Expand", [normal(3, 1)], [ints(2, 3, 4)], {}),
    ("Tile", [normal(3, 2)], [ints(2, 3)], {}),
    ("Cast", [normal(3, 2) * 5], [], {"to": 7}),
    ("Cast", [np.arange(4, dtype=np.int64)], [], {"to": 1}),
    ("Pad", [normal(3, 4)], [ints(1, 0, 2, 3)], {}),
    ("Pad", [normal(3, 4)], [ints(1, 2), scalar(1.5), ints(-1)], {}),
    ("Pad", [normal(3, 4)], [ints(1, -1, -1, 2)], {}),
    ("Pad", [normal(3, 4)], [ints(1, 2, 2, 1)], {"mode": "reflect"}),
    ("Pad", [normal(3, 4)], [ints(1, 0, 2, 3)], {"mode": "edge"}),
    ("DepthToSpace", [normal(1, 8, 2, 3)], [], {"blocksize": 2}),
    ("DepthToSpace", [normal(1, 8, 2, 3)], [], {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", [normal(1, 2, 4, 6)], [], {"blocksize": 2}),
]


def resize(mode: str, coordinates: str, scales: list[float] | None, sizes: list[int] | None, **more: Any) -> Case:
    """A Resize case."""
    constants: list[Array | None] = [None, None if scales is None else np.array(scales, np.float32)]
    if sizes is not None:
        constants.append(np.array(sizes, np.int64))
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **more}
    return "Resize", [normal(1, 2, 5, 6)], constants, attributes


RESIZE: list[Case] = [
    *[
        resize(mode, coordinates, [1, 1, 2, 1.5], None)
        for mode in ("nearest", "linear")
        for coordinates in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
    ],
    *[
        resize("nearest", "asymmetric", [1, 1, 1.6, 0.7], None, nearest_mode=nearest)
        for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    ],
    resize("linear", "half_pixel", None, [1, 2, 3, 11]),
    resize("linear", "half_pixel_symmetric", [1, 1, 2, 2], None),
    resize("nearest", "half_pixel", [2, 3], None, axes=[2, 3]),
]

CASES = [
    *CONVOLUTION,
    *POOLING,
    *PRODUCTS,
    *ELEMENTWISE,
    *UNARY,
    *NORMALIZATION,
    *REDUCTIONS,
    *SHAPE,
    *RESIZE,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{sorted(case[3])}")
def test_operator_gives_the_values_of_onnxruntime(case: Case) -> None:
    operator, inputs, constants, attributes = case
    model, feed = single_node(operator, inputs, constants, **attributes)
    check_conversion(model, feed)


def test_split_gives_one_slice_an_output() -> None:
    for constants, attributes in (([ints(1, 3)], {"axis": 1}), ([], {"axis": -1, "num_outputs": 2})):
        model, feed = single_node("Split", [normal(2, 4)], constants, outputs=2, **attributes)
        function = check_conversion(model, feed)
        assert {op.name for op in function.body.block.ops} == {"mblt.slice", "func.return"}


def test_group_and_rms_normalization_match_the_formula() -> None:
    data = normal(2, 6, 4, 5)
    constants: list[Array | None] = [normal(6), normal(6)]
    options: dict[str, Any] = {"opset": 21, "result_shape": data.shape, "num_groups": 3}
    model, feed = single_node("GroupNormalization", [data], constants, **options)
    check_conversion(model, feed)
    data, scale = normal(2, 3, 8), positive(8)
    model, feed = single_node("RMSNormalization", [data], [scale], opset=23, result_shape=data.shape, axis=-1)
    _, function, context = convert(model)
    expected = data / np.sqrt(np.mean(data**2, -1, keepdims=True) + 1e-5) * scale
    np.testing.assert_allclose(execute(function, context, feed)["y0"], expected, rtol=1e-5, atol=1e-5)


def test_swish_with_a_factor() -> None:
    data = normal(3, 4)
    for alpha in (1.0, 1.7):
        model, feed = single_node("Swish", [data], opset=24, alpha=alpha)
        _, function, context = convert(model)
        expected = data / (1 + np.exp(-alpha * data))
        np.testing.assert_allclose(execute(function, context, feed)["y0"], expected, rtol=1e-5, atol=1e-6)
