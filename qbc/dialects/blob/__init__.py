"""The `blob` dialect: handles of bytes in the weight store, shared by all other dialects."""

from xdsl.ir import Dialect

from qbc.dialects.blob.attributes import (
    BlobAttr,
    BlobInlineAttr,
    BlobRefAttr,
    dtype_name,
    element_type,
    read_blob,
    write_blob,
)

Blob = Dialect("blob", [], [BlobRefAttr, BlobInlineAttr])

__all__ = [
    "Blob",
    "BlobAttr",
    "BlobInlineAttr",
    "BlobRefAttr",
    "dtype_name",
    "element_type",
    "read_blob",
    "write_blob",
]
