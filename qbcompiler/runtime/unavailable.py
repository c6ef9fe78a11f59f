"""Documented calls and classes that this version does not have: each is refused by name, none is silently absent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from qbc.errors import QBCompilerError

_NO_BUFFERS = "give arrays to infer, which converts them"
_NO_CACHE = "programs have no key-value cache, leave it out"
_MODEL_CALLS = (
    (r"infer_async\w*", "infer returns when the results are there; threads may share a model"),
    (r"infer_(buffer|pinned_memory|npu_data)\w*", _NO_BUFFERS),
    (r"(acquire|release|reposition)_\w+|get_(input|output)_buffer_info", _NO_BUFFERS),
    (r"(dump|load|filter|move|get|reset)_cache\w*", _NO_CACHE),
    (r"get_model_variant_handle", "the calls of Model tell of the variant that runs"),
)
_CONFIG_CALLS = (
    (r"(include|exclude)(_all_cores)?", "name the cores: set_single_core_mode(core_ids=['0:1'])"),
    (r"set_(auto|manual)_mode|get_core_allocation_policy", "use set_auto_core_mode or set_single_core_mode"),
    (r"(schedule|latency_set|maintenance)_policy|(early|finish)_latencies", "it has no effect, leave it out"),
)
_CALLS = {"Model": _MODEL_CALLS, "ModelConfig": _CONFIG_CALLS}


class UnavailableError(QBCompilerError, AttributeError):
    """A documented call that this version does not have; also an AttributeError, so `hasattr` works."""

    default_code = "UNSUPPORTED_FEATURE"


def missing_attribute(owner: str, name: str) -> AttributeError:
    """Return the error of an attribute that a class lacks: of a documented one, an UnavailableError."""
    for pattern, hint in _CALLS[owner]:
        if re.fullmatch(pattern, name):
            return UnavailableError(f"{owner}.{name} is not available in this version", hint=hint)
    return AttributeError(f"{owner!r} object has no attribute {name!r}")


class _Unavailable:
    """A class that can be imported and named in annotations, not instantiated."""

    hint = _NO_BUFFERS

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnavailableError(f"{type(self).__name__} is not available in this version", hint=self.hint)


class BatchParam(_Unavailable):
    """Sequences of a language model in one run (`sequence_length`, `cache_size`, `cache_id`); not available."""

    hint = "run one sequence without a cache"


class Future(_Unavailable):
    """What `infer_async` would return (`wait_for`, `get`); not available."""

    hint = _MODEL_CALLS[0][1]


class Buffer(_Unavailable):
    """Memory of a device; not available."""


class BufferInfo(_Unavailable):
    """The layout of device memory; not available."""


class CacheInfo(_Unavailable):
    """A key-value cache; not available."""

    hint = _NO_CACHE


class ModelVariantHandle(_Unavailable):
    """One variant of a model; not available."""

    hint = "the calls of Model tell of the variant that runs"


def start_tracing_events(path: str | Path) -> bool:
    """Write what the runtime does to a file; not available in this version."""
    raise UnavailableError(
        "start_tracing_events is not available in this version",
        hint="`qbcompiler compile` prints the latency of layers",
    )


def stop_tracing_events() -> None:
    """End what `start_tracing_events` began; not available in this version."""
    raise UnavailableError("stop_tracing_events is not available in this version", hint="leave it out")
