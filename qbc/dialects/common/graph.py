"""Source names of graph functions: of arguments, results, and of operations (their locations)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FusedLoc, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute


def argument_names(func: FuncOp) -> list[str]:
    """Return the source names of the arguments; an argument without a name is `input<i>`."""
    return _names(func.arg_attrs, len(func.function_type.inputs), "input")


def result_names(func: FuncOp) -> list[str]:
    """Return the source names of the results; a result without a name is `output<i>`."""
    return _names(func.res_attrs, len(func.function_type.outputs), "output")


def source_layouts(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[str | None]:
    """Return `mblt.source_layout` of each argument or result, None where the layout did not change."""
    return [_text(entry, ("mblt.source_layout",)) for entry in _entries(attributes, count)]


def location_names(location: Attribute) -> tuple[str, ...]:
    """Return the source node names in a location, in order, without repeats."""
    if isinstance(location, NameLoc):
        return (location.desc.data,)
    if isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        return tuple(dict.fromkeys(name for part in location.locations.data for name in location_names(part)))
    return ()


def _names(attributes: ArrayAttr[DictionaryAttr] | None, count: int, prefix: str) -> list[str]:
    names = (_text(entry, ("mblt.name", "quant.name", "framework.name")) for entry in _entries(attributes, count))
    return [name if name is not None else f"{prefix}{index}" for index, name in enumerate(names)]


def _entries(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> Sequence[DictionaryAttr]:
    return attributes.data if attributes is not None else [DictionaryAttr({})] * count


def _text(entry: DictionaryAttr, keys: Iterable[str]) -> str | None:
    for key in keys:
        attribute = entry.data.get(key)
        if isinstance(attribute, StringAttr):
            return attribute.data
    return None
