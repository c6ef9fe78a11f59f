"""What a graph input accepts, and how one sample array is fitted to it."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.errors import QBCompilerError

Notice = Callable[[str], None]
MAX_UNNAMED = 6  # arrays of more inputs are not tried in every order
MOST_AXES = 5  # of samples whose axes are tried in every order

# Source layout -> axes that bring a source array to the channel-last order of the graph argument.
SOURCE_PERMUTATIONS: dict[str, tuple[int, ...]] = {
    "ncw": (0, 2, 1),
    "nchw": (0, 2, 3, 1),
    "ncdhw": (0, 2, 3, 4, 1),
}


@dataclass(frozen=True)
class InputSpec:
    """One graph input: name, shape and dtype of the channel-last argument, and the layout of the source model.

    `division_factor` marks an input that the program takes as uint8: samples are integers 0..255, the float graph sees
    `value / division_factor`. `is_raw` marks a float input whose normalisation is part of the program,
    `is_letterboxed` an image that the program letterboxes itself: `shape` is that of the source.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    source_layout: str | None = None
    division_factor: float | None = None
    is_raw: bool = False
    is_letterboxed: bool = False

    @property
    def is_uint8(self) -> bool:
        """Whether samples are integers 0..255."""
        return self.division_factor is not None

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
    if spec.division_factor is not None:
        return _convert_uint8(arranged, spec, origin, notice) / np.float32(spec.division_factor)
    return _convert(arranged, spec, origin, notice)


def tell_layout(array: npt.NDArray[Any], spec: InputSpec, notice: Notice | None) -> None:
    """Give a notice where the shape of an array does not tell its layout, as in 1x3x3x3."""
    if notice is None or spec.source_shape != spec.shape or max(spec.shape) <= 1:
        return
    if array.shape in (spec.shape, spec.shape[1:]):
        notice(
            f"calibration samples for input {spec.name!r}: shape {list(array.shape)} fits the layout of the model and "
            "channel-last; it is read as channel-last"
        )


def fits(shape: tuple[int, ...], spec: InputSpec) -> bool:
    """Return whether an array of `shape` is one sample of the input in some accepted layout."""
    return any(shape == accepted for accepted, _ in _accepted(spec))


def accepted_shapes(spec: InputSpec) -> list[tuple[int, ...]]:
    """Return the shapes that one sample of the input may have, in order of preference."""
    return [shape for shape, _ in _accepted(spec)]


def assign_by_shape(
    shapes: Sequence[tuple[int, ...]], specs: Sequence[InputSpec], origin: str, hint: str
) -> tuple[str, ...]:
    """Return the input name for each of several arrays without names, where only one assignment fits their shapes.

    -1 in a shape stands for any size. Raises INVALID_CALIBRATION_DATA when none fits or several do.
    """
    found = (
        [
            order
            for order in itertools.permutations(specs)
            if all(may_have(shape, spec) for shape, spec in zip(shapes, order, strict=True))
        ]
        if len(specs) <= MAX_UNNAMED
        else []
    )
    if len(found) == 1:
        return tuple(spec.name for spec in found[0])
    wanted = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in specs)
    problem = "several inputs have the same shape" if found else f"no assignment fits {[list(s) for s in shapes]}"
    if len(specs) > MAX_UNNAMED:
        problem = f"{len(specs)} inputs are too many for that"
    raise sample_error(
        f"{origin}: arrays without names are matched to inputs by shape, and {problem} (inputs: {wanted})", hint
    )


def may_have(shape: tuple[int, ...], spec: InputSpec) -> bool:
    """Return whether an array of `shape` (-1: any size) may be a sample of the input."""
    return any(
        len(accepted) == len(shape) and all(a == b or -1 in (a, b) for a, b in zip(accepted, shape, strict=True))
        for accepted in accepted_shapes(spec)
    )


def stack_length(shape: tuple[int, ...], spec: InputSpec) -> int | None:
    """Return how many samples an array of `shape` stacks along a leading axis, or None when it is not a stack."""
    if len(shape) < 2 or fits(shape, spec) or not fits(shape[1:], spec):
        return None
    return shape[0]


def sample_error(message: str, hint: str | None = None) -> QBCompilerError:
    """Build the error about one calibration sample; there is always a hint."""
    hint = hint or "correct the sample, or leave it out of the calibration data"
    return QBCompilerError(message, code="INVALID_CALIBRATION_DATA", hint=hint)


def name_hint(name: str, names: Sequence[str]) -> str:
    """Return the input that a wrong name most likely means, or which inputs there are."""
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"inputs are {', '.join(names)}"


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
        _shape_hint(array, spec),
    )


def _shape_hint(array: npt.NDArray[Any], spec: InputSpec) -> str:
    if spec.is_letterboxed and sorted(array.shape) != sorted(spec.shape[-array.ndim :]):
        return "the program does the letterbox itself: save images of the size sourceHeight x sourceWidth"
    for shape, _ in _accepted(spec):
        if array.ndim > MOST_AXES or sorted(shape) != sorted(array.shape):
            continue
        for axes in itertools.permutations(range(array.ndim)):
            if tuple(array.shape[axis] for axis in axes) == shape:
                return f"transpose the sample with axes {list(axes)} to get {list(shape)}"
    return "save samples of that shape; a preprocessing section resizes pictures"


def _convert(array: npt.NDArray[Any], spec: InputSpec, origin: str, notice: Notice | None) -> npt.NDArray[np.generic]:
    target = np.dtype(spec.dtype)
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "b") != (target.kind == "b"):
        raise sample_error(f"{origin}: input {spec.name!r} expects {spec.dtype}, found {array.dtype}")
    if target.kind != "f":
        return _convert_integers(array, spec, origin)
    if array.dtype.kind != "f" and notice is not None:
        notice(
            f"calibration samples for input {spec.name!r} are {array.dtype}; they are read as {spec.dtype} unscaled "
            "(save them as the model takes them: pixels divided by 255 or normalised, if it was trained so)"
        )
    with np.errstate(over="ignore"):
        converted = np.asarray(array, dtype=target, order="C")
    finite = np.isfinite(converted)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise sample_error(f"{origin}: input {spec.name!r} holds {converted[index]} at index {list(index)}")
    if spec.is_raw:
        _check_raw(converted, spec, origin, notice)
    return converted


def _convert_uint8(
    array: npt.NDArray[Any], spec: InputSpec, origin: str, notice: Notice | None
) -> npt.NDArray[np.float32]:
    """Return integers 0..255 as float32; floats are refused with what they look like."""
    if array.dtype.kind not in "iuf":
        raise sample_error(f"{origin}: input {spec.name!r} expects uint8, found {array.dtype}")
    low, high = float(array.min()), float(array.max())
    if array.dtype.kind in "iu" and low >= 0 and high <= 255:
        if high == 1 and notice is not None:
            notice(f"calibration samples for input {spec.name!r} hold only 0 and 1; the program takes pixels 0..255")
        return array.astype(np.float32, order="C")
    raise sample_error(
        f"{origin}: input {spec.name!r} expects uint8 values 0..255, found {array.dtype} from {low:.4g} to {high:.4g}",
        _scale_hint(low, high, array.dtype.kind == "f"),
    )


def _scale_hint(low: float, high: float, is_float: bool) -> str:
    if not is_float:
        return "save the samples as uint8"
    if low >= 0 and high <= 1:
        return "multiply by 255, round and save as uint8"
    if low >= 0 and high <= 255:
        return "round and save as uint8"
    if low >= -1 and high <= 1:
        return "save the original pixels as uint8, or (value + 1) * 127.5 if they were scaled to -1..1"
    return "save the pixels before normalisation as uint8; the program normalises them itself"


def _check_raw(array: npt.NDArray[Any], spec: InputSpec, origin: str, notice: Notice | None) -> None:
    """Samples of an input that the program normalises must not look normalised already."""
    low, high = float(array.min()), float(array.max())
    if low < 0:
        raise sample_error(
            f"{origin}: the program normalises input {spec.name!r} itself, but the sample goes from {low:.4g} to "
            f"{high:.4g}",
            "save the pixels before normalisation, or remove fuseIntoFirstLayer",
        )
    if 0 < high <= 1 and notice is not None:
        notice(f"calibration samples for input {spec.name!r} stay within 0..1; the program expects pixels 0..255")


def _convert_integers(array: npt.NDArray[Any], spec: InputSpec, origin: str) -> npt.NDArray[np.generic]:
    target = np.dtype(spec.dtype)
    if array.dtype.kind == "f":
        raise sample_error(f"{origin}: input {spec.name!r} expects {spec.dtype}, found {array.dtype}")
    if target.kind == "b":
        return np.asarray(array, dtype=target, order="C")
    limits = np.iinfo(target)
    low, high = int(array.min()), int(array.max())
    if low < limits.min or high > limits.max:
        raise sample_error(f"{origin}: input {spec.name!r} expects {spec.dtype}, found values from {low} to {high}")
    return np.asarray(array, dtype=target, order="C")
