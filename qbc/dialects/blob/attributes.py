"""Attributes of the `blob` dialect: handles of bytes that live in the weight store, never in the IR."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import base, irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.store import BlobStore

INLINE_LIMIT_BYTES = 4096

_FLOATS: dict[type[Attribute], str] = {
    Float16Type: "float16",
    Float32Type: "float32",
    Float64Type: "float64",
    BFloat16Type: "uint16",
}
_HEX = re.compile("(?:[0-9a-fA-F]{2})*")
_ITEM_BYTES = {"bool": 1, "float16": 2, "float32": 4, "float64": 8} | {
    f"{kind}{8 * width}": width for kind in ("int", "uint") for width in (1, 2, 4, 8)
}
_FLOAT_TYPES: dict[str, type[AnyFloat]] = {"float16": Float16Type, "float32": Float32Type, "float64": Float64Type}


def dtype_name(element: Attribute) -> str:
    """Return the numpy dtype name that stores one element; bf16 is stored as its 16 bits (`uint16`)."""
    name = _FLOATS.get(type(element))
    if name is not None:
        return name
    if not isinstance(element, IntegerType):
        raise VerifyException(f"a blob cannot hold elements of type {element}")
    if element.width.data == 1:
        return "bool"
    prefix = "uint" if element.signedness.data == Signedness.UNSIGNED else "int"
    return f"{prefix}{element.width.data}"


def element_type(dtype: str) -> Attribute:
    """Return the IR element type of a numpy dtype name (`bool` is i1, `uint8` is ui8, `int8` is i8)."""
    if dtype in _FLOAT_TYPES:
        return _FLOAT_TYPES[dtype]()
    if dtype == "bool":
        return IntegerType(1)
    if dtype.startswith("uint"):
        return IntegerType(int(dtype[4:]), Signedness.UNSIGNED)
    if dtype.startswith("int"):
        return IntegerType(int(dtype[3:]))
    raise ValueError(f"no element type for dtype {dtype}")


class BlobAttr(ParametrizedAttribute):
    """Base of the two blob handles: both have a tensor type `type` with a static shape."""

    if TYPE_CHECKING:  # a field here would come before the fields of the subclasses
        type: TensorType[Attribute]

    @property
    def shape(self) -> tuple[int, ...]:
        """Static shape of the data."""
        return self.type.get_shape()

    @property
    def dtype(self) -> str:
        """numpy dtype name of the stored elements."""
        return dtype_name(self.type.element_type)


@irdl_attr_definition
class BlobRefAttr(BlobAttr):
    """`#blob.ref<"key" : tensor<...>>`: bytes in the store under a content key (32 hex digits)."""

    name = "blob.ref"
    key: StringAttr = param_def(base(StringAttr))
    type: TensorType[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            key = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(":")
            return (key, parser.parse_type())

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.key.data)
            printer.print_string(" : ")
            printer.print_attribute(self.type)


@irdl_attr_definition
class BlobInlineAttr(BlobAttr):
    """`#blob.inline<"0a0b" : tensor<2xi8>>`: little-endian bytes in hex, up to 4 KiB; for tests and small tables."""

    name = "blob.inline"
    data: StringAttr = param_def(base(StringAttr))
    type: TensorType[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            data = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(":")
            return (data, parser.parse_type())

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.data)
            printer.print_string(" : ")
            printer.print_attribute(self.type)

    def verify(self) -> None:
        if len(self.data.data) > 2 * INLINE_LIMIT_BYTES:
            raise VerifyException(f"inline blobs hold at most {INLINE_LIMIT_BYTES} bytes")
        if _HEX.fullmatch(self.data.data) is None:
            raise VerifyException("inline blobs are pairs of hex digits")
        width = _ITEM_BYTES.get(self.dtype)
        if width is None or any(size < 0 for size in self.shape):
            return
        expected, found = width * prod(self.shape), len(self.data.data) // 2
        if found != expected:
            raise VerifyException(f"an inline blob of {self.type} needs {expected} bytes, found {found}")


def read_blob(store: BlobStore, handle: Attribute) -> npt.NDArray[np.generic]:
    """Return the data behind a blob handle as a read-only array; raises MISSING_BLOB when the store lacks it."""
    if isinstance(handle, BlobRefAttr):
        return store.get(handle.key.data, handle.dtype, handle.shape)
    if isinstance(handle, BlobInlineAttr):
        return store.get(store.put(bytes.fromhex(handle.data.data)), handle.dtype, handle.shape)
    raise TypeError(f"not a blob handle: {handle}")


def write_blob(store: BlobStore, array: npt.NDArray[Any]) -> BlobRefAttr:
    """Put an array into the store and return its handle; the array's dtype gives the element type."""
    key = store.put(array)
    return BlobRefAttr(StringAttr(key), TensorType(element_type(array.dtype.name), array.shape))
