"""What a graph input accepts, and how one sample array is fitted to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.errors import QBCompilerError

Notice = Callable[[str], None]

# Source layout -> axes that bring a source array to the channel-last order of the graph argument.
SOURCE_PERMUTATIONS: dict[str, tuple[int, ...]] = {
    "ncw": (0, 2, 1),
    "nchw": (0, 2, 3, 1),
    "ncdhw": (0, 2, 3, 4, 1),
}


@dataclass(frozen=True)
class InputSpec:
    """One graph input: name, shape and dtype of the channel-last argument, and the layout of the source model."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    source_layout: str | None = None

    @property
    def source_shape(self) -> tuple[int, ...] | None:
        """Shape in the layout of the source model, or None where both layouts are the same."""
        permutation = self.permutation
        if permutation is None:
            return None
        shape = [0] * len(permutation)
        for target, source in enumerate(permutation):
            shape[source] = self.shape[target]
        return tuple(shape)

    @property
    def permutation(self) -> tuple[int, ...] | None:
        """Axes that bring an array in source layout to the argument layout."""
        return None if self.source_layout is None else SOURCE_PERMUTATIONS[self.source_layout]


def fit_array(
    array: npt.NDArray[Any], spec: InputSpec, origin: str, notice: Notice | None = None
) -> npt.NDArray[np.generic]:
    """Return `array` in the shape, layout and dtype of `spec`.

    Accepted shapes: the argument's, the source layout's, and both without a leading axis of one. Where both layouts
    fit, the array is read as channel-last. `origin` names the sample in errors (INVALID_CALIBRATION_DATA): wrong
    shape (with the axis order that would fit), wrong dtype, empty, NaN or infinite.
    """
    if array.size == 0:
        raise sample_error(f"{origin}: the sample for input {spec.name!r} is empty (shape {list(array.shape)})")
    arranged = _arrange(array, spec, origin)
    return _convert(arranged, spec, origin, notice)


def fits(shape: tuple[int, ...], spec: InputSpec) -> bool:
    """Return whether an array of `shape` is one sample of the input in some accepted layout."""
    return any(shape == accepted for accepted, _ in _accepted(spec))


def stack_length(shape: tuple[int, ...], spec: InputSpec) -> int | None:
    """Return how many samples an array of `shape` stacks along a leading axis, or None when it is not a stack."""
    if len(shape) < 2 or fits(shape, spec) or not fits(shape[1:], spec):
        return None
    return shape[0]


def sample_error(message: str, hint: str | None = None) -> QBCompilerError:
    """Build the error about one calibration sample."""
    return QBCompilerError(message, code="INVALID_CALIBRATION_DATA", hint=hint)


def _accepted(spec: InputSpec) -> list[tuple[tuple[int, ...], bool]]:
    """Return the accepted shapes in order of preference, with whether each is in source layout."""
    forms = [(spec.shape, False)]
    if spec.source_shape is not None:
        forms.append((spec.source_shape, True))
    if spec.shape and spec.shape[0] == 1:
        forms.extend([(shape[1:], is_source) for shape, is_source in list(forms)])
    return forms


def _arrange(array: npt.NDArray[Any], spec: InputSpec, origin: str) -> npt.NDArray[Any]:
    for shape, is_source in _accepted(spec):
        if array.shape != shape:
            continue
        full = array if array.ndim == len(spec.shape) else array[None]
        if not is_source:
            return full
        return full.transpose(spec.permutation)
    expected = " or ".join(str(list(shape)) for shape, _ in _accepted(spec))
    raise sample_error(
        f"{origin}: input {spec.name!r} expects shape {expected}, found {list(array.shape)}",
        _permutation_hint(array, spec),
    )


def _permutation_hint(array: npt.NDArray[Any], spec: InputSpec) -> str | None:
    if array.ndim > 5:
        return None
    for shape, _ in _accepted(spec):
        if len(shape) != array.ndim or sorted(shape) != sorted(array.shape):
            continue
        for axes in itertools.permutations(range(array.ndim)):
            if tuple(array.shape[axis] for axis in axes) == shape:
                return f"transpose the sample with axes {list(axes)} to get {list(shape)}"
    return None


def _convert(array: npt.NDArray[Any], spec: InputSpec, origin: str, notice: Notice | None) -> npt.NDArray[np.generic]:
    target = np.dtype(spec.dtype)
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "b") != (target.kind == "b"):
        raise sample_error(f"{origin}: input {spec.name!r} expects {spec.dtype}, found {array.dtype}")
    if target.kind != "f":
        return _convert_integers(array, spec, origin)
    if array.dtype.kind != "f" and notice is not None:
        notice(f"calibration samples for input {spec.name!r} are {array.dtype}; they are read as {spec.dtype} unscaled")
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(array, dtype=target)
    finite = np.isfinite(converted)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise sample_error(f"{origin}: input {spec.name!r} holds {converted[index]} at index {list(index)}")
    return converted


def _convert_integers(array: npt.NDArray[Any], spec: InputSpec, origin: str) -> npt.NDArray[np.generic]:
    target = np.dtype(spec.dtype)
    if array.dtype.kind == "f":
        raise sample_error(f"{origin}: input {spec.name!r} expects {spec.dtype}, found {array.dtype}")
    if target.kind == "b":
        return np.ascontiguousarray(array, dtype=target)
    limits = np.iinfo(target)
    low, high = int(array.min()), int(array.max())
    if low < limits.min or high > limits.max:
        raise sample_error(f"{origin}: input {spec.name!r} expects {spec.dtype}, found values from {low} to {high}")
    return np.ascontiguousarray(array, dtype=target)
