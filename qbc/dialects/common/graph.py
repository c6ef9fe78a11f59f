"""Source names of graph functions: of arguments, results, and of operations (their locations)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, FusedLoc, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qbc.errors import OptionError


def argument_names(func: FuncOp) -> list[str]:
    """Return the source names of the arguments; an argument without a name is `input<i>`."""
    return _names(func.arg_attrs, len(func.function_type.inputs), "input")


def result_names(func: FuncOp) -> list[str]:
    """Return the source names of the results; a result without a name is `output<i>`."""
    return _names(func.res_attrs, len(func.function_type.outputs), "output")


def source_layouts(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[str | None]:
    """Return `mblt.source_layout` of each argument or result, None where the layout did not change."""
    return [_text(entry, ("mblt.source_layout",)) for entry in _entries(attributes, count)]


DIVISION_FACTOR = "mblt.division_factor"  # of an argument that is taken as uint8: its value is `byte / factor`
NORMALIZED = "mblt.normalized"  # of an argument whose normalisation is part of the function
LETTERBOXED = "mblt.letterboxed"  # of an argument whose letterbox is part of the function


def division_factor(func: FuncOp, index: int) -> float | None:
    """Return the division factor of a uint8 argument, None for other arguments."""
    attribute = _entries(func.arg_attrs, len(func.function_type.inputs))[index].data.get(DIVISION_FACTOR)
    return float(attribute.value.data) if isinstance(attribute, FloatAttr) else None


def set_argument_attribute(func: FuncOp, index: int, name: str, value: Attribute) -> None:
    """Set one attribute of an argument."""
    entries = list(_entries(func.arg_attrs, len(func.function_type.inputs)))
    entries[index] = DictionaryAttr({**entries[index].data, name: value})
    func.arg_attrs = ArrayAttr(entries)


def chosen_arguments(func: FuncOp, names: Sequence[str], option: str = "inputs") -> list[int]:
    """Return the positions of the arguments with the given names, of all where none is given.

    Raises OptionError (CONFIG_ERROR) with the near names for a name that no argument has; `option` is where it stands.
    """
    known = argument_names(func)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"inputs are {', '.join(known)}"
            raise OptionError(option, f"{name!r} is no input of the model", code="CONFIG_ERROR", hint=hint)
    return [index for index, name in enumerate(known) if not names or name in names]


def dimension_names(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[list[str] | None]:
    """Return the names of the dimensions of arguments or results in the order of their axes; `?` where one has none."""
    names = (entry.data.get("mblt.dims", entry.data.get("framework.dims")) for entry in _entries(attributes, count))
    return [
        [item.data for item in dims.data if isinstance(item, StringAttr)] if isinstance(dims, ArrayAttr) else None
        for dims in names
    ]


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
