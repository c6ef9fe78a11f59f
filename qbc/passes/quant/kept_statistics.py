"""What `quant-collect` leaves in a module, as named arrays that another run can take over."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, ModuleOp, f64
from xdsl.ir import Operation

from qbc.dialects import quant
from qbc.dialects.blob import BlobAttr, read_blob, write_blob
from qbc.dialects.quant import ParamTable
from qbc.errors import QBCompilerError

if TYPE_CHECKING:
    import numpy.typing as npt

    from qbc.store import BlobStore

    Arrays = Mapping[str, npt.NDArray[Any]]

ROW, SPREAD = "row", "spread"


def statistics_key(module: ModuleOp, tail_ratio: float) -> str:
    """Return a digest of a module without statistics: its text names weights by the digests of their bytes."""
    text = f"{tail_ratio!r}\n{module}"
    return hashlib.sha256(text.encode()).hexdigest()


def gather_statistics(
    module: ModuleOp, store: BlobStore, blobs: Sequence[str], spread: str
) -> dict[str, npt.NDArray[Any]]:
    """Return all statistics of rows, and the attributes `blobs` (arrays) and `spread` (a number) of operations."""
    import numpy as np

    found: dict[str, npt.NDArray[Any]] = {}
    for row in ParamTable(module):
        statistics = row.properties.get("statistics")
        for key, value in statistics.data.items() if isinstance(statistics, DictionaryAttr) else ():
            found[f"{ROW}/{row.row_name}/{key}"] = read_blob(store, value)
    for index, op in enumerate(_operations(module)):
        for name in blobs:
            blob = op.attributes.get(name)
            if isinstance(blob, BlobAttr):
                found[f"{name}/{index}"] = read_blob(store, blob)
        number = op.attributes.get(spread)
        if isinstance(number, FloatAttr):
            found[f"{SPREAD}/{index}"] = np.array(number.value.data, np.float64)
    return found


def restore_statistics(module: ModuleOp, store: BlobStore, arrays: Arrays, blobs: Sequence[str], spread: str) -> None:
    """Put gathered statistics into a module with the same `statistics_key`."""
    rows = {row.row_name: row for row in ParamTable(module)}
    operations = list(_operations(module))
    entries: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        kind, _, rest = name.partition("/")
        if kind == ROW:
            row, _, key = rest.partition("/")
            entries.setdefault(row, {})[key] = write_blob(store, array)
        elif kind in blobs:
            _operation(operations, rest).attributes[kind] = write_blob(store, array)
        elif kind == SPREAD:
            _operation(operations, rest).attributes[spread] = FloatAttr(float(array), f64)
    for name, statistics in entries.items():
        if name not in rows:
            raise _damaged()
        rows[name].properties["statistics"] = DictionaryAttr(statistics)


def _operations(module: ModuleOp) -> Iterator[Operation]:
    return (op for op in module.walk() if isinstance(op, quant.QuantOp))


def _operation(operations: list[Operation], index: str) -> Operation:
    if not index.isdigit() or int(index) >= len(operations):
        raise _damaged()
    return operations[int(index)]


def _damaged() -> QBCompilerError:
    return QBCompilerError("the statistics file is damaged", code="INVALID_CALIBRATION_DATA", hint="write it again")
