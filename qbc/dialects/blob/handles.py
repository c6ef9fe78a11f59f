"""Finding the blob handles that IR names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Operation

from qbc.dialects.blob.attributes import BlobRefAttr


def blob_handles(op: Operation) -> Iterator[BlobRefAttr]:
    """Iterate over all handles in properties and attributes of `op` and what it holds, also inside arrays."""
    for inner in op.walk():
        yield from _handles(inner.properties.values())
        yield from _handles(inner.attributes.values())


def blob_keys(op: Operation) -> list[str]:
    """Return the keys that `op` names, each once, in the order of first mention."""
    return list(dict.fromkeys(handle.key.data for handle in blob_handles(op)))


def _handles(attributes: Iterable[Attribute]) -> Iterator[BlobRefAttr]:
    for attribute in attributes:
        if isinstance(attribute, BlobRefAttr):
            yield attribute
        elif isinstance(attribute, ArrayAttr):
            yield from _handles(attribute.data)
        elif isinstance(attribute, DictionaryAttr):
            yield from _handles(attribute.data.values())
