"""Making a compile context: dialects by lazy factories, the weight store on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.ir import Dialect

from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, SampleSource

if TYPE_CHECKING:
    from qbc.store import BlobStore

OWN_DIALECTS = ("blob", "framework", "mblt", "quant", "npu")
ENTRY_POINT_GROUP = "qbcompiler.dialects"


class DriverContext(CompileContext):
    """A compile context whose store comes into being on first use, filled with the blobs of `blob_directories`.

    So a run that touches no weights does not import numpy.
    """

    blob_directories: list[Path]
    _store: BlobStore | None

    def __init__(self, *, allow_unregistered: bool = False) -> None:
        self._store = None
        self.blob_directories = []
        super().__init__(allow_unregistered)

    @property
    def store(self) -> BlobStore:
        if self._store is None:
            from qbc.driver.blobs import adopt_directory
            from qbc.store import BlobStore

            self._store = BlobStore()
            for directory in self.blob_directories:
                adopt_directory(self._store, directory)
        return self._store

    @store.setter
    def store(self, store: BlobStore | None) -> None:
        self._store = store

    @property
    def has_store(self) -> bool:
        """Whether the store was used."""
        return self._store is not None

    def add_blob_directory(self, directory: Path) -> None:
        """Make the blobs of a directory available."""
        self.blob_directories.append(directory)
        if self._store is not None:
            from qbc.driver.blobs import adopt_directory

            adopt_directory(self._store, directory)


def make_context(
    *,
    target: str | Path | None = None,
    samples: SampleSource | None = None,
    store: BlobStore | None = None,
    blob_directories: Sequence[Path] = (),
    allow_unregistered: bool = False,
) -> DriverContext:
    """Return a context that knows all dialects; `target` is a device name or a YAML file of the user."""
    ctx = DriverContext(allow_unregistered=allow_unregistered)
    for name, factory in _upstream_dialects().items():
        ctx.register_dialect(name, factory)
    for name in OWN_DIALECTS:
        ctx.register_dialect(name, _own_factory(name))
    ctx.samples = samples
    if store is not None:
        ctx.store = store
    ctx.blob_directories.extend(blob_directories)
    if target is not None:
        ctx.target = find_target(target, ctx)
    return ctx


def find_target(target: str | Path, ctx: CompileContext) -> Any:
    """Load the machine description of a device; an old spelling of its name gives a notice."""
    from qbc.targets import load_target, load_target_file, resolve_name

    if isinstance(target, Path) or target.endswith((".yaml", ".yml")):
        return load_target_file(Path(target))
    name, warning = resolve_name(target)
    if warning is not None:
        ctx.notice(warning)
    return load_target(name)


def register_third_party_dialects(ctx: CompileContext) -> None:
    """Register the dialects that other packages offer through entry points `qbcompiler.dialects`."""
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name not in set(ctx.registered_dialect_names):
            ctx.register_dialect(point.name, point.load)


def _upstream_dialects() -> dict[str, Callable[[], Dialect]]:
    def builtin() -> Dialect:
        from xdsl.dialects.builtin import Builtin

        return Builtin

    def func() -> Dialect:
        from xdsl.dialects.func import Func

        return Func

    return {"builtin": builtin, "func": func}


def _own_factory(name: str) -> Callable[[], Dialect]:
    def load() -> Dialect:
        module = importlib.import_module(f"qbc.dialects.{name}")
        for value in vars(module).values():
            if isinstance(value, Dialect) and value.name == name:
                return value
        raise QBCompilerError(f"package qbc.dialects.{name} defines no dialect", code="INTERNAL_ERROR")

    return load
