"""What a frontend is: the suffixes it reads, and a function from an import request to a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from qbc.store import BlobStore


@dataclass(frozen=True)
class ImportRequest:
    """A model to import. The frontend puts weights into `store` and fills the two dictionaries where they apply.

    `input_shapes` binds graph inputs by name; a name that the model does not have is an error of the frontend.
    `external` holds the weight files beside the model by the names that the model gives them (the record of a build has
    their digests), `removed` the source nodes that no operation stands for, with the reason.
    """

    path: Path
    store: BlobStore
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    external: dict[str, memoryview] = field(default_factory=dict)
    removed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Frontend:
    """A source format: the suffixes of its files (lower case, with the dot), and the import of one of them.

    `load` returns a module of the framework dialect with one `func.func @main`, whose arguments and results have the
    attribute `framework.name`. It raises QBCompilerError for a model it does not take.
    """

    suffixes: tuple[str, ...]
    load: Callable[[ImportRequest], ModuleOp]
