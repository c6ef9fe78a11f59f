"""The host boundary: layouts, dtypes and batch of graph inputs and outputs.

A float input is quantized as `clamp(rint(x / scale), qmin - zero_point, qmax - zero_point) + zero_point`, an output
dequantized as `float32(code - zero_point) * scale` (the scale of its channel, where it has several) and then has the
float type of the inputs. Codes given as int8, uint8 (code + 128) or int16 are taken as they are, and outputs then are
codes too. An input of host type u8 takes uint8 values 0..255 (its stored bytes) and nothing else, and outputs stay
floats.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.errors import QBCompilerError
from qbc.kernels.storage import dequantize, load_codes, quantize_to_codes, store_codes
from qbc.program import HostTensor
from qbc.runtime.status import dtype_mismatch, shape_mismatch

Array = npt.NDArray[Any]

CHANNEL_LAST = "channel-last"
SOURCE = "source"
_I32 = (-(1 << 31), (1 << 31) - 1)
_TO_CHANNEL_LAST = {"ncw": (0, 2, 1), "nchw": (0, 2, 3, 1), "ncdhw": (0, 2, 3, 4, 1)}
_TO_SOURCE = {"ncw": (0, 2, 1), "nchw": (0, 3, 1, 2), "ncdhw": (0, 4, 1, 2, 3)}
_MAX_PERMUTED_RANK = 5
_CODE_DTYPES = {"i8": ("int8", "uint8"), "i16": ("int16",)}


@dataclass(frozen=True)
class InputForm:
    """How an input was given: layout (None where the graph input has only one), leading batch axis, numbers.

    `kind` is "values" (floats), "codes", "pixels" or "indices", `dtype` the name of the array's type.
    """

    layout: str | None
    has_batch: bool
    kind: str = "values"
    dtype: str = "float32"


def source_shape(tensor: HostTensor) -> tuple[int, ...]:
    """Return the shape of a host tensor in the layout of the source model."""
    shape = tensor.operand.shape
    order = _TO_SOURCE.get(tensor.source_layout)
    return shape if order is None else tuple(shape[axis] for axis in order)


def match_layout(tensor: HostTensor, shape: tuple[int, ...], wanted: str | None = None) -> InputForm:
    """Return how a given shape fits: channel-last first, then the source layout; a batch axis of 1 may be left out.

    `wanted` restricts the choice to one layout. Raises Model_ShapeMismatched (21) when nothing fits.
    """
    candidates = [(CHANNEL_LAST, tensor.operand.shape)]
    if tensor.source_layout:
        candidates.append((SOURCE, source_shape(tensor)))
        candidates = [pair for pair in candidates if wanted is None or pair[0] == wanted]
    for layout, expected in candidates:
        name = layout if tensor.source_layout else None
        if shape == expected:
            return InputForm(name, True)
        if expected[:1] == (1,) and shape == expected[1:]:
            return InputForm(name, False)
    accepted = " or ".join(str(list(expected)) for _, expected in candidates)
    if wanted is not None and tensor.source_layout:
        accepted += f" ({'channel-last' if wanted == CHANNEL_LAST else 'channel-first'})"
    raise shape_mismatch(
        f"Input shape is invalid. Input {tensor.name!r} has shape {list(shape)}, expected {accepted}",
        hint=_permutation_hint(shape, [expected for _, expected in candidates])
        or "a leading batch axis of 1 may be left out",
    )


def _permutation_hint(shape: tuple[int, ...], expected: list[tuple[int, ...]]) -> str | None:
    """Return which transposition would make an array fit."""
    if len(shape) > _MAX_PERMUTED_RANK:
        return None
    accepted = [*expected, *(form[1:] for form in expected if form[:1] == (1,))]
    for form, axes in itertools.product(accepted, itertools.permutations(range(len(shape)))):
        if tuple(shape[axis] for axis in axes) == form:
            return f"transpose the array with axes {list(axes)} to get {list(form)}"
    return None


def to_device(tensor: HostTensor, array: Array, wanted: str | None = None) -> tuple[Array, InputForm]:
    """Return the stored codes of one input (channel-last, batch axis present) and how it was given."""
    array = np.asarray(array)
    form = match_layout(tensor, array.shape, wanted)
    kind = _kind(tensor, array)
    if not form.has_batch:
        array = array[None]
    if form.layout == SOURCE:
        array = array.transpose(_TO_CHANNEL_LAST[tensor.source_layout])
    return _STORE[kind](tensor, array), replace(form, kind=kind, dtype=array.dtype.name)


def _kind(tensor: HostTensor, array: Array) -> str:
    """Return what the numbers of an array are for a graph input."""
    if tensor.dtype != "f32":
        return "pixels" if tensor.dtype == "u8" else "indices"
    return "codes" if array.dtype.name in _CODE_DTYPES.get(tensor.operand.dtype, ()) else "values"


def _codes(tensor: HostTensor, array: Array) -> Array:
    if array.dtype == np.uint8:
        return np.asarray(array, order="C")
    return store_codes(array, tensor.operand.dtype)


def _values(tensor: HostTensor, array: Array) -> Array:
    if array.dtype.kind != "f":
        codes = " or ".join(_CODE_DTYPES[tensor.operand.dtype])
        raise dtype_mismatch(
            f"input {tensor.name!r} has dtype {array.dtype.name}, expected float32, or codes as {codes}"
        )
    quantized = quantize_to_codes(array, tensor.scale, tensor.zero_point, tensor.operand.dtype)
    return store_codes(quantized, tensor.operand.dtype)


def _pixels(tensor: HostTensor, array: Array) -> Array:
    if array.dtype != np.uint8:
        raise dtype_mismatch(f"input {tensor.name!r} has dtype {array.dtype.name}, expected uint8 values 0..255")
    return np.asarray(array, order="C")


def _indices(tensor: HostTensor, array: Array) -> Array:
    if array.dtype.kind not in "iu":
        raise dtype_mismatch(f"input {tensor.name!r} has dtype {array.dtype.name}, expected integers")
    if array.size and (int(array.min()) < _I32[0] or int(array.max()) > _I32[1]):
        raise QBCompilerError(f"input {tensor.name!r} holds values beyond 32 bits", code="INVALID_INPUT")
    return np.asarray(array, dtype=np.int32, order="C")


_STORE = {"values": _values, "codes": _codes, "pixels": _pixels, "indices": _indices}


def to_host(tensor: HostTensor, stored: Array, forms: list[InputForm], *, as_float: bool = False) -> Array:
    """Return one output in the layout, batch form and dtype that the inputs had.

    The source layout is used when every input that has two layouts was given in the source layout; `result_dtype`
    tells the dtype.
    """
    array = _numbers(tensor, stored, result_dtype(tensor, forms, as_float=as_float))
    layouts = {form.layout for form in forms if form.layout is not None}
    if layouts == {SOURCE} and tensor.source_layout:
        array = np.asarray(array.transpose(_TO_SOURCE[tensor.source_layout]), order="C")
    if forms and not any(form.has_batch for form in forms) and array.shape[:1] == (1,) and array.ndim > 1:
        array = array[0]
    return array


def result_dtype(tensor: HostTensor, forms: list[InputForm], *, as_float: bool = False) -> np.dtype[Any]:
    """Return the dtype of an output, which follows the inputs.

    - 32-bit integers are int32 whatever the inputs are.
    - Codes in, codes out: where all inputs but indices are codes, an output of 16 bits is int16, one of 8 bits uint8
      (code + 128) when all of them are uint8, else int8. `as_float` gives float32 in place of codes.
    - Floats in, floats out: the float type of the inputs, the widest where they differ. float32 where there is none.
    """
    if tensor.dtype == "i32":
        return np.dtype(np.int32)
    telling = [form for form in forms if form.kind != "indices"]
    if telling and not as_float and all(form.kind == "codes" for form in telling):
        return _code_dtype(tensor, {form.dtype for form in telling})
    floats = [form.dtype for form in telling if form.kind == "values"]
    return np.result_type(*floats) if floats else np.dtype(np.float32)


def _code_dtype(tensor: HostTensor, given: set[str]) -> np.dtype[Any]:
    if tensor.operand.dtype != "i8":
        return np.dtype(np.int16)
    return np.dtype(np.uint8 if given == {"uint8"} else np.int8)


def _numbers(tensor: HostTensor, stored: Array, dtype: np.dtype[Any]) -> Array:
    """Return stored codes as numbers of a type, in an array of their own."""
    if dtype == np.uint8:
        return stored.copy()
    codes = load_codes(stored)
    if dtype.kind == "i":
        return codes.copy()
    scale = np.array(tensor.channel_scales, np.float32) if tensor.channel_scales else tensor.scale
    with np.errstate(over="ignore"):  # values that float16 cannot hold become infinite, which a notice tells
        return dequantize(codes, scale, tensor.zero_point).astype(dtype, copy=False)
