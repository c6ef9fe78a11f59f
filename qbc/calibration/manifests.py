"""JSON manifests: which files belong to which inputs.

    {"info": {"input names": ["image", "mask"], "input shapes": [[1, -1, -1, 3], [1, 64, 64, 1]]},
     "calib paths": [["a.npy", "a_mask.npy"], ["b.npy", "b_mask.npy"]]}

A column belongs to the input of its name; columns without names are matched by shape where only one assignment fits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from qbc.calibration.arrays import ARRAY_SUFFIXES, read_single_array
from qbc.calibration.files import IMAGE_SUFFIXES, Reading, no_samples, resolve_listed
from qbc.calibration.inputs import (
    InputSpec,
    accepted_shapes,
    assign_by_shape,
    may_have,
    name_hint,
    sample_error,
    tell_layout,
)
from qbc.errors import counted
from qbc.structured_text import read_file_text

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Manifest:
    """A parsed manifest: `names` and `shapes` are empty where the file does not give them."""

    path: Path
    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    rows: tuple[tuple[Path, ...], ...]


@dataclass(frozen=True)
class ManifestEntry:
    """One row: a file for each input."""

    manifest: Path
    row: int
    files: tuple[tuple[str, Path], ...]

    @property
    def origin(self) -> str:
        """How errors name the sample."""
        return f"{self.manifest} row {self.row} ({', '.join(path.name for _, path in self.files)})"

    @property
    def has_picture(self) -> bool:
        """Whether a file of the row is a picture."""
        return any(path.suffix.lower() in IMAGE_SUFFIXES for _, path in self.files)

    def load(self, reading: Reading) -> Mapping[str, npt.NDArray[Any]]:
        """Return raw arrays by input name."""
        specs = {spec.name: spec for spec in reading.specs}
        return {name: _load(path, specs[name], reading) for name, path in self.files}


def manifest_entries(path: Path, reading: Reading) -> list[ManifestEntry]:
    """Return the rows of a manifest, their columns assigned to inputs; every file must exist."""
    manifest = read_manifest(path)
    if not manifest.rows:
        raise no_samples(path, '"calib paths" has no row')
    for index, row in enumerate(manifest.rows):
        missing = next((file for file in row if not file.is_file()), None)
        if missing is not None:
            raise sample_error(f"{path}: row {index}: {missing}: no such file", "correct the path in the manifest")
    order = _assign(manifest, reading)
    return [ManifestEntry(path, index, tuple(zip(order, row, strict=True))) for index, row in enumerate(manifest.rows)]


def read_manifest(path: Path) -> Manifest:
    """Parse a manifest; raises INVALID_CALIBRATION_DATA that names the key that is wrong."""
    try:
        data = json.loads(read_file_text(path))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise sample_error(f"{path}: not a JSON manifest: {error.msg} at {where}", f"correct {where}") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise sample_error(f"{path}: not a JSON manifest: {error}", "write the manifest as JSON in UTF-8") from None
    if not isinstance(data, dict):
        raise sample_error(f'{path}: a manifest is an object with the key "calib paths"')
    info = data.get("info", {})
    if not isinstance(info, dict):
        raise sample_error(f'{path}: "info" must be an object')
    rows = _rows(path, data.get("calib paths"))
    columns = len(rows[0]) if rows else 0
    names = _names(path, info.get("input names"))
    shapes = _shapes(path, info.get("input shapes"))
    for key, found in (("input names", names), ("input shapes", shapes)):
        if found and rows and len(found) != columns:
            raise sample_error(f'{path}: "{key}" has {len(found)} entries, the rows have {columns} files')
    return Manifest(path, names, shapes, rows)


def _rows(path: Path, value: Any) -> tuple[tuple[Path, ...], ...]:
    if not isinstance(value, list):
        raise sample_error(f'{path}: "calib paths" must be a list of rows, one file per input')
    rows: list[tuple[Path, ...]] = []
    for index, row in enumerate(value):
        files = [row] if isinstance(row, str) else row
        if not isinstance(files, list) or not files or not all(isinstance(file, str) and file for file in files):
            raise sample_error(f'{path}: row {index} of "calib paths" is not a list of file names')
        if "\0" in "".join(files):
            raise sample_error(f'{path}: row {index} of "calib paths" has a file name with a zero byte')
        if rows and len(files) != len(rows[0]):
            raise sample_error(f"{path}: row {index} has {len(files)} files, row 0 has {len(rows[0])}")
        rows.append(tuple(resolve_listed(path, file) for file in files))
    return tuple(rows)


def _names(path: Path, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise sample_error(f'{path}: "input names" must be a list of names')
    if len(set(value)) != len(value):
        raise sample_error(f'{path}: "input names" names an input twice')
    return tuple(value)


def _shapes(path: Path, value: Any) -> tuple[Shape, ...]:
    if value is None:
        return ()
    ok = isinstance(value, list) and all(
        isinstance(shape, list) and all(isinstance(dim, int) and not isinstance(dim, bool) for dim in shape)
        for shape in value
    )
    if not ok:
        raise sample_error(f'{path}: "input shapes" must be a list of lists of integers (-1 for an open size)')
    return tuple(tuple(shape) for shape in value)


def _assign(manifest: Manifest, reading: Reading) -> tuple[str, ...]:
    """Return the input name of each column."""
    specs = reading.specs
    columns = len(manifest.rows[0])
    if columns != len(specs):
        raise sample_error(
            f"{manifest.path}: the rows have {counted(columns, 'file')}, the model has {counted(len(specs), 'input')} "
            f"({', '.join(spec.name for spec in specs)})"
        )
    if manifest.names:
        return _by_name(manifest, specs)
    if len(specs) == 1:
        return (specs[0].name,)
    return _by_shape(manifest, reading)


def _by_name(manifest: Manifest, specs: Sequence[InputSpec]) -> tuple[str, ...]:
    known = {spec.name: spec for spec in specs}
    unknown = next((name for name in manifest.names if name not in known), None)
    if unknown is not None:
        message = f'{manifest.path}: "input names" has {unknown!r}, which is no input; inputs are {", ".join(known)}'
        raise sample_error(message, name_hint(unknown, [name for name in known if name not in manifest.names]))
    for name, shape in zip(manifest.names, manifest.shapes, strict=False):
        if not may_have(shape, known[name]):
            raise sample_error(
                f'{manifest.path}: "input shapes" gives {list(shape)} for input {name!r}, '
                f"expected {_expected(known[name])}"
            )
    return manifest.names


def _by_shape(manifest: Manifest, reading: Reading) -> tuple[str, ...]:
    specs = reading.specs
    shapes = manifest.shapes or tuple(_shape_of(file, reading) for file in manifest.rows[0])
    return assign_by_shape(shapes, specs, str(manifest.path), 'add "input names" to "info"')


def _shape_of(path: Path, reading: Reading) -> Shape:
    if path.suffix.lower() not in ARRAY_SUFFIXES or not path.is_file():
        raise sample_error(f"{path}: the shape of this file cannot be told", 'add "input names" to "info"')
    return tuple(read_single_array(path).shape)


def _expected(spec: InputSpec) -> str:
    return " or ".join(str(list(shape)) for shape in accepted_shapes(spec))


def _load(path: Path, spec: InputSpec, reading: Reading) -> npt.NDArray[Any]:
    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        return reading.images.read(path, spec, reading.notice)
    if suffix in ARRAY_SUFFIXES:
        array = read_single_array(path, spec.name)
        tell_layout(array, spec, reading.notice)
        return array
    raise sample_error(f"{path}: a manifest names images, .npy, .npz or .pt files")
