"""Array files: `.npy`, `.npz`, and torch tensors, read without ever unpickling objects."""

from __future__ import annotations

import difflib
import math
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from qbc.calibration.inputs import InputSpec, sample_error
from qbc.errors import QBCompilerError

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Content = TypeVar("Content", Array, Shape)

UNNAMED = "arr_0"  # the name that numpy.savez gives to an array without one
TORCH_SUFFIXES = frozenset({".pt", ".pth"})
ARRAY_SUFFIXES = TORCH_SUFFIXES | {".npy", ".npz"}
REWRITE = "write the sample again, or remove the file"
MOST_DEFLATED = 1100  # deflate shrinks at most to 1/1032


def read_named_arrays(path: Path, specs: Sequence[InputSpec]) -> Mapping[str, Array]:
    """Return the arrays of one file by input name.

    A file with a single array without a name (`numpy.save`, `arr_0` of `numpy.savez`, a torch tensor) is the input of a
    model with one input; arrays with names are those of inputs, one for each.
    """
    return _by_input_name(path, read_arrays(path), specs)


def read_named_shapes(path: Path, specs: Sequence[InputSpec]) -> Mapping[str, Shape]:
    """Return the shapes of `read_named_arrays`; of `.npy` and `.npz` files only the headers are read."""
    if path.suffix.lower() == ".npz":
        return _by_input_name(path, _guarded(path, lambda: _npz_shapes(path)), specs)
    return {name: array.shape for name, array in read_named_arrays(path, specs).items()}


def _by_input_name(
    path: Path, loaded: Content | Mapping[str, Content], specs: Sequence[InputSpec]
) -> Mapping[str, Content]:
    if not isinstance(loaded, Mapping):
        if len(specs) != 1:
            names = [spec.name for spec in specs]
            raise sample_error(
                f"{path}: one array for a model with {len(specs)} inputs",
                f"save one array per input name: {saving_call(path, names)}",
            )
        return {specs[0].name: loaded}
    if len(specs) == 1 and list(loaded) == [UNNAMED]:
        return {specs[0].name: loaded[UNNAMED]}
    missing = [spec.name for spec in specs if spec.name not in loaded]
    if missing:
        raise _no_array(path, missing[0], loaded, [spec.name for spec in specs])
    unknown = sorted(set(loaded) - {spec.name for spec in specs})
    if unknown:
        inputs = ", ".join(spec.name for spec in specs)
        raise sample_error(
            f"{path}: {unknown[0]!r} is no input; inputs are {inputs}", "leave the array out of the file"
        )
    return loaded


def read_single_array(path: Path, name: str | None = None) -> Array:
    """Return the only array of a file, or the one called `name` where it holds several."""
    loaded = read_arrays(path)
    if isinstance(loaded, np.ndarray):
        return loaded
    if len(loaded) == 1:
        return next(iter(loaded.values()))
    if name is None:
        raise sample_error(f"{path}: one array is expected; the file holds {', '.join(loaded) or 'nothing'}")
    if name not in loaded:
        raise _no_array(path, name, loaded, [name])
    return loaded[name]


def _no_array(path: Path, name: str, loaded: Mapping[str, Any], inputs: Sequence[str]) -> QBCompilerError:
    """Build the error about an absent array: it has a name much like the right one, or the file is written anew."""
    message = f"{path}: no array for input {name!r}; the file holds {', '.join(loaded) or 'nothing'}"
    near = difflib.get_close_matches(name, [key for key in loaded if key not in inputs], n=1)
    if near:
        return sample_error(message, f"rename {near[0]!r} to {name!r}, if that is meant")
    return sample_error(message, f"save one array a name: {saving_call(path, inputs)}")


def saving_call(path: Path, names: Sequence[str]) -> str:
    """Return the call that writes a file with an array for each of `names`."""
    pairs = ", ".join(f"{name!r}: ..." for name in names)
    if path.suffix.lower() in TORCH_SUFFIXES:
        return f"torch.save({{{pairs}}}, {path.name!r})"
    plain = all(name.isidentifier() and not iskeyword(name) and name != "file" for name in names)
    arguments = ", ".join(f"{name}=..." for name in names) if plain else f"**{{{pairs}}}"
    return f"np.savez({path.with_suffix('.npz').name!r}, {arguments})"


def read_arrays(path: Path) -> Array | dict[str, Array]:
    """Return what a file holds: one array, or arrays by name. `.npy` files are mapped, not read."""
    return _guarded(path, lambda: _read(path))


def _read(path: Path) -> Array | dict[str, Array]:
    if path.suffix.lower() in TORCH_SUFFIXES:
        return _read_torch(path)
    if path.suffix.lower() == ".npy":
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
        return array
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _npz_shapes(path: Path) -> dict[str, Shape]:
    """Return the shapes in the headers of an archive; ValueError where one claims more than the file can hold."""
    found = {}
    room = MOST_DEFLATED * path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as handle:
                shape, dtype = _read_header(handle)
            size = math.prod(shape) * dtype.itemsize
            if size > min(entry.file_size, room) or dtype.itemsize == 0:
                raise ValueError("it ends before its data do")
            found[entry.filename.removesuffix(".npy")] = shape
    return found


def _read_header(handle: IO[bytes]) -> tuple[Shape, np.dtype[Any]]:
    read = np.lib.format.read_array_header_1_0
    if np.lib.format.read_magic(handle) != (
        1,
        0,
    ):  # later versions differ in the length and encoding of the header only
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(handle)
    return tuple(shape), dtype


Result = TypeVar("Result")


def _guarded(path: Path, read: Callable[[], Result]) -> Result:
    """Return what `read` returns; INVALID_CALIBRATION_DATA that names the file for all that can go wrong in it."""
    try:
        if path.stat().st_size == 0:
            raise sample_error(f"{path}: the file is empty", REWRITE)
        return read()
    except QBCompilerError:
        raise
    except (OSError, ValueError, EOFError, KeyError, SyntaxError, TypeError, zipfile.BadZipFile, MemoryError) as error:
        raise sample_error(f"{path}: not a readable array file: {_reason(error)}", _remedy(error)) from None
    except Exception as error:  # damaged archives raise whatever zlib, struct and tokenize raise
        raise sample_error(f"{path}: not a readable array file: {type(error).__name__}", _remedy(error)) from None


def _reason(error: BaseException) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return "it ends before its data do" if "mmap length" in text else text


def _remedy(error: BaseException) -> str:
    if "allow_pickle" not in str(error) and "Python objects" not in str(error):
        return REWRITE
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
        raise sample_error(f"{path}: not a readable tensor file: {_reason(error)}", REWRITE) from None
    if isinstance(loaded, torch.Tensor):
        return tensor_to_array(loaded, str(path))
    if isinstance(loaded, Mapping) and all(isinstance(value, torch.Tensor) for value in loaded.values()):
        return {str(name): tensor_to_array(value, f"{path}: {name}") for name, value in loaded.items()}
    raise sample_error(f"{path}: expected a tensor or a dictionary of tensors, found {type(loaded).__name__}")


def is_tensor(item: object) -> bool:
    """Return whether `item` is a torch tensor (torch is not imported to find out)."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(item, torch.Tensor)


def tensor_to_array(tensor: Any, origin: str) -> Array:
    """Return a torch tensor as an array; floats that numpy does not have, as bfloat16, become float32.

    Raises INVALID_CALIBRATION_DATA that names `origin` for tensors without plain elements (sparse, quantized, meta).
    """
    import torch

    try:
        plain = tensor.detach().cpu()
        if plain.is_floating_point() and plain.dtype not in (torch.float16, torch.float32, torch.float64):
            plain = plain.to(torch.float32)
        array: Array = plain.resolve_conj().resolve_neg().numpy()
    except (RuntimeError, TypeError):
        raise sample_error(
            f"{origin}: a tensor of the type {tensor.dtype} and layout {tensor.layout} on {tensor.device} is no array",
            "make it a dense tensor of plain numbers: to_dense(), dequantize(), float()",
        ) from None
    return array
