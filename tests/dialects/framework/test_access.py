"""Reading operators by their ONNX names."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.test import TestOp

from qbc.dialects.framework import (
    ConstantOp,
    attribute,
    build,
    constant_of,
    operand,
    operands_by_position,
    operator,
    read_constant,
    results_by_position,
    tensor_attr,
)
from qbc.dialects.framework.ops import ConvOp
from qbc.store import BlobStore

KIND = TensorType(f32, [1, 2])
A, B, C = TestOp(result_types=[KIND] * 3).results


def test_optional_operands_by_name() -> None:
    resize = build("Resize", [A, None, B], [KIND], {"mode": "linear"})
    assert operand(resize, "X") is A
    assert operand(resize, "roi") is None
    assert operand(resize, "scales") is B
    assert operand(resize, "sizes") is None
    assert operands_by_position(resize) == [A, None, B]
    with pytest.raises(KeyError, match="no input 'bias'"):
        operand(resize, "bias")


def test_single_optional_operand() -> None:
    assert operand(build("Conv", [A, B], [KIND]), "B") is None
    conv = build("Conv", [A, B, C], [KIND])
    assert operand(conv, "B") is C
    assert isinstance(conv, ConvOp)
    assert operator(conv) == "Conv"


def test_optional_results() -> None:
    lstm = build("LSTM", [A, B, C], [None, KIND], {"hidden_size": 2})
    assert [result is not None for result in results_by_position(lstm)] == [False, True]


def test_attributes_with_schema_defaults() -> None:
    conv = build("Conv", [A, B], [KIND], {"pads": [1, 2, 3, 4]})
    assert attribute(conv, "pads") == (1, 2, 3, 4)
    assert attribute(conv, "auto_pad") == "NOTSET"
    assert attribute(conv, "group") == 1
    assert attribute(conv, "strides") is None
    assert attribute(build("HardSigmoid", [A], [KIND]), "alpha") == pytest.approx(0.2)
    assert attribute(build("Elu", [A], [KIND], {"alpha": 2}), "alpha") == 2.0


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "float16", "bool", "uint8", "int8", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 2), (100,)])
def test_constants(dtype: str, shape: tuple[int, ...]) -> None:
    store = BlobStore()
    data = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    op = ConstantOp.of(tensor_attr(store, np.asarray(data)))
    op.verify()
    found = read_constant(store, op.output)
    assert found is not None and found.dtype == data.dtype and found.shape == shape
    assert np.array_equal(found, data)
    assert constant_of(A) is None and read_constant(store, A) is None
