"""The mblt dialect as a whole: every op has a layer type and a formula, builds from Python values and reads back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import StringAttr, TensorType, f32, i32, i64
from xdsl.ir import Attribute, Block
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobRefAttr
from qbc.dialects.common import DYNAMIC, as_attribute, as_python, broadcast, window_size
from qbc.dialects.mblt import (
    LAYER_TYPES,
    ArgMaxOp,
    ClipOp,
    Conv2dOp,
    LeakyReluOp,
    Mblt,
    ReshapeOp,
    ResizeOp,
    TransposeConv2dOp,
    layer_type,
    shape_of,
)
from qbc.driver.context import make_context


def argument(shape: list[int], element: Attribute = f32) -> Block:
    """A block with one tensor argument."""
    return Block(arg_types=[TensorType(element, shape)])


def blob(*shape: int) -> BlobRefAttr:
    """A handle without data."""
    return BlobRefAttr(StringAttr("0" * 32), TensorType(f32, list(shape)))


@pytest.mark.parametrize("op_class", list(Mblt.operations), ids=lambda op_class: op_class.name)
def test_every_op_has_a_layer_type_a_formula_and_no_effect(op_class: type) -> None:
    assert op_class.name in LAYER_TYPES
    assert op_class.__doc__
    assert op_class.has_trait(Pure)


def test_layer_types_name_no_other_op() -> None:
    assert set(LAYER_TYPES) == {op_class.name for op_class in Mblt.operations}


def test_a_convolution_is_named_by_its_groups() -> None:
    x = argument([1, 8, 8, 4]).args[0]
    kinds = {1: "Convolution", 2: "GroupConvolution", 4: "DepthwiseConvolution"}
    for groups, kind in kinds.items():
        op = Conv2dOp.of(x, weight=blob(8, 3, 3, 4 // groups), kernel=[3, 3], groups=groups)
        assert layer_type(op) == kind


def test_missing_properties_get_their_defaults_and_floats_their_width() -> None:
    x = argument([2, 3]).args[0]
    assert str(LeakyReluOp.of(x).properties["alpha"]) == "1.000000e-02 : f32"
    assert str(ClipOp.of(x, min=0.0, max=6.0).properties["max"]) == "6.000000e+00 : f64"
    conv = Conv2dOp.of(argument([1, 8, 8, 4]).args[0], weight=blob(8, 3, 3, 4), kernel=[3, 3])
    assert conv.ints("padding") == (0, 0, 0, 0)
    assert conv.value_of("bias") is None
    assert shape_of(conv.results[0]) == (1, 6, 6, 8)


def test_unknown_sizes_go_through_type_inference() -> None:
    x = argument([DYNAMIC, 8, DYNAMIC, 4]).args[0]
    conv = Conv2dOp.of(x, weight=blob(8, 3, 3, 4), kernel=[3, 3])
    conv.verify()
    assert shape_of(conv.results[0]) == (DYNAMIC, 6, DYNAMIC, 8)
    reshape = ReshapeOp.of(x, result_type=TensorType(f32, [DYNAMIC, 32]))
    reshape.verify()


def test_arg_max_gives_i64_or_the_i32_that_is_asked_for() -> None:
    x = argument([2, 3]).args[0]
    assert ArgMaxOp.of(x, axis=1).results[0].type == TensorType(i64, [2])
    asked = ArgMaxOp.of(x, axis=1, result_type=TensorType(i32, [2]))
    asked.verify()
    with pytest.raises(VerifyException, match="expected the result type"):
        ArgMaxOp.of(x, axis=1, result_type=TensorType(f32, [2])).verify()


def test_resize_rounds_down_and_checks_a_given_size() -> None:
    x = argument([1, 7, 9, 3]).args[0]
    assert shape_of(ResizeOp.of(x, scales=[2.0, 0.5]).results[0]) == (1, 14, 4, 3)
    ResizeOp.of(x, scales=[2.0, 0.5], result_type=TensorType(f32, [1, 14, 5, 3])).verify()
    with pytest.raises(VerifyException, match="size 9 scaled by 0.5 does not give 6"):
        ResizeOp.of(x, scales=[2.0, 0.5], result_type=TensorType(f32, [1, 14, 6, 3])).verify()


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 12),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
    ceil_mode=st.booleans(),
)
def test_window_sizes_are_those_of_torch(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> None:
    if dilation * (kernel - 1) + 1 > size + 2 * padding or padding > kernel // 2:
        return
    pool = torch.nn.MaxPool1d(kernel, stride, padding, dilation, ceil_mode=ceil_mode)
    expected = pool(torch.zeros(1, 1, size)).shape[2]
    assert window_size(size, kernel, stride, padding, padding, dilation, ceil_mode=ceil_mode) == expected


@settings(max_examples=40, deadline=None)
@given(
    size=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
    extra=st.integers(0, 1),
)
def test_transposed_convolution_sizes_are_those_of_torch(
    size: tuple[int, int], kernel: tuple[int, int], stride: int, dilation: int, extra: int
) -> None:
    if extra >= max(stride, dilation):
        return
    layer = torch.nn.ConvTranspose2d(2, 3, kernel, stride, 0, extra, dilation=dilation)
    expected = layer(torch.zeros(1, 2, *size)).shape
    op = TransposeConv2dOp.of(
        argument([1, *size, 2]).args[0],
        weight=blob(3, *kernel, 2),
        kernel=kernel,
        strides=[stride, stride],
        dilations=[dilation, dilation],
        output_padding=[extra, extra],
    )
    op.verify()
    assert shape_of(op.results[0]) == (1, expected[2], expected[3], 3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=4))
def test_broadcasting_is_that_of_numpy(pairs: list[tuple[int, int]]) -> None:
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    try:
        expected = np.broadcast_shapes(tuple(left), tuple(right))
    except ValueError:
        with pytest.raises(VerifyException):
            broadcast(left, right)
        return
    assert broadcast(left, right) == expected


PROPERTY = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5).map(tuple),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4).map(tuple),
    st.text(st.characters(codec="ascii", exclude_characters='"\\'), max_size=8),
)


@settings(max_examples=80, deadline=None)
@given(value=PROPERTY)
def test_properties_keep_their_value_through_python_and_text(value: object) -> None:
    attribute = as_attribute(value)
    assert as_python(attribute) == value
    op = LeakyReluOp.of(argument([2, 3]).args[0])
    op.attributes["extra"] = attribute
    op.operands[0].name_hint = "x"
    text = f"func.func @f(%x: tensor<2x3xf32>) {{ {op!s}\n func.return }}"
    parsed = Parser(make_context(), text).parse_module()
    found = next(inner for inner in parsed.walk() if inner.name == op.name)
    assert found.attributes["extra"] == attribute
