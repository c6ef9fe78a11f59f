"""Which arguments a call spelled out: an argument goes before the configuration only where the caller gave it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_given: ContextVar[Mapping[str, Any]] = ContextVar("given_arguments")


def remembers_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Make `given_arguments()` inside `function` return the arguments of the call, without those that are defaults."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        token = _given.set(_spelled_out(signature, args, kwargs))
        try:
            return function(*args, **kwargs)
        finally:
            _given.reset(token)

    return call


def given_arguments() -> dict[str, Any]:
    """Return the arguments that the caller of the running API function gave; None counts as not given."""
    return {name: value for name, value in _given.get().items() if value is not None}


def _spelled_out(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    bound = dict(signature.bind(*args, **kwargs).arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            bound.update(bound.pop(name, {}))
    return bound
