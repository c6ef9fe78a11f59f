"""ONNX files in pieces: constants go from their arrays to the file, never through a message that holds all of them.

A protobuf message is its fields, each with a tag (number and kind), a length and its bytes, in any order; so the graph
is written as what it holds already, followed by one `initializer` field for each constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

Array = npt.NDArray[Any]
Piece = bytes | memoryview

# Numbers of the fields in onnx.proto; all of them hold bytes with a length.
_GRAPH_OF_MODEL = 7
_INITIALIZER_OF_GRAPH = 5
_RAW_DATA_OF_TENSOR = 9
_BYTES_WITH_LENGTH = 2


def model_pieces(model: onnx.ModelProto, constants: Mapping[str, Array]) -> Iterator[Piece]:
    """Yield the bytes of a model file whose graph has the constants as further initializers."""
    head = onnx.ModelProto()
    head.CopyFrom(model)
    head.ClearField("graph")
    graph = model.graph.SerializeToString()
    tensors = [(_tensor_head(name, array), _little_endian(array)) for name, array in constants.items()]
    sizes = [len(start) + _field_size(_RAW_DATA_OF_TENSOR, array.nbytes) for start, array in tensors]
    yield head.SerializeToString()
    yield _prefix(_GRAPH_OF_MODEL, len(graph) + sum(_field_size(_INITIALIZER_OF_GRAPH, size) for size in sizes))
    yield graph
    for (start, array), size in zip(tensors, sizes, strict=True):
        yield _prefix(_INITIALIZER_OF_GRAPH, size) + start + _prefix(_RAW_DATA_OF_TENSOR, array.nbytes)
        yield array.data


def _tensor_head(name: str, array: Array) -> bytes:
    """Return the bytes of a tensor without its data."""
    kind = helper.np_dtype_to_tensor_dtype(array.dtype.newbyteorder("="))
    content: bytes = TensorProto(name=name, data_type=kind, dims=array.shape).SerializeToString()
    return content


def _little_endian(array: Array) -> Array:
    """Return the bytes of an array as ONNX has them; a view where it has them already."""
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    return little.reshape(-1).view(np.uint8)


def _field_size(number: int, length: int) -> int:
    return len(_prefix(number, length)) + length


def _prefix(number: int, length: int) -> bytes:
    """Return tag and length of a field."""
    return bytes([number << 3 | _BYTES_WITH_LENGTH]) + _varint(length)


def _varint(value: int) -> bytes:
    """Return an unsigned number in groups of seven bits, the lowest first."""
    groups: list[int] = []
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
