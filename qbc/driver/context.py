"""Making a compile context: dialects by lazy factories, the weight store on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute

from qbc.errors import QBCompilerError
from qbc.extensions import Extension, extension_names, find_extension
from qbc.passes.base import CompileContext, SampleSource

if TYPE_CHECKING:
    from qbc.store import BlobStore

OWN_DIALECTS = ("blob", "framework", "mblt", "quant", "npu")


class DriverContext(CompileContext):
    """A compile context whose store comes into being on first use, filled with the blobs of `blob_directories`.

    So a run that touches no weights does not import numpy. A dialect that is not of this package is looked for among
    the entry points of others when the first name of it is read.
    """

    blob_directories: list[Path]
    _store: BlobStore | None
    _looked_for: set[str]

    def __init__(self, *, allow_unregistered: bool = False) -> None:
        self._store = None
        self._looked_for = set()
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
    def has_blobs(self) -> bool:
        """Whether there is a store, or a directory to fill one from."""
        return self._store is not None or bool(self.blob_directories)

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        self._look_for(name)
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        self._look_for(name)
        return super().get_optional_type(name)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        self._look_for(name)
        return super().get_optional_attr(name)

    def _look_for(self, name: str) -> None:
        """Register the dialect of a name that another package offers, once."""
        dialect, dot, _ = name.partition(".")
        if not dot or dialect in self._registered_dialects or dialect in self._looked_for:
            return
        self._looked_for.add(dialect)
        extension = find_extension("dialect", dialect)
        if extension is not None:
            self.register_dialect(dialect, lambda: load_dialect(extension))

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


def load_dialect(extension: Extension) -> Dialect:
    """Return the dialect of another package; EXTENSION_ERROR where it is none, or goes by another name."""
    loaded = extension.load()
    if not isinstance(loaded, Dialect):
        raise extension.error("is not an xdsl.ir.Dialect")
    parts: list[Any] = [loaded, *loaded.operations, *loaded.attributes]
    named = [part.name for part in parts]
    stray = next((name for name in named if name.partition(".")[0] != extension.name), None)
    if stray is not None:
        raise extension.error(f"holds {stray!r}, a name of another dialect")
    return loaded


def dialect_names() -> list[str]:
    """Return the names of all dialects: those of this package, then those of others."""
    own = [*_upstream_dialects(), *OWN_DIALECTS]
    return [*own, *(name for name in extension_names("dialect") if name not in own)]


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
