"""Tensors in messages, as users write shapes: `1x3x?x?`, with `?` for a dimension that is open."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ShapedType, TensorType
from xdsl.ir import Attribute


def dims_text(dims: Sequence[int]) -> str:
    """Return a shape as `1x3x224x224`; negative sizes are open, a shape without dimensions is `a number`."""
    return "x".join("?" if size < 0 else str(size) for size in dims) or "a number"


def tensor_text(kind: Attribute) -> str:
    """Return shape and element type of a tensor as `1x3x?x? f32`; other types as IR has them."""
    if not isinstance(kind, TensorType):
        return str(kind)
    return f"{dims_text(kind.get_shape())} {kind.element_type}"


def source_dims(kind: ShapedType, layout: str | None) -> tuple[int, ...]:
    """Return the shape of a graph input in its layout in the source model: `mblt.source_layout` moved its channels."""
    dims = tuple(kind.get_shape())
    return dims if layout is None or len(dims) < 3 else (dims[0], dims[-1], *dims[1:-1])
