"""Sample sources: what `quant-collect` iterates over, once per data pass, in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.argument_types import described
from qbc.calibration.arrays import is_tensor, tensor_to_array
from qbc.calibration.constant_samples import ConstantWatch
from qbc.calibration.files import Entry, Reading, list_entries
from qbc.calibration.inputs import (
    InputSpec,
    Notice,
    assign_by_shape,
    fit_array,
    name_hint,
    sample_error,
    stack_length,
    tell_layout,
)
from qbc.calibration.prefetch import prefetch
from qbc.calibration.preprocessing import Preprocessing
from qbc.errors import QBCompilerError

Sample = dict[str, npt.NDArray[np.generic]]
RANDOM_SAMPLES = 16
LARGEST_SAMPLE = 1 << 40  # elements of one random input


@dataclass(frozen=True)
class FileSamples:
    """Samples in files: a thread reads ahead while the consumer works, memory stays flat."""

    entries: tuple[Entry, ...]
    reading: Reading

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Sample]:
        watch = ConstantWatch(self.reading.specs, len(self))
        for entry, (sample, notices) in zip(self.entries, prefetch(self._load, len(self)), strict=True):
            for message in (*notices, *watch.look(sample, entry.origin)):
                self.reading.tell(message)
            yield sample

    @property
    def has_pictures(self) -> bool:
        """Whether a sample is, or holds, a picture."""
        return any(entry.has_picture for entry in self.entries)

    def raw(self, index: int) -> Mapping[str, npt.NDArray[Any]]:
        """Return the arrays of one sample as they are in the files (images after their pipeline)."""
        return self.entries[index].load(self.reading)

    def _load(self, index: int) -> tuple[Sample, list[str]]:
        """Load one sample, with the notices it gave: those are told in the order of samples, by the consumer."""
        notices: list[str] = []
        entry, reading = self.entries[index], replace(self.reading, notice=notices.append)
        raw = entry.load(reading)
        return {
            spec.name: fit_array(raw[spec.name], spec, entry.origin, reading.notice) for spec in reading.specs
        }, notices


@dataclass(frozen=True)
class ArraySamples:
    """Samples in memory: arrays for a model with one input, or dictionaries by input name."""

    samples: tuple[Mapping[str, npt.NDArray[Any]], ...]
    specs: tuple[InputSpec, ...]
    notice: Notice | None = None
    has_pictures = False

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        watch = ConstantWatch(self.specs, len(self))
        for index, raw in enumerate(self.samples):
            origin = f"sample {index}"
            for spec in self.specs:
                tell_layout(raw[spec.name], spec, self.notice)
            sample = {spec.name: fit_array(raw[spec.name], spec, origin, self.notice) for spec in self.specs}
            for message in watch.look(sample, origin):
                if self.notice is not None:
                    self.notice(message)
            yield sample


@dataclass(frozen=True)
class RandomSamples:
    """Seeded noise: bytes where pixels are expected, standard normal for other floats, 0 or 1 for integers.

    For smoke tests, not for accuracy.
    """

    specs: tuple[InputSpec, ...]
    count: int = RANDOM_SAMPLES
    seed: int = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Sample]:
        for index in range(self.count):
            rng = np.random.default_rng((self.seed, index))
            yield {spec.name: _random_array(rng, spec) for spec in self.specs}


SampleData = (
    str | Path | npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | Sequence[Any]
)  # a path, arrays in memory, or a list of either


def open_samples(
    data: SampleData,
    specs: Sequence[InputSpec],
    notice: Notice | None = None,
    preprocessing: Preprocessing | None = None,
) -> FileSamples | ArraySamples:
    """Return the sample source for a path, an array or tensor, a dictionary of those, or a list of any.

    `preprocessing` is what happens to images; arrays are taken as they are. Raises NO_CALIBRATION_DATA when there is no
    sample, INVALID_CALIBRATION_DATA when one cannot be read or does not fit (file contents are checked when the source
    is iterated).
    """
    images = preprocessing or Preprocessing()
    images.check_names(specs)
    source = _open(data, Reading(tuple(specs), images, notice))
    if len(source) == 0:
        raise QBCompilerError(
            "the calibration data holds no sample", code="NO_CALIBRATION_DATA", hint="pass at least one sample"
        )
    return source


def _open(data: SampleData, reading: Reading) -> FileSamples | ArraySamples:
    if isinstance(data, str | Path):
        return FileSamples(tuple(list_entries(Path(data), reading)), reading)
    if isinstance(data, Mapping) or _is_array(data):
        return ArraySamples(tuple(_in_memory(data, reading.specs, 0)), reading.specs, reading.notice)
    if not isinstance(data, Sequence):
        raise sample_error(f"calib_data_path is {described(data)}, expected a path, arrays, or a list of either")
    if all(isinstance(item, str | Path) for item in data):
        return FileSamples(tuple(entry for item in data for entry in list_entries(Path(item), reading)), reading)
    samples: list[Mapping[str, npt.NDArray[Any]]] = []
    for index, item in enumerate(data):
        samples.extend(_in_memory(item, reading.specs, index))
    return ArraySamples(tuple(samples), reading.specs, reading.notice)


def _is_array(item: Any) -> bool:
    return isinstance(item, np.ndarray) or is_tensor(item)


def _to_array(item: Any, index: int) -> npt.NDArray[Any]:
    if is_tensor(item):
        return tensor_to_array(item, f"sample {index}")
    try:
        return np.asarray(item)
    except ValueError:  # nested lists of unequal lengths
        raise sample_error(f"sample {index}: {described(item)} is no array", "pass numpy arrays or tensors") from None


def _in_memory(item: Any, specs: tuple[InputSpec, ...], index: int) -> list[Mapping[str, npt.NDArray[Any]]]:
    named = _by_name(item, specs, index)
    lengths = {stack_length(named[spec.name].shape, spec) for spec in specs}
    if lengths == {None}:
        return [named]
    if len(lengths) > 1:
        raise sample_error(f"sample {index}: the inputs stack different numbers of samples")
    return [{name: array[i] for name, array in named.items()} for i in range(lengths.pop() or 0)]


def _by_name(item: Any, specs: tuple[InputSpec, ...], index: int) -> dict[str, npt.NDArray[Any]]:
    if _is_array(item):
        if len(specs) != 1:
            raise sample_error(
                f"sample {index}: one array for a model with {len(specs)} inputs", "pass a dictionary by name"
            )
        return {specs[0].name: _to_array(item, index)}
    if isinstance(item, list | tuple) and len(item) == len(specs):
        return _by_shape([_to_array(array, index) for array in item], specs, index)
    if not isinstance(item, Mapping):
        raise sample_error(f"sample {index}: expected an array or a dictionary of arrays, found {type(item).__name__}")
    names = [spec.name for spec in specs]
    unknown = next((name for name in item if name not in names), None)
    missing = [name for name in names if name not in item]
    if unknown is not None:
        message = f"sample {index}: {unknown!r} is no input; inputs are {', '.join(names)}"
        raise sample_error(message, name_hint(str(unknown), missing) if missing else f"leave {unknown!r} out")
    if missing:
        inputs = ", ".join(names)
        raise sample_error(f"sample {index}: no array for input {missing[0]!r}", f"give one for each of {inputs}")
    return {name: _to_array(array, index) for name, array in item.items()}


def _by_shape(arrays: list[npt.NDArray[Any]], specs: tuple[InputSpec, ...], index: int) -> dict[str, npt.NDArray[Any]]:
    if len(specs) == 1:
        return {specs[0].name: arrays[0]}
    shapes = [array.shape for array in arrays]
    names = assign_by_shape(shapes, specs, f"sample {index}", "pass a dictionary by input name")
    return dict(zip(names, arrays, strict=True))


def _random_array(rng: np.random.Generator, spec: InputSpec) -> npt.NDArray[np.generic]:
    if math.prod(spec.shape) > LARGEST_SAMPLE:
        raise QBCompilerError(
            f"input {spec.name!r} of shape {list(spec.shape)} is too large for memory",
            code="RESOURCE_ERROR",
            hint="bind smaller sizes with input_shapes (--input-shape)",
        )
    if spec.is_uint8 or spec.is_raw:
        pixels = rng.integers(0, 256, spec.shape, dtype=np.uint8)
        return fit_array(pixels, spec, "random sample")
    if np.dtype(spec.dtype).kind == "f":
        return rng.standard_normal(spec.shape, dtype=np.float32).astype(spec.dtype, copy=False)
    return rng.integers(0, 2, spec.shape).astype(spec.dtype)
