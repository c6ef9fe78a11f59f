"""Passes of the tests, made known to the registry for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from qbc.passes.base import Pass
from qbc.pipelines import registry

Register = Callable[..., None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Return a function that makes pass classes known by their names."""
    known: dict[str, type[Pass]] = {}
    original = registry._find_class
    monkeypatch.setattr(registry, "_find_class", lambda name: known.get(name) or original(name))
    registry.pass_class.cache_clear()

    def add(*classes: type[Pass]) -> None:
        known.update({cls.name: cls for cls in classes})

    yield add
    registry.pass_class.cache_clear()
