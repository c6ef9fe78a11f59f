"""Binding input shapes before anything is inferred from them."""

from __future__ import annotations

from typing import Any

from qbc.errors import ArgumentError, QBCompilerError


def clean_dimensions(model: Any) -> None:
    """Make negative and nameless input dimensions unknown (some exporters write -1 or `?`)."""
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.HasField("dim_value") and dim.dim_value < 0:
                dim.ClearField("dim_value")
            if dim.HasField("dim_param") and dim.dim_param in ("", "?"):
                dim.ClearField("dim_param")


def bind_shapes(model: Any, shapes: dict[str, tuple[int, ...]]) -> bool:
    """Write input shapes into the graph inputs; a named dimension is bound wherever its name occurs in an input.

    Returns whether anything was bound. Raises ARGUMENT_ERROR for an unknown input or a bad dimension and SHAPE_ERROR
    for a rank or a fixed dimension that does not fit.
    """
    inputs = {value.name: value for value in model.graph.input}
    for name, shape in shapes.items():
        if name not in inputs:
            raise ArgumentError(f"the model has no input {name!r}", hint=f"use one of: {', '.join(inputs) or '(none)'}")
        if any(not isinstance(dim, int) or dim < 0 for dim in shape):
            raise ArgumentError(f"the shape {list(shape)} of input {name!r} is not a list of non-negative integers")
    named: dict[str, int] = {}
    for name, shape in shapes.items():
        _bind(inputs[name], shape, named)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param in named and dim.dim_param:
                dim.dim_value = named[dim.dim_param]
    return bool(shapes)


def _bind(value: Any, shape: tuple[int, ...], named: dict[str, int]) -> None:
    if not value.type.HasField("tensor_type"):
        raise ArgumentError(f"the input {value.name!r} is not a tensor; it cannot be given a shape")
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        for size in shape:
            tensor.shape.dim.add().dim_value = size
        return
    if len(tensor.shape.dim) != len(shape):
        raise QBCompilerError(
            f"the input {value.name!r} has rank {len(tensor.shape.dim)}, the shape {list(shape)} has rank {len(shape)}",
            code="SHAPE_ERROR",
        )
    for dim, size in zip(tensor.shape.dim, shape, strict=True):
        _bind_dimension(value.name, dim, size, named)


def _bind_dimension(owner: str, dim: Any, size: int, named: dict[str, int]) -> None:
    if dim.HasField("dim_value"):
        if dim.dim_value != size:
            raise QBCompilerError(
                f"a dimension of input {owner!r} is {dim.dim_value} in the model, {size} was given", code="SHAPE_ERROR"
            )
        return
    label = dim.dim_param
    if label and named.setdefault(label, size) != size:
        raise QBCompilerError(
            f"the dimension {label!r} is bound to {named[label]} and to {size}",
            code="SHAPE_ERROR",
            hint="give inputs that share a dimension the same size",
        )
    dim.dim_value = size
