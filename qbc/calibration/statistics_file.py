"""Statistics of a calibration, kept in a file so that another compilation need not run the samples again.

The file is an uncompressed `.npz` of numeric arrays. Its key is a digest of everything that the statistics depend on
apart from the samples: graph, weights and options of the collection.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.calibration.inputs import sample_error
from qbc.errors import QBCompilerError
from qbc.store import atomic_write

Arrays = Mapping[str, npt.NDArray[Any]]

FORMAT = "qbcompiler statistics 1"
_HEADER = "header"


@dataclass(frozen=True)
class StatisticsFile:
    """Where statistics are read from and written to; either may be None."""

    load_path: Path | None = None
    save_path: Path | None = None

    def load(self, key: str) -> dict[str, npt.NDArray[Any]] | None:
        """Return the kept arrays, None without a path to load from.

        Raises INVALID_CALIBRATION_DATA for a damaged file and for statistics of another graph or other options.
        """
        if self.load_path is None:
            return None
        found, arrays = _read(self.load_path)
        if found != key:
            raise sample_error(
                f"{self.load_path}: the statistics belong to another graph, other weights or other options",
                "collect them again: run the same configuration with savePath in place of loadPath",
            )
        return arrays

    def save(self, key: str, arrays: Arrays) -> None:
        """Write the arrays, where there is a path to write to; raises OUTPUT_WRITE_ERROR."""
        if self.save_path is None:
            return
        header = np.frombuffer(f"{FORMAT}\n{key}".encode(), np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{_HEADER: header}, **{f"a/{n}": a for n, a in arrays.items()})
        try:
            self.save_path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.save_path) as handle:
                handle.write(buffer.getbuffer())
        except OSError as error:
            message = f"cannot write statistics to {str(self.save_path)!r}: {error.strerror or error}"
            raise QBCompilerError(message, code="OUTPUT_WRITE_ERROR") from None


def _read(path: Path) -> tuple[str, dict[str, npt.NDArray[Any]]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = arrays.pop(_HEADER).tobytes().decode("ascii")
    except FileNotFoundError:
        raise sample_error(f"{path}: no such statistics file", "check loadPath") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, AttributeError, UnicodeDecodeError):
        raise sample_error(f"{path}: not a statistics file", "write one with savePath") from None
    except Exception as error:  # damaged archives raise whatever zlib, struct and tokenize raise
        raise sample_error(f"{path}: not a statistics file: {type(error).__name__}") from None
    form, _, key = header.partition("\n")
    if form != FORMAT:
        raise sample_error(f"{path}: not a statistics file of this version", "write one with savePath")
    return key, {name.removeprefix("a/"): array for name, array in arrays.items()}
