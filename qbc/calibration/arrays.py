"""Array files: `.npy`, `.npz`, and torch tensors, read without ever unpickling objects."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.calibration.inputs import InputSpec, sample_error
from qbc.errors import QBCompilerError

Array = npt.NDArray[Any]

NUMPY_SUFFIXES = frozenset({".npy", ".npz"})
UNNAMED = "arr_0"  # the name that numpy.savez gives to an array without one
TORCH_SUFFIXES = frozenset({".pt", ".pth"})
ARRAY_SUFFIXES = NUMPY_SUFFIXES | TORCH_SUFFIXES


def read_named_arrays(path: Path, specs: Sequence[InputSpec]) -> Mapping[str, Array]:
    """Return the arrays of one file by input name.

    A file with a single array without a name (`numpy.save`, `arr_0` of `numpy.savez`, a torch tensor) is the input of a
    model with one input; arrays with names are those of inputs, one for each.
    """
    loaded = read_arrays(path)
    if isinstance(loaded, np.ndarray):
        if len(specs) != 1:
            raise sample_error(
                f"{path}: one array for a model with {len(specs)} inputs", "save an .npz with one array per input name"
            )
        return {specs[0].name: loaded}
    if len(specs) == 1 and list(loaded) == [UNNAMED]:
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


def read_single_array(path: Path, name: str) -> Array:
    """Return the only array of a file, or the one called `name` where it holds several."""
    loaded = read_arrays(path)
    if isinstance(loaded, np.ndarray):
        return loaded
    if len(loaded) == 1:
        return next(iter(loaded.values()))
    if name not in loaded:
        raise sample_error(f"{path}: no array for input {name!r}; the file holds {', '.join(loaded) or 'nothing'}")
    return loaded[name]


def read_arrays(path: Path) -> Array | dict[str, Array]:
    """Return what a file holds: one array, or arrays by name. `.npy` files are mapped, not read."""
    try:
        if path.stat().st_size == 0:
            raise sample_error(f"{path}: the file is empty", "write the sample again, or remove the file")
        if path.suffix.lower() in TORCH_SUFFIXES:
            return _read_torch(path)
        if path.suffix.lower() == ".npy":
            array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
            return array
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except QBCompilerError:
        raise
    except (OSError, ValueError, EOFError, KeyError, SyntaxError, TypeError, zipfile.BadZipFile, MemoryError) as error:
        raise sample_error(f"{path}: not a readable array file: {_reason(error)}", _pickle_hint(error)) from None
    except Exception as error:  # damaged archives raise whatever zlib, struct and tokenize raise
        raise sample_error(f"{path}: not a readable array file: {type(error).__name__}") from None


def _reason(error: BaseException) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return "it ends before its data do" if "mmap length" in text else text


def _pickle_hint(error: BaseException) -> str | None:
    if "allow_pickle" not in str(error) and "Python objects" not in str(error):
        return None
    return "save a plain numeric array with numpy.save; pickled objects are never loaded"


def _read_torch(path: Path) -> Array | dict[str, Array]:
    import pickle

    import torch

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise sample_error(
            f"{path}: not a file of tensors only",
            "save a tensor, or a dictionary of tensors by input name, with torch.save; other objects are never loaded",
        ) from None
    except (RuntimeError, AttributeError) as error:
        raise sample_error(f"{path}: not a readable tensor file: {_reason(error)}") from None
    if isinstance(loaded, torch.Tensor):
        return tensor_to_array(loaded)
    if isinstance(loaded, Mapping) and all(isinstance(value, torch.Tensor) for value in loaded.values()):
        return {str(name): tensor_to_array(value) for name, value in loaded.items()}
    raise sample_error(f"{path}: expected a tensor or a dictionary of tensors, found {type(loaded).__name__}")


def tensor_to_array(tensor: Any) -> Array:
    """Return a torch tensor as an array; bfloat16, which numpy does not have, becomes float32."""
    import torch

    plain = tensor.detach().cpu()
    if plain.dtype == torch.bfloat16:
        plain = plain.to(torch.float32)
    array: Array = plain.resolve_conj().resolve_neg().numpy()
    return array
