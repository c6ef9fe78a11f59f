"""Calibration files: what a path holds, read lazily and without unpickling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from qbc.calibration.arrays import ARRAY_SUFFIXES, read_named_arrays, read_named_shapes
from qbc.calibration.inputs import InputSpec, Notice, sample_error, stack_length, tell_layout
from qbc.calibration.preprocessing import Preprocessing, no_pipeline
from qbc.errors import QBCompilerError
from qbc.structured_text import read_file_text

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm"})
FORMS = "an image, .npy, .npz, .pt, a .txt list, a .json manifest or a directory"


class LastStack:
    """The file that was read last: the samples that it stacks follow each other, and it is read once for all."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._arrays: Mapping[str, npt.NDArray[Any]] = {}

    def read(self, path: Path, specs: Sequence[InputSpec]) -> Mapping[str, npt.NDArray[Any]]:
        """Return the arrays of a file by input name."""
        if path != self._path:
            self._path, self._arrays = None, {}  # the memory of one file is free before the next one is read
            self._arrays = read_named_arrays(path, specs)
            self._path = path
        return self._arrays


@dataclass(frozen=True)
class Reading:
    """How files become arrays: the inputs of the model, the pipeline of images, where notices go."""

    specs: tuple[InputSpec, ...]
    images: Preprocessing = field(default_factory=Preprocessing)
    notice: Notice | None = None
    stack: LastStack = field(default_factory=LastStack)

    def tell(self, message: str) -> None:
        """Give a notice, where somebody listens."""
        if self.notice is not None:
            self.notice(message)


class Entry(Protocol):
    """One sample that can be loaded."""

    @property
    def origin(self) -> str:
        """How errors name the sample."""
        ...

    @property
    def has_picture(self) -> bool:
        """Whether a file of the sample is a picture."""
        ...

    def load(self, reading: Reading) -> Mapping[str, npt.NDArray[Any]]:
        """Return raw arrays by input name."""
        ...


@dataclass(frozen=True)
class FileEntry:
    """One sample: a file, and the position in its stack when the file stacks several."""

    path: Path
    index: int | None = None

    @property
    def origin(self) -> str:
        """How errors name the sample."""
        return str(self.path) if self.index is None else f"{self.path}[{self.index}]"

    @property
    def has_picture(self) -> bool:
        """Whether the file is a picture."""
        return self.path.suffix.lower() in IMAGE_SUFFIXES

    def load(self, reading: Reading) -> Mapping[str, npt.NDArray[Any]]:
        """Return raw arrays by input name; images after their pipeline."""
        if self.has_picture:
            (spec,) = reading.specs
            return {spec.name: reading.images.read(self.path, spec, reading.notice)}
        if self.index is None:
            arrays = read_named_arrays(self.path, reading.specs)
        else:
            stacked = reading.stack.read(self.path, reading.specs)
            arrays = {name: array[self.index] for name, array in stacked.items()}
        for spec in reading.specs:
            tell_layout(arrays[spec.name], spec, reading.notice)
        return arrays


def no_samples(path: Path, reason: str, hint: str = "give at least one sample") -> QBCompilerError:
    """Build the error about a place without samples."""
    return QBCompilerError(f"{path}: {reason}", code="NO_CALIBRATION_DATA", hint=hint)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise sample_error(f"{str(path)[:200]}: {error.strerror}") from None


def check_paths(data: Any, *, takes_pictures: bool) -> None:
    """Raise INVALID_CALIBRATION_DATA for a path that does not exist, before the model is read.

    Without `takes_pictures` (nothing says how a picture becomes an input) a picture, or a directory whose samples are
    pictures, is refused too. What is no path, and what lists name, is checked when samples are read.
    """
    for item in data if isinstance(data, list | tuple) else [data]:
        if not isinstance(item, str | Path):
            continue
        path = Path(item)
        if not _exists(path):
            raise _missing(path)
        picture = None if takes_pictures else _first_picture(path)
        if picture is not None:
            raise no_pipeline(picture)


def _first_picture(path: Path) -> Path | None:
    """Return the picture that is the first sample behind a path, None where that is something else."""
    children = sorted(child for child in path.iterdir() if not child.name.startswith(".")) if path.is_dir() else [path]
    kinds = [_kind_of(child) for child in children]
    return None if "array" in kinds or "image" not in kinds else children[kinds.index("image")]


def _missing(path: Path) -> QBCompilerError:
    return sample_error(f"{path}: no such file or directory", "check the calibration data path")


def list_entries(path: Path, reading: Reading) -> list[Entry]:
    """Return the samples behind `path` in a fixed order.

    A directory gives its array files or its images sorted by name, a `.txt` list its lines in order, a `.json` manifest
    its rows, an image one sample, an array file one, or one per entry of a leading axis in front of the input shape.
    """
    if not _exists(path):
        raise _missing(path)
    if path.is_dir():
        return [entry for file in _files_of(path, reading) for entry in list_entries(file, reading)]
    suffix = path.suffix.lower()
    if suffix == ".txt":
        return _listed_entries(path, reading)
    if suffix == ".json":
        from qbc.calibration.manifests import manifest_entries

        return list(manifest_entries(path, reading))
    if suffix in ARRAY_SUFFIXES:
        return _array_entries(path, reading.specs)
    if suffix in IMAGE_SUFFIXES:
        return _image_entries(path, reading.specs)
    raise sample_error(f"{path}: calibration data is {FORMS}", "remove the file, or convert it")


def _files_of(directory: Path, reading: Reading) -> list[Path]:
    children = sorted(child for child in directory.iterdir() if not child.name.startswith("."))
    kinds = [_kind_of(child) for child in children]
    arrays, images, others = (
        [child for child, kind in zip(children, kinds, strict=True) if kind == wanted]
        for wanted in ("array", "image", "other")
    )
    if arrays and images:
        raise sample_error(
            f"{directory}: holds both arrays ({arrays[0].name}) and images ({images[0].name})",
            "keep one kind in the directory; paths of several directories may be listed",
        )
    if not arrays and not images:
        inner = next((child.name for child in children if child.is_dir()), None)
        raise no_samples(
            directory,
            "the calibration directory holds no image or array file",
            f"give the directory inside, {inner!r}" if inner else "put images, or one .npy a sample, there",
        )
    if images and others:
        raise sample_error(f"{others[0]}: not an image, among the images of the directory", "move the file elsewhere")
    skipped = [child.name for child, kind in zip(children, kinds, strict=True) if kind not in ("array", "image")]
    if skipped:
        reading.tell(f"{directory}: {skipped[0]!r} is not read ({len(skipped)} entries that are no samples)")
    if len(reading.specs) > 1 and any(file.suffix.lower() != ".npz" for file in (*arrays, *images)):
        names = ", ".join(spec.name for spec in reading.specs)
        raise sample_error(
            f"{directory}: a directory of .npy files or images only supports single-input models; "
            f"this model has {names}",
            "save one .npz a sample with one array per input name, or write a .json manifest",
        )
    return arrays or images


def _kind_of(child: Path) -> str:
    """Return what an entry of a directory is: "array", "image", "other" file, or "folder" (and what is no file)."""
    if not child.is_file():
        return "folder"
    suffix = child.suffix.lower()
    if suffix in ARRAY_SUFFIXES:
        return "array"
    return "image" if suffix in IMAGE_SUFFIXES else "other"


def resolve_listed(owner: Path, entry: str) -> Path:
    """Return the file that a list or manifest names: relative to the list, else to the working directory."""
    beside = owner.parent / entry
    return Path(entry) if not _exists(beside) and _exists(Path(entry)) else beside


def read_list(path: Path) -> list[Path]:
    """Return the files that a `.txt` list names, one a line; lines that start with # are comments."""
    try:
        lines = read_file_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise sample_error(f"{path}: cannot read the list: {error}") from None
    return [resolve_listed(path, line.strip()) for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _listed_entries(path: Path, reading: Reading) -> list[Entry]:
    files = read_list(path)
    if not files:
        raise no_samples(path, "the list names no file")
    nested = next((file for file in files if file.suffix.lower() in (".txt", ".json")), None)
    if nested is not None:
        raise sample_error(f"{path}: a list may not name another list ({nested.name})")
    return [entry for file in files for entry in list_entries(file, reading)]


def _image_entries(path: Path, specs: Sequence[InputSpec]) -> list[Entry]:
    if len(specs) == 1:
        return [FileEntry(path)]
    raise sample_error(
        f"{path}: one image for a model with {len(specs)} inputs", "write a .json manifest that names a file per input"
    )


def _array_entries(path: Path, specs: Sequence[InputSpec]) -> list[Entry]:
    shapes = read_named_shapes(path, specs)
    lengths = {stack_length(shapes[spec.name], spec) for spec in specs}
    if lengths == {None}:
        return [FileEntry(path)]
    if len(lengths) > 1:
        raise sample_error(f"{path}: the inputs stack different numbers of samples")
    if lengths == {0}:
        raise no_samples(path, "the file stacks no sample")
    return [FileEntry(path, index) for index in range(lengths.pop() or 0)]
