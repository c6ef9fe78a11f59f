"""Choosing the encoding of one row; shared by range assignment and 16-bit promotion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr, f64
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant import ParamsOp, ParamTable
from qbc.errors import QBCompilerError
from qbc.passes.base import source_names
from qbc.passes.quant.legality import SHARED_BY_UNION, is_movement
from qbc.passes.quant.row_statistics import read_statistics

if TYPE_CHECKING:
    from qbc.algorithms.flat_zones import Function
    from qbc.algorithms.ranges import Encoding, RangeOptions
    from qbc.store import BlobStore


_EXTREMES = (quant.ReduceMaxOp, quant.ReduceMinOp)


def assign_encoding(
    table: ParamTable, row: ParamsOp, store: BlobStore, options: RangeOptions, *, asymmetric: bool
) -> bool:
    """Set the encoding of a row from its statistics; return whether a percentile had to be estimated.

    A percentile is not taken where the tail matters: 16 bits have codes for it, and a maximum over an axis reads
    nothing else. Graph outputs cover their extremes and a margin, because other data than the calibration samples will
    exceed them and nothing after an output can make up for a clipped one.
    Raises QUANTIZATION_ERROR when the row has no statistics.
    """
    from qbc.algorithms.ranges import (
        MAX,
        MAX_PERCENTILE,
        RangeOptions,
        choose_range,
        encode_constant,
        merge_ranges,
        unite_ranges,
    )

    statistics = list(read_statistics(store, row).values())
    if not statistics:
        raise _no_statistics(table, row)
    storage = row.bits or "i8"
    is_output = is_graph_output(table, row)
    if is_output or (options.mode == MAX_PERCENTILE and (storage == "i16" or _holds_extremes(table, row))):
        options = RangeOptions(MAX, output_margin=options.output_margin)
    if all(part.minimum == part.maximum for part in statistics) and len({part.minimum for part in statistics}) == 1:
        _set(table, row, encode_constant(statistics[0].minimum, storage))
        return False
    zero_point = asymmetric and storage == "i8"
    members = [(part, choose_range(part, options, storage, zero_point)) for part in statistics]
    ranges = [chosen for _, chosen in members]
    chosen = unite_ranges(ranges) if is_output else merge_ranges(members, storage, zero_point)
    widening = 1.0 + options.output_margin if is_output else 1.0
    set_range(table, row, widening * chosen.low, widening * chosen.high, storage, asymmetric=zero_point)
    return chosen.estimated


def is_graph_output(table: ParamTable, row: ParamsOp) -> bool:
    """Return whether the values of a row leave the graph and nothing in the graph reads them but data movement.

    A concatenation whose operands have rows of their own carries them to its row: those leave where that does.
    """
    pending, seen = [row], {row}
    while pending:
        current = pending.pop()
        ends = _ends(current, table)
        nexts = [table.row_of(op.results[0]) for op in ends if isinstance(op, SHARED_BY_UNION)]
        if not ends or not all(isinstance(op, (quant.DequantizeOp, *SHARED_BY_UNION)) for op in ends) or None in nexts:
            return False
        fresh = dict.fromkeys(found for found in nexts if found is not None and found not in seen)
        seen.update(fresh)
        pending.extend(fresh)
    return True


def _ends(row: ParamsOp, table: ParamTable) -> list[Operation]:
    """Return what reads the values of a row, each once, without the data movement inside it."""
    readers = dict.fromkeys(use.operation for member in table.members(row) for use in member.uses)
    return [reader for reader in readers if not _moves_inside(reader, table, row)]


def _holds_extremes(table: ParamTable, row: ParamsOp) -> bool:
    """Return whether a maximum or minimum over an axis reads the row, directly or after lookups."""
    pending, seen = [row], {row}
    while pending:
        members = list(table.members(pending.pop()))
        if any(isinstance(member.owner, _EXTREMES) for member in members):
            return True
        lookups = [use.operation for member in members for use in member.uses if isinstance(use.operation, quant.LutOp)]
        results = [table.row_of(lookup.results[0]) for lookup in lookups]
        fresh = dict.fromkeys(result for result in results if result is not None and result not in seen)
        seen.update(fresh)
        pending.extend(fresh)
    return False


def set_range(table: ParamTable, row: ParamsOp, low: float, high: float, storage: str, *, asymmetric: bool) -> None:
    """Set the encoding that covers `low..high` and remember the bounds in the row's `threshold`."""
    from qbc.algorithms.ranges import encode

    _set(table, row, encode(low, high, storage, asymmetric and storage == "i8"))
    row.properties["threshold"] = DictionaryAttr({"low": FloatAttr(low, f64), "high": FloatAttr(high, f64)})


def clip_flat_zones(table: ParamTable, row: ParamsOp, store: BlobStore, *, asymmetric: bool) -> bool:
    """Narrow the range of a row where everything that reads it is flat; return whether that changed the range."""
    from qbc.algorithms.flat_zones import active_range

    bounds = range_of(row)
    readers = list(lookups_of(table, row) or ())
    if bounds is None or not readers:
        return False
    low, high = bounds
    zones = []
    for function, output in readers:
        encoding = table.encoding(output)
        if encoding is None:
            return False
        zones.append(active_range(function, low, high, encoding[1]))
    new_low, new_high = min(zone[0] for zone in zones), max(zone[1] for zone in zones)
    if (new_low, new_high) == (low, high) or not new_low < new_high:
        return False
    set_range(table, row, new_low, new_high, row.bits or "i8", asymmetric=asymmetric)
    return True


def promote_row(table: ParamTable, row: ParamsOp, store: BlobStore, *, keep_range: bool) -> None:
    """Give a row 16 bits, for the range it has or for the extremes of its values (less what lookups do not tell apart).

    A 16-bit table has nodes 128 codes apart, so what feeds one keeps its range: a wider one moves the nodes apart.
    """
    from qbc.algorithms.ranges import MAX, RangeOptions

    bounds = range_of(row)
    table.set_storage(row, "i16")
    if keep_range and bounds is not None:
        set_range(table, row, *bounds, "i16", asymmetric=False)
        return
    assign_encoding(table, row, store, RangeOptions(MAX), asymmetric=False)
    clip_flat_zones(table, row, store, asymmetric=False)


def lookups_of(table: ParamTable, row: ParamsOp) -> list[tuple[Function, SSAValue]] | None:
    """Return (function, result) of everything that reads a row, or None when something else than a lookup reads it.

    Data movement inside the row is followed; it reads nothing itself.
    """
    from qbc.algorithms.flat_zones import function_of

    found = []
    for member in table.members(row):
        for use in member.uses:
            op = use.operation
            if _moves_inside(op, table, row):
                continue
            described = _lookup(op)
            function = function_of(*described) if described is not None else None
            if function is None:
                return None
            found.append((function, op.results[0]))
    return found


def _moves_inside(op: Operation, table: ParamTable, row: ParamsOp) -> bool:
    moves = is_movement(op) or isinstance(op, SHARED_BY_UNION)
    return moves and table.row_of(op.results[0]) is row


def _lookup(op: Operation) -> tuple[str, Mapping[str, float | str]] | None:
    if isinstance(op, quant.LutOp):
        function = op.properties.get("function")
        return (function.data, _parameters(op)) if isinstance(function, StringAttr) else None
    if not isinstance(op, quant.RequantizeOp):
        return None
    kind = op.properties.get("activation")
    if not isinstance(kind, StringAttr):
        return None
    bounds: dict[str, dict[str, float | str]] = {"relu": {"min": 0.0}, "relu6": {"min": 0.0, "max": 6.0}}
    if kind.data in bounds:
        return "clip", bounds[kind.data]
    given = _parameters(op)
    return "clip", {name: given[f"activation_{name}"] for name in ("min", "max") if f"activation_{name}" in given}


def _parameters(op: Operation) -> dict[str, float | str]:
    return dict(_scalar_properties(op))


def _scalar_properties(op: Operation) -> Iterator[tuple[str, float | str]]:
    for name, value in op.properties.items():
        if isinstance(value, FloatAttr):
            yield name, float(value.value.data)
        elif isinstance(value, StringAttr):
            yield name, value.data


def range_of(row: ParamsOp) -> tuple[float, float] | None:
    """Return the bounds that the row's encoding was made for, or None where it has none."""
    attribute = row.properties.get("threshold")
    if not isinstance(attribute, DictionaryAttr):
        return None
    low, high = attribute.data.get("low"), attribute.data.get("high")
    if not isinstance(low, FloatAttr) or not isinstance(high, FloatAttr):
        return None
    return float(low.value.data), float(high.value.data)


def _set(table: ParamTable, row: ParamsOp, encoding: Encoding) -> None:
    table.set_encoding(row, encoding.storage, encoding.scale, encoding.zero_point)


def value_names(value: SSAValue) -> tuple[str, ...]:
    """Return the source nodes of the operation that makes a value."""
    return source_names(value.owner) if isinstance(value.owner, Operation) else ()


def _no_statistics(table: ParamTable, row: ParamsOp) -> QBCompilerError:
    owners = [member.owner for member in table.members(row) if isinstance(member.owner, Operation)]
    named = [owner for owner in owners if source_names(owner)]
    error = QBCompilerError(
        f"row {row.row_name!r} has no statistics",
        code="QUANTIZATION_ERROR",
        node=source_names(named[0])[0] if named else None,
        hint="run quant-collect before quant-assign-ranges",
    )
    error.operation = (named or owners or [row])[0]
    return error


__all__ = [
    "assign_encoding",
    "clip_flat_zones",
    "is_graph_output",
    "lookups_of",
    "promote_row",
    "range_of",
    "set_range",
    "value_names",
]
