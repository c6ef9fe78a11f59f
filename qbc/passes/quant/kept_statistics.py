"""What `quant-collect` leaves in a module, as named arrays that another run can take over."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, ModuleOp, f64
from xdsl.ir import Operation

from qbc.dialects import quant
from qbc.dialects.blob import BlobAttr, read_blob, write_blob
from qbc.dialects.quant import ParamTable
from qbc.dialects.quant.base import shape_of
from qbc.errors import QBCompilerError
from qbc.passes.quant.channel_layout import channel_count
from qbc.passes.quant.row_statistics import KINDS, is_statistics_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from qbc.store import BlobStore

    Arrays = Mapping[str, npt.NDArray[Any]]

ROW, SPREAD = "row", "spread"

# Attributes that `quant-collect` sets on operations.
INPUT_MEAN = "input_mean"  # of weighted operations: mean input per kernel tap
INVERSE_VARIANCE = "inverse_variance"  # of layer norms: mean over rows of 1 / (variance + epsilon)
CHANNEL_EXTREMES = "channel_extremes"  # of what makes graph outputs: [smallest, largest, count] by channel


def statistics_key(module: ModuleOp, tail_ratio: float) -> str:
    """Return a digest of a module without statistics: its text names weights by the digests of their bytes."""
    text = f"{tail_ratio!r}\n{module}"
    return hashlib.sha256(text.encode()).hexdigest()


def gather_statistics(module: ModuleOp, store: BlobStore) -> dict[str, npt.NDArray[Any]]:
    """Return all statistics of rows, and those that operations carry as attributes."""
    import numpy as np

    found: dict[str, npt.NDArray[Any]] = {}
    for row in ParamTable(module):
        statistics = row.properties.get("statistics")
        for key, value in statistics.data.items() if isinstance(statistics, DictionaryAttr) else ():
            found[f"{ROW}/{row.row_name}/{key}"] = read_blob(store, value)
    for index, op in enumerate(_operations(module)):
        for name in (INPUT_MEAN, CHANNEL_EXTREMES):
            blob = op.attributes.get(name)
            if isinstance(blob, BlobAttr):
                found[f"{name}/{index}"] = read_blob(store, blob)
        number = op.attributes.get(INVERSE_VARIANCE)
        if isinstance(number, FloatAttr):
            found[f"{SPREAD}/{index}"] = np.array(number.value.data, np.float64)
    return found


def restore_statistics(module: ModuleOp, store: BlobStore, arrays: Arrays) -> None:
    """Put gathered statistics into a module with the same `statistics_key`.

    Raises INVALID_CALIBRATION_DATA where an array has not the type and shape that `quant-collect` gives it.
    """
    rows = {row.row_name: row for row in ParamTable(module)}
    operations = list(_operations(module))
    entries: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        kind, _, rest = name.partition("/")
        if kind == ROW:
            row, _, key = rest.partition("/")
            _require(row in rows and is_statistics_array(key, array))
            entries.setdefault(row, {})[key] = write_blob(store, array)
            continue
        _require(rest.isdigit() and int(rest) < len(operations))
        operation = operations[int(rest)]
        if kind == SPREAD:
            _require(array.shape == () and array.dtype == "float64" and math.isfinite(array))
            operation.attributes[INVERSE_VARIANCE] = FloatAttr(float(array), f64)
        else:
            _require(_fits(operation, kind, array))
            operation.attributes[kind] = write_blob(store, array)
    for name, statistics in entries.items():
        _require(all(f"{key.rpartition('.')[0]}.{kind}" in statistics for key in statistics for kind in KINDS))
        rows[name].properties["statistics"] = DictionaryAttr(statistics)


def _fits(op: Operation, name: str, array: npt.NDArray[Any]) -> bool:
    """Return whether an array is what `quant-collect` would write as attribute `name` of an operation."""
    import numpy as np

    if name == INPUT_MEAN and isinstance(op, quant.WeightedOp):
        wanted = ("float32", (*op.weight_shape[1:-1], shape_of(op.operands[0])[-1]))
    elif name == CHANNEL_EXTREMES and op.results:
        wanted = ("float64", (3, channel_count(op.results[0])))
    else:
        return False
    return (array.dtype.name, array.shape) == wanted and bool(np.isfinite(array).all())


def _operations(module: ModuleOp) -> Iterator[Operation]:
    return (op for op in module.walk() if isinstance(op, quant.QuantOp))


def _require(valid: bool) -> None:
    if not valid:
        message = "the statistics file is damaged"
        raise QBCompilerError(message, code="INVALID_CALIBRATION_DATA", hint="write it again with savePath")
