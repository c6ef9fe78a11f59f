"""Evaluation of framework operators on constants: exact ones in numpy, all others in onnxruntime, one node at a time.

The numpy part also works on arrays of Python objects where None is an element that is not known yet: shape arithmetic
with some symbolic dimensions folds as far as it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, Operation

from qbc.dialects.blob import dtype_name
from qbc.dialects.framework.access import attribute, operator, read_tensor
from qbc.execute.onnxruntime_errors import onnxruntime_errors
from qbc.store import BlobStore

Array = npt.NDArray[Any]
Inputs = Sequence[Array | None]
Evaluator = Callable[[Operation, Inputs], Array]


def evaluate(op: Operation, inputs: Inputs, store: BlobStore, max_elements: int) -> Array | None:
    """Return the result of a one-result operator on known inputs in numpy, or None when it is not one of the table.

    Float operators in the table round each element once, as IEEE 754 says, so they equal every other evaluation. A
    result of more than `max_elements` elements is not made: a model can ask for any size with a few bytes.
    """
    if _growth(op, inputs) > max_elements:
        return None
    if operator(op) == "ConstantOfShape":
        return _constant_of_shape(op, inputs, store)
    evaluator = _TABLE.get(operator(op))
    if evaluator is None or len(op.results) != 1:
        return None
    if any(array is not None and array.dtype == object for array in inputs) and operator(op) not in MOVEMENT:
        return None
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(evaluator(op, inputs))
    except (ValueError, IndexError, TypeError, ZeroDivisionError, OverflowError):
        return None  # inputs that do not fit: the model keeps the node, and inference or execution reports it
    kind = op.results[0].type
    if isinstance(kind, TensorType) and result.dtype != object and not _fits(result, kind):
        return None
    return result


def _growth(op: Operation, inputs: Inputs) -> int:
    """Return the number of elements of the result where it can be larger than the inputs, else 0 (exact integers)."""
    first, second = _given(inputs, 0), _given(inputs, 1)
    if first is None or any(array is not None and array.dtype == object for array in inputs):
        return 0
    name = operator(op)
    if name == "ConstantOfShape":
        return prod(_ints(first))
    if name in ("Expand", "Tile") and second is not None:
        factor = prod(max(1, size) for size in _ints(second))
        return first.size * factor if name == "Tile" else max(first.size, factor)
    if name == "Range" and first.dtype.kind != "f" and second is not None and inputs[2] is not None:
        step = int(inputs[2])
        return abs(int(second) - int(first)) // abs(step) if step else 0
    if name in MOVEMENT or name.startswith("Reduce") or name == "Transpose":
        return 0
    present = [array for array in inputs if array is not None]
    rank = max(array.ndim for array in present)  # elementwise with broadcasting
    return prod(max((a.shape[-1 - axis] for a in present if a.ndim > axis), default=1) for axis in range(rank))


def _fits(result: Array, kind: TensorType[Any]) -> bool:
    shape = kind.get_shape()
    return len(shape) == result.ndim and all(
        size < 0 or size == found for size, found in zip(shape, result.shape, strict=True)
    )


def known_shape(op: Operation) -> Array | None:
    """Return the value of a Shape or Size operator; unknown dimensions are None (then the array holds objects)."""
    kind = op.operands[0].type
    if not isinstance(kind, TensorType):
        return None
    sizes: list[int | None] = [size if size >= 0 else None for size in kind.get_shape()]
    if operator(op) == "Size":
        return None if None in sizes else np.asarray(np.prod(np.asarray(sizes, dtype=np.int64), dtype=np.int64))
    start, end = attribute(op, "start") or 0, attribute(op, "end")
    part = sizes[start:] if end is None else sizes[start:end]
    return np.asarray(part, dtype=object if None in part else np.int64)


# --- evaluators ------------------------------------------------------------------------------------------------


def _given(inputs: Inputs, index: int) -> Array | None:
    return inputs[index] if index < len(inputs) else None


def _need(inputs: Inputs, index: int) -> Array:
    array = _given(inputs, index)
    if array is None:
        raise ValueError("a required input is absent")
    return array


def _ints(array: Array | None) -> list[int]:
    return [] if array is None else [int(value) for value in array.reshape(-1)]


def _binary(function: Callable[[Array, Array], Array]) -> Evaluator:
    return lambda op, inputs: function(_need(inputs, 0), _need(inputs, 1))


def _unary(function: Callable[[Array], Array]) -> Evaluator:
    return lambda op, inputs: function(_need(inputs, 0))


def _fold(function: Callable[[Array, Array], Array]) -> Evaluator:
    def run(op: Operation, inputs: Inputs) -> Array:
        result = _need(inputs, 0)
        for index in range(1, len(inputs)):
            result = function(result, _need(inputs, index))
        return result

    return run


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.divide(a, b))
    if not np.all(b):
        raise ZeroDivisionError
    floor = a // b  # ONNX truncates, numpy floors
    return np.asarray((floor + ((a % b != 0) & ((a < 0) != (b < 0)))).astype(a.dtype))


def _modulo(op: Operation, inputs: Inputs) -> Array:
    a, b = _need(inputs, 0), _need(inputs, 1)
    if a.dtype.kind != "f" and not np.all(b):
        raise ZeroDivisionError
    return np.asarray(np.fmod(a, b) if attribute(op, "fmod") else np.mod(a, b))


def _cast(op: Operation, inputs: Inputs) -> Array:
    array = _need(inputs, 0)
    target = getattr(op.results[0].type, "element_type", None)
    if not isinstance(target, IntegerType) and str(target) not in ("f16", "f32", "f64"):
        raise ValueError("no numpy type")
    if isinstance(target, IntegerType) and target.width.data not in (1, 8, 16, 32, 64):
        raise ValueError("no numpy type")
    if array.dtype == object:
        return array
    name = dtype_name(cast("Attribute", target))
    if array.dtype.kind == "f" and name != "bool" and isinstance(target, IntegerType):
        end = 2.0 ** (target.width.data - (np.iinfo(name).min < 0))  # a float, where the largest integer may be none
        inside = np.isfinite(array) & (array >= float(np.iinfo(name).min)) & (array < end)
        if not np.all(inside):
            raise OverflowError  # undefined in ONNX
    return array.astype(name)


def _reshape(op: Operation, inputs: Inputs) -> Array:
    data, sizes = _need(inputs, 0), _ints(_need(inputs, 1))
    if not attribute(op, "allowzero"):
        sizes = [data.shape[index] if size == 0 else size for index, size in enumerate(sizes)]
    return data.reshape(sizes)


def _squeeze(op: Operation, inputs: Inputs) -> Array:
    data, axes = _need(inputs, 0), _given(inputs, 1)
    return np.squeeze(data, axis=tuple(_ints(axes))) if axes is not None else np.squeeze(data)


def _unsqueeze(op: Operation, inputs: Inputs) -> Array:
    return np.expand_dims(_need(inputs, 0), tuple(_ints(_need(inputs, 1))))


def _flatten(op: Operation, inputs: Inputs) -> Array:
    data, axis = _need(inputs, 0), attribute(op, "axis")
    axis = axis + data.ndim if axis < 0 else axis
    return data.reshape(int(np.prod(data.shape[:axis], dtype=np.int64)), -1)


def _slice(op: Operation, inputs: Inputs) -> Array:
    data, starts, ends = _need(inputs, 0), _ints(_need(inputs, 1)), _ints(_need(inputs, 2))
    axes = _ints(_given(inputs, 3)) or list(range(len(starts)))
    steps = _ints(_given(inputs, 4)) or [1] * len(starts)
    where: list[slice] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = data.shape[axis]
        stop: int | None = end
        if step < 0 and end < -size:
            stop = None  # down to the first element
        where[axis] = slice(start, stop, step)
    return data[tuple(where)]


def _gather(op: Operation, inputs: Inputs) -> Array:
    return np.asarray(np.take(_need(inputs, 0), _need(inputs, 1).astype(np.int64), axis=attribute(op, "axis")))


def _concat(op: Operation, inputs: Inputs) -> Array:
    return np.concatenate([_need(inputs, index) for index in range(len(inputs))], axis=attribute(op, "axis"))


def _transpose(op: Operation, inputs: Inputs) -> Array:
    return np.transpose(_need(inputs, 0), attribute(op, "perm"))


def _expand(op: Operation, inputs: Inputs) -> Array:
    data, sizes = _need(inputs, 0), _ints(_need(inputs, 1))
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(sizes)))


def _tile(op: Operation, inputs: Inputs) -> Array:
    return np.tile(_need(inputs, 0), _ints(_need(inputs, 1)))


def _range(op: Operation, inputs: Inputs) -> Array:
    start, limit, delta = (_need(inputs, index) for index in range(3))
    if start.dtype.kind == "f":
        raise ValueError("float ranges are left to onnxruntime")
    return np.arange(int(start), int(limit), int(delta), dtype=start.dtype)


def _where(op: Operation, inputs: Inputs) -> Array:
    return np.where(_need(inputs, 0), _need(inputs, 1), _need(inputs, 2))


def _reduction(function: Callable[..., Any]) -> Evaluator:
    def run(op: Operation, inputs: Inputs) -> Array:
        data, axes = _need(inputs, 0), _given(inputs, 1)
        if data.dtype.kind == "f":
            raise ValueError("the order of float sums is left to onnxruntime")
        if axes is None and attribute(op, "noop_with_empty_axes"):
            return data
        axis = tuple(_ints(axes)) if axes is not None else None
        return np.asarray(function(data, axis=axis, keepdims=bool(attribute(op, "keepdims")))).astype(data.dtype)

    return run


def _constant_of_shape(op: Operation, inputs: Inputs, store: BlobStore) -> Array | None:
    value = op.properties.get("value")
    fill = read_tensor(store, value) if value is not None else np.zeros(1, dtype=np.float32)
    sizes = _given(inputs, 0)
    if fill is None or sizes is None or sizes.dtype == object or np.any(sizes < 0):
        return None
    return np.full(tuple(_ints(sizes)), fill.reshape(-1)[0], dtype=fill.dtype)


MOVEMENT = frozenset({"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Slice", "Gather", "Concat", "Flatten"})

_TABLE: dict[str, Evaluator] = {
    "Abs": _unary(np.abs),
    "Add": _binary(np.add),
    "And": _binary(np.logical_and),
    "Cast": _cast,
    "Ceil": _unary(np.ceil),
    "Concat": _concat,
    "Div": _binary(_divide),
    "Equal": _binary(np.equal),
    "Expand": _expand,
    "Flatten": _flatten,
    "Floor": _unary(np.floor),
    "Gather": _gather,
    "Greater": _binary(np.greater),
    "GreaterOrEqual": _binary(np.greater_equal),
    "Identity": _unary(np.asarray),
    "Less": _binary(np.less),
    "LessOrEqual": _binary(np.less_equal),
    "Max": _fold(np.maximum),
    "Min": _fold(np.minimum),
    "Mod": _modulo,
    "Mul": _binary(np.multiply),
    "Neg": _unary(np.negative),
    "Not": _unary(np.logical_not),
    "Or": _binary(np.logical_or),
    "Range": _range,
    "ReduceMax": _reduction(np.max),
    "ReduceMin": _reduction(np.min),
    "ReduceProd": _reduction(np.prod),
    "ReduceSum": _reduction(np.sum),
    "Reshape": _reshape,
    "Slice": _slice,
    "Sqrt": _unary(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _binary(np.subtract),
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}


# --- onnxruntime -----------------------------------------------------------------------------------------------


def evaluate_in_onnxruntime(op: Operation, store: BlobStore) -> list[Array] | None:
    """Return the results of an operator whose operands are all constants, or None where there is no kernel for it."""
    import onnxruntime

    from qbc.export.onnx_framework import single_node_model

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            single_node_model(op, store).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        found = session.run(None, {})
    except onnxruntime_errors():
        return None
    if not all(isinstance(array, (np.ndarray, np.generic)) for array in found):
        return None
    return [np.asarray(array) for array in found]
