"""Reads target files: leaves `[value, P|D|A, reason]` become dataclasses; a leaf without a status is refused.

So is a device that cannot be: a number that is negative, zero where something is divided by it, or not finite; core
modes that are unknown or take more cores than there are.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from qbc.errors import QBCompilerError
from qbc.extensions import Extension, extension_names, find_extension
from qbc.modes import CORE_MODES
from qbc.structured_text import read_file_text
from qbc.targets.model import STATUSES, Fact, Target

DIRECTORY = Path(__file__).parent
DEFAULT_TARGET = "aries-rb"
_OLD_NAMES = {"aries": "aries-rb", "aries2": "aries-rb", "regulus": "regulus-ra", "regulus2": "regulus-rb"}
_UNTRACKED = ("name", "facts", "digest")
_MAY_BE_ZERO = frozenset(
    {
        *(
            "topology.global_cores_per_cluster",
            "core.mac.fill_cycles",
            "core.l1.latency_cycles",
            "core.dma.setup_cycles",
        ),
        *("l2.bytes", "l3.bytes", "l3.bytes_per_cycle", "dram.latency_cycles", "host.transfer_ms", "host.fixed_ms"),
    }
)
_SHARES = ("dram.efficiency", "host.link_efficiency")
_WIDEST_ELEMENT_BYTES = 4


def target_names() -> tuple[str, ...]:
    """Return the names of all devices: those of this package, then those of others."""
    own = _own_names()
    return (*own, *(name for name in extension_names("target") if name not in own))


def is_own_target(name: str) -> bool:
    """Return whether a name, or an older one, is that of a device of this package."""
    return name in _own_names() or name in _OLD_NAMES


def _own_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in DIRECTORY.glob("[!_]*.yaml")))


def resolve_name(name: str) -> tuple[str, str | None]:
    """Return the exact target name and a warning when `name` is one of an older release; unknown names are refused."""
    if name in _own_names():
        return name, None
    if name in _OLD_NAMES:
        return _OLD_NAMES[name], f"target {name!r} is now called {_OLD_NAMES[name]!r}"
    if name in target_names():
        return name, None
    near = difflib.get_close_matches(name.lower().replace("_", "-"), target_names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(target_names())}"
    raise QBCompilerError(f"unknown target device {name!r}", code="TARGET_ERROR", hint=hint)


@cache
def load_target(name: str) -> Target:
    """Load a device by its exact name; raises TARGET_ERROR for an unknown one."""
    exact, _ = resolve_name(name)
    extension = None if is_own_target(exact) else find_extension("target", exact)
    return load_target_file(DIRECTORY / f"{exact}.yaml") if extension is None else load_foreign_target(extension)


def load_foreign_target(extension: Extension) -> Target:
    """Load a device of another package: the entry point names the path of a target file of the same name."""
    path = extension.load()
    if not isinstance(path, str | Path):
        raise extension.error("is not the path of a target file")
    try:
        target = load_target_file(Path(path))
    except QBCompilerError as error:
        raise extension.error(f"cannot be loaded: {error.message}") from error
    if target.name != extension.name:
        raise extension.error(f"calls itself {target.name!r}")
    return target


def load_target_file(path: Path) -> Target:
    """Load a target file (also a user's own); `extends` names a file in the same directory or one of ours."""
    tree = _read(path, depth=0)
    name = tree.pop("name", None)
    if not isinstance(name, str):
        raise _error(path, "has no name")
    facts: dict[str, Fact] = {}
    values = _build(Target, tree, "", facts, path)
    problem = next(_problems(values["topology"].cores, values["modes"], values["align"].buffer_bytes, facts), None)
    if problem is not None:
        raise _error(path, problem)
    digest = hashlib.sha256(repr(sorted((key, fact.value, fact.status) for key, fact in facts.items())).encode())
    return Target(name=name, facts=facts, digest=digest.hexdigest()[:16], **values)


def _read(path: Path, depth: int) -> dict[str, Any]:
    if depth > 4:
        raise _error(path, "extends too many files")
    try:
        tree = yaml.safe_load(read_file_text(path))
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _error(path, f"cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(tree, dict):
        raise _error(path, "is not a mapping")
    base = tree.pop("extends", None)
    if base is None:
        return tree
    beside = path.parent / str(base)
    return _merge(_read(beside if beside.exists() else DIRECTORY / str(base), depth + 1), tree)


def _merge(base: dict[str, Any], override: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in override.items():
        inner = merged.get(key)
        merged[key] = _merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged


def _build(cls: type, tree: Any, prefix: str, facts: dict[str, Fact], path: Path) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise _error(path, f"needs a mapping at {prefix or 'the top'}")
    hints = get_type_hints(cls)
    names = [item.name for item in fields(cls) if item.name not in _UNTRACKED]
    unknown = sorted(set(map(str, tree)) - set(names))
    if unknown:
        raise _error(path, f"has unknown keys at {prefix or 'the top'}: {', '.join(unknown)}")
    values: dict[str, Any] = {}
    for name in names:
        key = f"{prefix}{name}"
        if name not in tree:
            raise _error(path, f"lacks {key}")
        if is_dataclass(hints[name]):
            values[name] = hints[name](**_build(hints[name], tree[name], f"{key}.", facts, path))
            continue
        facts[key] = _fact(tree[name], hints[name], key, path)
        values[name] = facts[key].value
    return values


def _fact(leaf: Any, hint: Any, key: str, path: Path) -> Fact:
    if not (isinstance(leaf, list) and len(leaf) == 3 and leaf[1] in STATUSES and isinstance(leaf[2], str)):
        raise _error(path, f"needs [value, P|D|A, reason] at {key}")
    value = leaf[0]
    if hint is float and type(value) in (int, float):
        value = float(value)
    elif hint == tuple[str, ...]:
        if not isinstance(value, list):
            raise _error(path, f"needs a list at {key}, found {value!r}")
        value = tuple(map(str, value))
    if hint in (int, float, bool) and type(value) is not hint:
        raise _error(path, f"needs {hint.__name__} at {key}, found {value!r}")
    return Fact(value, STATUSES[leaf[1]], leaf[2])


def _problems(cores: int, modes: tuple[str, ...], alignment: int, facts: dict[str, Fact]) -> Iterator[str]:
    """Yield what makes a complete description impossible."""
    for key, fact in facts.items():
        value = fact.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not math.isfinite(value) or value < 0 or (value == 0 and key not in _MAY_BE_ZERO):
            least = "0 or more" if key in _MAY_BE_ZERO else "more than 0"
            yield f"has {value} at {key}, expected {least}"
        if key in _SHARES and value > 1:
            yield f"has {value} at {key}, expected a share of at most 1"
    if alignment % _WIDEST_ELEMENT_BYTES:
        yield f"has {alignment} at align.buffer_bytes, expected a multiple of {_WIDEST_ELEMENT_BYTES}"
    if not modes or len(set(modes)) < len(modes):
        yield f"has no core modes, or one of them twice: {', '.join(modes)}"
    for mode in modes:
        if mode not in CORE_MODES:
            yield f"has the unknown core mode {mode!r}, expected some of {', '.join(CORE_MODES)}"
        elif CORE_MODES[mode].cores > cores:
            yield f"has core mode {mode!r}, which takes {CORE_MODES[mode].cores} cores of {cores}"


def _error(path: Path, what: str) -> QBCompilerError:
    return QBCompilerError(f"target file {path.name!r} {what}", code="TARGET_ERROR")
