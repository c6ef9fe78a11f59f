"""Statistics on rows of the parameter table: how `quant-collect` writes and range passes read them.

A row holds, for every observed value that shares it, four blobs under keys `<value>.<kind>`; rows that merge unite
their dictionaries, so that the statistics of every member survive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute

from qbc.dialects.blob import read_blob, write_blob

if TYPE_CHECKING:
    import numpy.typing as npt

    from qbc.algorithms.statistics import Statistics
    from qbc.dialects.quant import ParamsOp
    from qbc.store import BlobStore

KINDS = ("moments", "counts", "largest", "smallest")
_LARGEST_EXPONENT = 128  # of the bins of float32 values


def write_statistics(store: BlobStore, row: ParamsOp, key: str, statistics: Statistics) -> None:
    """Add the statistics of one value to its row; `key` is unique in the module."""
    arrays = dict(zip(KINDS, statistics.to_arrays(), strict=True))
    entries = {f"{key}.{kind}": write_blob(store, array) for kind, array in arrays.items()}
    row.properties["statistics"] = DictionaryAttr({**_entries(row), **entries})


def read_statistics(store: BlobStore, row: ParamsOp) -> dict[str, Statistics]:
    """Return value key -> statistics of all observed values of a row, in key order."""
    from qbc.algorithms.statistics import Statistics

    entries = _entries(row)
    keys = sorted({key.rpartition(".")[0] for key in entries})
    return {key: Statistics.from_arrays([read_blob(store, entries[f"{key}.{kind}"]) for kind in KINDS]) for key in keys}


def is_statistics_array(key: str, array: npt.NDArray[Any]) -> bool:
    """Return whether an array may be the entry `<value>.<kind>`: its type and shape, finite and possible numbers."""
    import numpy as np

    from qbc.algorithms.statistics import HALF_BINS, MINIMUM_EXPONENT

    kind = key.rpartition(".")[2]
    form = (array.dtype.name, array.shape)
    if kind == "counts":
        return form == ("int64", (2 * HALF_BINS,)) and bool((array >= 0).all() and array.any())
    if not np.isfinite(array).all():
        return False
    if kind == "moments":
        return form == ("float64", (7,)) and array[0] >= 1 and MINIMUM_EXPONENT <= array[6] <= _LARGEST_EXPONENT
    return kind in KINDS and array.dtype == "float32" and array.ndim == 1


def unite_statistics(kept: ParamsOp, other: ParamsOp) -> None:
    """Give `kept` the statistics of both rows; call it before the rows merge."""
    entries = {**_entries(kept), **_entries(other)}
    if entries:
        kept.properties["statistics"] = DictionaryAttr(entries)


def clear_statistics(row: ParamsOp) -> None:
    """Forget the statistics of a row."""
    row.properties.pop("statistics", None)


def _entries(row: ParamsOp) -> dict[str, Attribute]:
    attribute = row.properties.get("statistics")
    return dict(attribute.data) if isinstance(attribute, DictionaryAttr) else {}
