"""Making calibration sets: pictures in, one `.npy` a sample and a list of them out."""

from __future__ import annotations

import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.argument_types import TEXT, described, path_of, whole_of
from qbc.atomic import check_writable, write_file
from qbc.calibration.arrays import is_tensor, tensor_to_array
from qbc.calibration.files import IMAGE_SUFFIXES
from qbc.calibration.images import read_image
from qbc.calibration.recipe import read_recipe
from qbc.errors import ArgumentError, QBCompilerError

Array = npt.NDArray[Any]


def make_calib(
    args_pre: str | Path | Mapping[str, Any],
    data_dir: str | Path,
    save_dir: str | Path,
    save_name: str,
    max_size: int | None = None,
) -> Path:
    """Preprocess pictures as a YAML recipe says and save them as a calibration set.

    `args_pre` is the recipe (a file or its content), `data_dir` a directory whose pictures are taken, those in
    directories below too. Writes `<save_dir>/<save_name>/` with one `.npy` a picture and `<save_dir>/<save_name>.txt`
    with their paths; both are calibration data. `max_size` bounds the number of samples (None and negative numbers do
    not): they are spread evenly over the sorted files. Returns the directory.
    """
    recipe = read_recipe(args_pre)
    return _make(lambda path: recipe.apply(read_image(path, 3), path), data_dir, save_dir, save_name, max_size)


def make_calib_man(
    pre_ftn: Callable[[str], Any],
    data_dir: str | Path,
    save_dir: str | Path,
    save_name: str,
    max_size: int | None = None,
) -> Path:
    """Like `make_calib`, with a function of your own: it gets the path of a picture, returns an array or tensor.

    An exception of the function is an ArgumentError that names the picture, with the exception as its cause; as for all
    errors, nothing is written then.
    """
    if not callable(pre_ftn):
        raise ArgumentError(f"pre_ftn is {described(pre_ftn)}, expected a function from a path to an array")

    def apply(path: Path) -> Array:
        try:
            result = pre_ftn(str(path))
        except Exception as error:  # whatever a function of the user raises
            raise ArgumentError(f"pre_ftn failed for {path}: {type(error).__name__}: {error}") from error
        return _as_array(result, path)

    return _make(apply, data_dir, save_dir, save_name, max_size)


def _as_array(result: Any, path: Path) -> Array:
    """Return what `pre_ftn` made of a picture as an array of numbers; anything else is an ArgumentError."""
    if is_tensor(result):
        return tensor_to_array(result, f"pre_ftn for {path}")
    try:
        array = np.asarray(result)
    except ValueError:  # nested lists of unequal lengths
        array = None
    if array is None or array.dtype.kind not in "fiub":
        raise ArgumentError(f"pre_ftn returned {described(result)} for {path}, expected an array or tensor")
    return array


def _make(
    apply: Callable[[Path], Array], data_dir: str | Path, save_dir: str | Path, save_name: str, max_size: int | None
) -> Path:
    TEXT.check("save_name", save_name)
    pictures_directory, target_directory = path_of("data_dir", data_dir), path_of("save_dir", save_dir)
    limit = None if max_size is None else whole_of("max_size", max_size)
    if not save_name or Path(save_name).name != save_name:
        raise ArgumentError(f"save_name {save_name!r} is not a plain name")
    pictures = _pictures(pictures_directory, limit)
    directory = target_directory / save_name
    targets = _targets(pictures, pictures_directory, directory)
    listing = target_directory / f"{save_name}.txt"
    _check_replaced(directory, {target.name for target in targets})
    with _new_files(directory) as scratch:
        check_writable(listing)
        for picture, target in zip(pictures, targets, strict=True):
            sample = apply(picture)
            with _writing(directory):
                np.save(scratch / target.name, sample, allow_pickle=False)
    write_file(listing, "".join(f"{save_name}/{target.name}\n" for target in targets))
    return directory


@contextmanager
def _new_files(directory: Path) -> Iterator[Path]:
    """Yield a directory whose files are those of `directory` when the block ends; when it fails, nothing is left."""
    scratch = directory.with_name(f".{directory.name}.{os.getpid()}.tmp")
    made = [path for path in (directory.parent, *directory.parent.parents) if not path.exists()]
    try:
        with _writing(directory):
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
        yield scratch
        with _writing(directory):
            directory.mkdir(exist_ok=True)
            for file in scratch.iterdir():
                file.replace(directory / file.name)
            scratch.rmdir()
    except BaseException:  # an interruption too
        shutil.rmtree(scratch, ignore_errors=True)
        for path in made:  # the innermost comes first
            with suppress(OSError):
                path.rmdir()
        raise


def _check_replaced(directory: Path, names: set[str]) -> None:
    """Raise OUTPUT_WRITE_ERROR where a directory holds files that the new samples do not replace."""
    with _writing(directory):
        odd = sorted({path.name for path in directory.iterdir()} - names) if directory.exists() else []
    if odd:
        raise QBCompilerError(
            f"{directory} holds {odd[0]!r}, which is not one of the new samples",
            code="OUTPUT_WRITE_ERROR",
            hint="choose another save_name, or empty the directory",
        )


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """What the operating system refuses inside is OUTPUT_WRITE_ERROR."""
    try:
        yield
    except OSError as error:
        message = f"cannot write the calibration set {directory}: {error.strerror or error}"
        raise QBCompilerError(message, code="OUTPUT_WRITE_ERROR") from None


def _pictures(directory: Path, max_size: int | None) -> list[Path]:
    if not directory.is_dir():
        raise ArgumentError(f"data_dir {str(directory)!r} is no directory")
    files = sorted(path for path in directory.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())
    if not files:
        raise QBCompilerError(
            f"{directory}: no picture in it or in directories below",
            code="NO_CALIBRATION_DATA",
            hint=f"known are {', '.join(sorted(IMAGE_SUFFIXES))}",
        )
    if max_size is None or max_size < 0 or max_size >= len(files):
        return files
    if max_size == 0:
        raise ArgumentError("max_size must not be 0")
    return [files[index * len(files) // max_size] for index in range(max_size)]


def _targets(pictures: list[Path], root: Path, directory: Path) -> list[Path]:
    """Return a file for each picture: its path below the root, with the suffix and a number where names would meet."""
    parts = [picture.relative_to(root) for picture in pictures]
    stems = ["__".join(part.with_suffix("").parts) for part in parts]
    counts = Counter(stems)
    taken = {stem for stem in stems if counts[stem] == 1}
    names = []
    for stem, part in zip(stems, parts, strict=True):
        names.append(stem if stem in taken else _free_name(f"{stem}_{part.suffix[1:].lower()}", taken))
    return [directory / f"{name}.npy" for name in names]


def _free_name(name: str, taken: set[str]) -> str:
    """Return `name`, or it with the first number that makes it new, and note it in `taken`."""
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    free = next(candidate for candidate in itertools.chain([name], numbered) if candidate not in taken)
    taken.add(free)
    return free
