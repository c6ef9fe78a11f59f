"""Reading `.mblt` files as graphs with weights, and writing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from qbc.argument_types import SWITCH, path_of
from qbc.errors import ArgumentError, QBCompilerError
from qbcompiler.model_dict.common import ModelDict, WeightDict


def load_mblt_model(path: str | Path) -> tuple[ModelDict, WeightDict]:
    """Return graph and weights of a `.mblt`; raises INVALID_SNAPSHOT when it is damaged."""
    from qbc.driver.inspect import open_mblt
    from qbcompiler.model_dict.reading import model_dict_of

    return model_dict_of(open_mblt(path_of("path", path)))


class ChainedByteObj:
    """The bytes of a file in pieces that are not copied together: `write(file)`, `len(...)`, `bytes(...)`."""

    def __init__(self, pieces: Sequence[bytes | memoryview]) -> None:
        self._pieces = tuple(pieces)

    def write(self, file: IO[bytes]) -> int:
        """Write all pieces to a file that is open for binary writing; returns their size."""
        for piece in self._pieces:
            file.write(piece)
        return len(self)

    def __len__(self) -> int:
        return sum(len(piece) for piece in self._pieces)

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)


@dataclass(frozen=True)
class MbltHeader:
    """What a `.mblt` says about its form; files of this project are never of the older form (`is_legacy`)."""

    version: int
    manifest: dict[str, Any]
    is_legacy: bool = False


class SerializeMeta:
    """The reader and writer of `.mblt` files."""

    @staticmethod
    def get_header(path: str | Path) -> MbltHeader:
        """Return the format version and the manifest of a `.mblt`."""
        from qbcompiler.tools import read_record

        kind, version, manifest = read_record(path_of("path", path))
        if kind != ".mblt":
            raise ArgumentError(f"{str(path)!r} is not a .mblt file")
        return MbltHeader(version, manifest or {})

    @staticmethod
    def get_model_dict(path: str | Path, header: MbltHeader | None = None) -> ModelDict:
        """Return the graph of a `.mblt`; `header` is not needed."""
        return load_mblt_model(path)[0]

    @staticmethod
    def serialize(
        model_dict: ModelDict, weight_dict: WeightDict | None = None, ignore_weight: bool = False
    ) -> ChainedByteObj:
        """Return the bytes of a `.mblt`: those of the file or the parser run that `model_dict` comes from.

        `weight_dict` must be the one that came with it. `ignore_weight` is UNSUPPORTED_FEATURE: a file without its
        weights could not be compiled.
        """
        if not isinstance(model_dict, ModelDict):
            raise ArgumentError(f"model_dict is of type {type(model_dict).__name__}, expected a ModelDict")
        SWITCH.check("ignore_weight", ignore_weight)
        if ignore_weight:
            raise QBCompilerError(
                "ignore_weight: a .mblt without weights is not available in this version",
                code="UNSUPPORTED_FEATURE",
                hint="leave ignore_weight at False",
            )
        _check_weights(model_dict, weight_dict)
        return ChainedByteObj([_file_of(model_dict)])


def _check_weights(model_dict: ModelDict, weight_dict: object) -> None:
    own = {key for graph in model_dict.subgraphs for op in graph.operators for key in op.weights.values()}
    if weight_dict is None or (isinstance(weight_dict, WeightDict) and set(weight_dict) == own):
        return
    raise ArgumentError(
        "weight_dict is not the one of this model_dict",
        hint="pass both as load_mblt_model or get_md_wd returned them; weights cannot be edited",
    )


def _file_of(model_dict: ModelDict) -> memoryview:
    from tempfile import TemporaryDirectory

    from qbc.artifact.mblt import write_mblt
    from qbc.store.store import map_file

    opened = model_dict.opened
    with TemporaryDirectory(prefix="qbcompiler-") as directory:
        path = Path(directory) / "model.mblt"
        write_mblt(path, opened.module, opened.ctx.store, opened.manifest)
        return map_file(path)
