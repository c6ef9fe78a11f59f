"""Shapes in messages."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, f32, i64

from qbc.dialects.common.tensor_text import dims_text, source_dims, tensor_text


def test_shapes_and_types() -> None:
    assert dims_text((1, 3, -1, 224)) == "1x3x?x224"
    assert dims_text(()) == "a number"
    assert tensor_text(TensorType(f32, [1, DYNAMIC_INDEX])) == "1x? f32"
    assert tensor_text(TensorType(i64, [])) == "a number i64"
    assert tensor_text(IndexType()) == "index"


@pytest.mark.parametrize(
    "layout, dims, source",
    [
        ("nchw", (1, 8, 9, 3), (1, 3, 8, 9)),
        ("ncw", (1, 8, 3), (1, 3, 8)),
        ("ncdhw", (1, 7, 8, 9, 3), (1, 3, 7, 8, 9)),
        (None, (1, 8, 9, 3), (1, 8, 9, 3)),
    ],
)
def test_layouts(layout: str | None, dims: tuple[int, ...], source: tuple[int, ...]) -> None:
    assert source_dims(TensorType(f32, dims), layout) == source
