"""Calibration files: what a path holds, read lazily and without unpickling."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.calibration.inputs import InputSpec, sample_error, stack_length
from qbc.errors import QBCompilerError

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif"})
ARRAY_SUFFIXES = frozenset({".npy", ".npz"})


@dataclass(frozen=True)
class FileEntry:
    """One sample: a file, and the position in its stack when the file stacks several."""

    path: Path
    index: int | None = None

    @property
    def origin(self) -> str:
        """How errors name the sample."""
        return str(self.path) if self.index is None else f"{self.path}[{self.index}]"

    def load(self, specs: Sequence[InputSpec]) -> Mapping[str, npt.NDArray[Any]]:
        """Return raw arrays by input name."""
        arrays = _named_arrays(self.path, specs)
        if self.index is None:
            return arrays
        return {name: array[self.index] for name, array in arrays.items()}


def list_entries(path: Path, specs: Sequence[InputSpec]) -> list[FileEntry]:
    """Return the samples behind `path` in a fixed order.

    A directory gives its `.npy` and `.npz` files sorted by name, a `.txt` list its lines in order (relative to the
    list), an array file one sample, or one per entry of a leading axis in front of the input shape.
    """
    if not path.exists():
        raise sample_error(f"{path}: no such file or directory", "check the calibration data path")
    if path.is_dir():
        return [entry for file in _files_of(path, specs) for entry in list_entries(file, specs)]
    suffix = path.suffix.lower()
    if suffix == ".txt":
        return _listed_entries(path, specs)
    if suffix in ARRAY_SUFFIXES:
        return _array_entries(path, specs)
    if suffix in IMAGE_SUFFIXES:
        raise _images_refused(path)
    raise sample_error(f"{path}: calibration data is .npy, .npz, a .txt list or a directory of .npy files")


def _files_of(directory: Path, specs: Sequence[InputSpec]) -> list[Path]:
    files = sorted(file for file in directory.iterdir() if file.is_file() and not file.name.startswith("."))
    arrays = [file for file in files if file.suffix.lower() in ARRAY_SUFFIXES]
    images = [file for file in files if file.suffix.lower() in IMAGE_SUFFIXES]
    if not arrays and images:
        raise _images_refused(images[0])
    if not arrays:
        raise QBCompilerError(
            f"{directory}: the calibration directory holds no .npy or .npz file",
            code="NO_CALIBRATION_DATA",
            hint="save one sample a file with numpy.save",
        )
    if len(specs) > 1 and any(file.suffix.lower() == ".npy" for file in arrays):
        names = ", ".join(spec.name for spec in specs)
        raise sample_error(
            f"{directory}: a directory of .npy files only supports single-input models; this model has {names}",
            "save one .npz a sample, with one array per input name",
        )
    return arrays


def _images_refused(path: Path) -> QBCompilerError:
    return QBCompilerError(
        f"{path}: image files need a preprocessing configuration, which is not available yet",
        code="UNSUPPORTED_FEATURE",
        hint="preprocess the images and save them as .npy",
    )


def _listed_entries(path: Path, specs: Sequence[InputSpec]) -> list[FileEntry]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise sample_error(f"{path}: cannot read the list: {error}") from None
    files = [path.parent / line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    nested = next((file for file in files if file.suffix.lower() == ".txt"), None)
    if nested is not None:
        raise sample_error(f"{path}: a list may not name another list ({nested.name})")
    return [entry for file in files for entry in list_entries(file, specs)]


def _array_entries(path: Path, specs: Sequence[InputSpec]) -> list[FileEntry]:
    arrays = _named_arrays(path, specs)
    lengths = {stack_length(arrays[spec.name].shape, spec) for spec in specs}
    if lengths == {None}:
        return [FileEntry(path)]
    if len(lengths) > 1:
        raise sample_error(f"{path}: the inputs stack different numbers of samples")
    return [FileEntry(path, index) for index in range(lengths.pop() or 0)]


def _named_arrays(path: Path, specs: Sequence[InputSpec]) -> Mapping[str, npt.NDArray[Any]]:
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        if len(specs) != 1:
            raise sample_error(
                f"{path}: one array for a model with {len(specs)} inputs", "save an .npz with one array per input name"
            )
        return {specs[0].name: loaded}
    if len(specs) == 1 and len(loaded) == 1:
        return {specs[0].name: next(iter(loaded.values()))}
    missing = [spec.name for spec in specs if spec.name not in loaded]
    if missing:
        raise sample_error(
            f"{path}: no array for input {missing[0]!r}; the file holds {', '.join(loaded) or 'nothing'}"
        )
    unknown = sorted(set(loaded) - {spec.name for spec in specs})
    if unknown:
        raise sample_error(f"{path}: {unknown[0]!r} is no input; inputs are {', '.join(spec.name for spec in specs)}")
    return loaded


def _load(path: Path) -> npt.NDArray[Any] | dict[str, npt.NDArray[Any]]:
    try:
        if path.suffix.lower() == ".npy":
            array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return array
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, SyntaxError, TypeError, zipfile.BadZipFile, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise sample_error(f"{path}: not a readable array file: {reason}") from None
    except Exception as error:  # damaged archives raise whatever zlib, struct and tokenize raise
        raise sample_error(f"{path}: not a readable array file: {type(error).__name__}") from None
