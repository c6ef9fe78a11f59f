"""Sample sources: what `quant-collect` iterates over, once per data pass, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.calibration.files import FileEntry, list_entries
from qbc.calibration.inputs import InputSpec, Notice, fit_array, sample_error, stack_length
from qbc.errors import QBCompilerError

Sample = dict[str, npt.NDArray[np.generic]]
RANDOM_SAMPLES = 16


@dataclass(frozen=True)
class FileSamples:
    """Samples in files: loaded one at a time, so memory stays flat."""

    entries: tuple[FileEntry, ...]
    specs: tuple[InputSpec, ...]
    notice: Notice | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Sample]:
        for entry in self.entries:
            raw = entry.load(self.specs)
            yield {spec.name: fit_array(raw[spec.name], spec, entry.origin, self.notice) for spec in self.specs}


@dataclass(frozen=True)
class ArraySamples:
    """Samples in memory: arrays for a model with one input, or dictionaries by input name."""

    samples: tuple[Mapping[str, npt.NDArray[Any]], ...]
    specs: tuple[InputSpec, ...]
    notice: Notice | None = None

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        for index, raw in enumerate(self.samples):
            origin = f"sample {index}"
            yield {spec.name: fit_array(raw[spec.name], spec, origin, self.notice) for spec in self.specs}


@dataclass(frozen=True)
class RandomSamples:
    """Seeded noise: standard normal for float inputs, 0 or 1 for integers. For smoke tests, not for accuracy."""

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
    data: SampleData, specs: Sequence[InputSpec], notice: Notice | None = None
) -> FileSamples | ArraySamples:
    """Return the sample source for a path, an array, a dictionary of arrays, or a list of those.

    Raises NO_CALIBRATION_DATA when there is no sample, INVALID_CALIBRATION_DATA when one cannot be read or does not
    fit (file contents are checked when the source is iterated), UNSUPPORTED_FEATURE for images.
    """
    source = _open(data, tuple(specs), notice)
    if len(source) == 0:
        raise QBCompilerError(
            "the calibration data holds no sample", code="NO_CALIBRATION_DATA", hint="pass at least one sample"
        )
    return source


def _open(data: SampleData, specs: tuple[InputSpec, ...], notice: Notice | None) -> FileSamples | ArraySamples:
    if isinstance(data, str | Path):
        return FileSamples(tuple(list_entries(Path(data), specs)), specs, notice)
    if isinstance(data, np.ndarray | Mapping):
        return ArraySamples(tuple(_in_memory(data, specs, 0)), specs, notice)
    if not isinstance(data, Sequence):
        raise sample_error(f"calibration data is a path or arrays, not {type(data).__name__}")
    if all(isinstance(item, str | Path) for item in data):
        return FileSamples(tuple(entry for item in data for entry in list_entries(Path(item), specs)), specs, notice)
    samples: list[Mapping[str, npt.NDArray[Any]]] = []
    for index, item in enumerate(data):
        samples.extend(_in_memory(item, specs, index))
    return ArraySamples(tuple(samples), specs, notice)


def _in_memory(item: Any, specs: tuple[InputSpec, ...], index: int) -> list[Mapping[str, npt.NDArray[Any]]]:
    named = _by_name(item, specs, index)
    lengths = {stack_length(named[spec.name].shape, spec) for spec in specs}
    if lengths == {None}:
        return [named]
    if len(lengths) > 1:
        raise sample_error(f"sample {index}: the inputs stack different numbers of samples")
    return [{name: array[i] for name, array in named.items()} for i in range(lengths.pop() or 0)]


def _by_name(item: Any, specs: tuple[InputSpec, ...], index: int) -> dict[str, npt.NDArray[Any]]:
    if isinstance(item, np.ndarray):
        if len(specs) != 1:
            raise sample_error(
                f"sample {index}: one array for a model with {len(specs)} inputs", "pass a dictionary by name"
            )
        return {specs[0].name: item}
    if isinstance(item, list | tuple) and len(item) == len(specs):
        return {spec.name: np.asarray(array) for spec, array in zip(specs, item, strict=True)}
    if not isinstance(item, Mapping):
        raise sample_error(f"sample {index}: expected an array or a dictionary of arrays, found {type(item).__name__}")
    names = {spec.name for spec in specs}
    if set(item) != names:
        odd = sorted(set(item) ^ names)[0]
        raise sample_error(f"sample {index}: inputs are {', '.join(sorted(names))}; {odd!r} is missing or unknown")
    return {name: np.asarray(array) for name, array in item.items()}


def _random_array(rng: np.random.Generator, spec: InputSpec) -> npt.NDArray[np.generic]:
    if np.dtype(spec.dtype).kind == "f":
        return rng.standard_normal(spec.shape, dtype=np.float32).astype(spec.dtype, copy=False)
    return rng.integers(0, 2, spec.shape).astype(spec.dtype)
