"""Finding passes by name and turning option text into pass objects.

A pass lives in a file named like it, so the list of passes is the list of files in `qbc/passes/<dialect>/`; nothing is
imported before it is asked for. Other packages add passes through entry points (qbc.extensions); a name of this package
is never theirs.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
import typing
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from qbc.extensions import Extension, extension_names, find_extension
from qbc.passes.base import Pass
from qbc.pipelines.grammar import ANCHORS, Nest, PassCall, Pipeline, PipelineError, Value, did_you_mean

FOLDERS = ("common", "framework", "mblt", "quant", "npu")


# --- names -------------------------------------------------------------------------------------------------------


@cache
def _modules() -> dict[str, str]:
    """Map candidate pass name -> module path, from file names alone."""
    import qbc.passes

    root = Path(next(iter(qbc.passes.__path__)))
    found: dict[str, str] = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("*")):
            if _may_hold_pass(folder, path):
                found[path.stem.replace("_", "-")] = f"qbc.passes.{folder}.{path.stem}"
    return found


def _may_hold_pass(folder: str, path: Path) -> bool:
    if path.stem.startswith("_"):
        return False
    if path.is_dir():
        if not (path / "__init__.py").exists():
            return False
    elif path.suffix != ".py":
        return False
    return folder == "common" or path.stem.startswith((f"{folder}_", "convert_"))


def _own_class(name: str) -> type[Pass] | None:
    module_path = _modules().get(name)
    if module_path is None:
        return None
    module = importlib.import_module(module_path)
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Pass) and getattr(value, "name", None) == name:
            return value
    return None


def _find_class(name: str) -> type[Pass] | None:
    own = _own_class(name)
    if own is not None:
        return own
    extension = find_extension("pass", name)
    return None if extension is None else load_pass(extension)


def load_pass(extension: Extension) -> type[Pass]:
    """Return the pass class of another package; EXTENSION_ERROR where it is none, or goes by another name."""
    loaded = extension.load()
    if not (isinstance(loaded, type) and issubclass(loaded, Pass)):
        raise extension.error("is not a pass class")
    if getattr(loaded, "name", None) != extension.name:
        raise extension.error(f"calls itself {getattr(loaded, 'name', None)!r}")
    if getattr(loaded, "anchor", None) not in ANCHORS or loaded.__abstractmethods__:
        raise extension.error("is not complete: it derives from FunctionPass or ModulePass and has a method run")
    return loaded


@cache
def pass_class(name: str) -> type[Pass]:
    """Return the class of a pass; raises PipelineError with the nearest name."""
    found = _find_class(name)
    if found is None:
        hint = did_you_mean(name, [*_modules(), *extension_names("pass")]) or "--list-passes shows all names"
        raise PipelineError(f"unknown pass {name!r}", hint=hint)
    return found


def is_own(name: str) -> bool:
    """Return whether a pass of that name belongs to this package."""
    return _own_class(name) is not None


def all_passes() -> Iterator[type[Pass]]:
    """Yield the classes of all passes of this package in the order of the dialects."""
    for name in _modules():
        found = _find_class(name)
        if found is not None:
            yield found


# --- options -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class OptionInfo:
    """One option of a pass as documentation shows it."""

    name: str
    type_text: str
    default: Value


@cache
def _hints(cls: type[Pass]) -> dict[str, Any]:
    return get_type_hints(cls)


def _fields(cls: type[Pass]) -> list[dataclasses.Field[Any]]:
    if not dataclasses.is_dataclass(cls):
        return []
    return [field for field in dataclasses.fields(cls) if field.init]


def option_infos(cls: type[Pass]) -> list[OptionInfo]:
    """Return name, type and default of each option of a pass."""
    infos = []
    for field in _fields(cls):
        infos.append(OptionInfo(field.name.replace("_", "-"), type_text(_hints(cls)[field.name]), _default(field)))
    return infos


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None


def type_text(hint: Any) -> str:
    """Return the text of an option type, for example `int | none` or `tuple of str`."""
    if hint is type(None):
        return "none"
    if isinstance(hint, types.UnionType) or get_origin(hint) is typing.Union:
        return " | ".join(type_text(part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        return f"tuple of {type_text(get_args(hint)[0])}"
    if get_origin(hint) is typing.Literal:
        return " | ".join(map(str, get_args(hint)))
    return getattr(hint, "__name__", str(hint))


_MISFIT = object()


def _fit(value: Value, hint: Any) -> Any:
    """Return `value` as the type `hint` asks, or _MISFIT."""
    if isinstance(hint, types.UnionType) or get_origin(hint) is typing.Union:
        fits = (_fit(value, part) for part in sorted(get_args(hint), key=lambda part: type(value) is not part))
        return next((fit for fit in fits if fit is not _MISFIT), _MISFIT)
    if hint is type(None):
        return None if value is None else _MISFIT
    if get_origin(hint) is typing.Literal:
        return value if value in get_args(hint) else _MISFIT
    if get_origin(hint) is tuple:
        return _fit_tuple(value, hint)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, bool):
        return _MISFIT
    return value if isinstance(hint, type) and isinstance(value, hint) else _MISFIT


def _fit_tuple(value: Value, hint: Any) -> Any:
    element = get_args(hint)[0]
    parts = value if isinstance(value, tuple) else (value,)
    fitted = tuple(_fit(part, element) for part in parts)
    return _MISFIT if _MISFIT in fitted else fitted


def instantiate(call: PassCall) -> Pass:
    """Build the pass object of a call; raises PipelineError for unknown, ill-typed or missing options."""
    cls = pass_class(call.name)
    fields = {field.name.replace("_", "-"): field for field in _fields(cls)}
    arguments: dict[str, Any] = {}
    for key, value in call.options:
        if key not in fields:
            accepted = f"options are {', '.join(fields)}" if fields else "it has no options"
            raise PipelineError(
                f"pass {call.name!r} has no option {key!r}", hint=did_you_mean(key, list(fields)) or accepted
            )
        hint = _hints(cls)[fields[key].name]
        fitted = _fit(value, hint)
        if fitted is _MISFIT:
            raise PipelineError(f"option {key!r} of pass {call.name!r} wants {type_text(hint)}, found {value!r}")
        arguments[fields[key].name] = fitted
    missing = [
        key
        for key, field in fields.items()
        if field.name not in arguments
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise PipelineError(f"pass {call.name!r} needs option {missing[0]!r}")
    extension = None if is_own(call.name) else find_extension("pass", call.name)
    try:
        with nullcontext() if extension is None else extension.guarded(passing=(ValueError,)):
            return cls(**arguments)
    except ValueError as error:
        if isinstance(error, PipelineError):
            raise
        raise PipelineError(f"pass {call.name!r}: {error}") from error


def call_of(instance: Pass) -> PassCall:
    """Return the call that builds `instance`, with every option written out."""
    options = [(field.name.replace("_", "-"), getattr(instance, field.name)) for field in _fields(type(instance))]
    return PassCall(instance.name, tuple(options))


# --- pipelines ---------------------------------------------------------------------------------------------------


def complete(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with every option filled in and every pass nested on the operation it runs on."""
    return Pipeline(_complete_items(pipeline.items, "builtin.module"))


def _complete_items(items: tuple[PassCall | Nest, ...], anchor: str) -> tuple[PassCall | Nest, ...]:
    result: list[PassCall | Nest] = []
    for item in items:
        if isinstance(item, Nest):
            _append(result, _complete_nest(item, anchor))
            continue
        instance = instantiate(item)
        call = call_of(instance)
        if instance.anchor == anchor:
            result.append(call)
        elif anchor == "builtin.module":
            _append(result, Nest(instance.anchor, (call,)))
        else:
            raise PipelineError(f"pass {item.name!r} runs on {instance.anchor}, not inside {anchor}")
    return tuple(result)


def _complete_nest(nest: Nest, anchor: str) -> Nest:
    if nest.anchor == anchor or (anchor != "builtin.module"):
        raise PipelineError(f"{nest.anchor} cannot be nested in {anchor}")
    return Nest(nest.anchor, _complete_items(nest.items, nest.anchor))


def _append(result: list[PassCall | Nest], nest: Nest) -> None:
    """Append a nest, merged with the one before it when both have the same anchor."""
    if result and isinstance(result[-1], Nest) and result[-1].anchor == nest.anchor:
        result[-1] = Nest(nest.anchor, result[-1].items + nest.items)
    else:
        result.append(nest)
