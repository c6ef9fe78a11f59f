"""Shapes of results that follow from the shapes of operands, from attributes and from constants of the IR.

`infer_shapes(op)` is the inference of the operators here; types of elements follow from the type rules. Shapes that
need other values, or that ONNX leaves to the runtime, are found at import and by `framework-fold-shapes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, SSAValue

from qbc.dialects.common.shapes import DYNAMIC, broadcast, normalize_axis, reduced_shape, window_size
from qbc.dialects.framework.access import attribute, constant_of, operand, operands_by_position, operator

Shape = tuple[int, ...]
Shapes = Sequence[Shape | None]
Rule = Callable[[Operation, Shapes], Shape | None]

LIKE_FIRST = """
    Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli BitwiseNot Cast CastLike Ceil Celu Clip Cos
    Cosh CumSum DequantizeLinear Dropout Elu Erf Exp EyeLike Floor Gelu GroupNormalization HardSigmoid HardSwish
    Hardmax Identity InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Log LogSoftmax
    LpNormalization MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear RMSNormalization RandomNormalLike
    RandomUniformLike Reciprocal Relu ReverseSequence Round ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin
    Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh TensorScatter ThresholdedRelu Trilu
"""
BROADCASTING = """
    Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean
    Min Mod Mul Or Pow Sub Sum Where Xor
"""

REDUCTIONS = """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
"""


def infer_shapes(op: Operation) -> Shape | None:
    """Return the shape of the first result as far as it follows from shapes and attributes, else None.

    Raises VerifyException when the shapes of the operands do not fit each other.
    """
    rule = RULES.get(operator(op))
    if rule is None:
        return None
    return rule(op, [_shape(value) for value in operands_by_position(op)])


def _shape(value: SSAValue | None) -> Shape | None:
    return tuple(value.type.get_shape()) if value is not None and isinstance(value.type, TensorType) else None


def _like_first(op: Operation, shapes: Shapes) -> Shape | None:
    return shapes[0] if shapes else None


def _broadcast(op: Operation, shapes: Shapes) -> Shape | None:
    known = [shape for shape in shapes if shape is not None]
    return _broadcast_shapes(known) if known and len(known) == len(shapes) else None


def _broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    rank = max(map(len, shapes))
    return broadcast(*((1,) * (rank - len(shape)) + shape for shape in shapes))


def _transpose(op: Operation, shapes: Shapes) -> Shape | None:
    if shapes[0] is None:
        return None
    rank = len(shapes[0])
    permutation = attribute(op, "perm") or tuple(reversed(range(rank)))
    if sorted(permutation) != list(range(rank)):
        return None
    return tuple(shapes[0][axis] for axis in permutation)


def _concat(op: Operation, shapes: Shapes) -> Shape | None:
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    axis = normalize_axis(attribute(op, "axis"), len(known[0]))
    sizes = [shape[axis] for shape in known]
    joined = DYNAMIC if DYNAMIC in sizes else sum(sizes)
    merged = [[size for size in column if size != DYNAMIC] for column in zip(*known, strict=True)]
    return tuple(joined if index == axis else (column or [DYNAMIC])[0] for index, column in enumerate(merged))


def _shape_of(op: Operation, shapes: Shapes) -> Shape | None:
    if shapes[0] is None:
        return None
    end = attribute(op, "end")
    return (len(range(len(shapes[0]))[attribute(op, "start") : end]),)


def _scalar(op: Operation, shapes: Shapes) -> Shape | None:
    return ()


def _flatten(op: Operation, shapes: Shapes) -> Shape | None:
    if shapes[0] is None:
        return None
    axis = attribute(op, "axis")
    axis = axis if axis >= 0 else axis + len(shapes[0])
    return _product(shapes[0][:axis]), _product(shapes[0][axis:])


def _product(sizes: Shape) -> int:
    return DYNAMIC if DYNAMIC in sizes else prod(sizes)


def _gemm(op: Operation, shapes: Shapes) -> Shape | None:
    left, right = shapes[:2]
    if left is None or right is None or len(left) != 2 or len(right) != 2:
        return None
    return left[1 if attribute(op, "transA") else 0], right[0 if attribute(op, "transB") else 1]


def _matmul(op: Operation, shapes: Shapes) -> Shape | None:
    left, right = shapes[:2]
    if left is None or right is None or not left or not right:
        return None
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    return (*_broadcast_shapes([left[:-2], right[:-2]]), *rows, *columns)


def _gather(op: Operation, shapes: Shapes) -> Shape | None:
    data, indices = shapes[:2]
    if data is None or indices is None:
        return None
    axis = normalize_axis(attribute(op, "axis"), len(data))
    return (*data[:axis], *indices, *data[axis + 1 :])


def _gather_elements(op: Operation, shapes: Shapes) -> Shape | None:
    return shapes[1]


def _arg_reduction(op: Operation, shapes: Shapes) -> Shape | None:
    if shapes[0] is None:
        return None
    axis = normalize_axis(attribute(op, "axis"), len(shapes[0]))
    return reduced_shape(shapes[0], [axis], bool(attribute(op, "keepdims")))


def _global_pool(op: Operation, shapes: Shapes) -> Shape | None:
    return None if shapes[0] is None else (*shapes[0][:2], *(1 for _ in shapes[0][2:]))


def _convolution(op: Operation, shapes: Shapes) -> Shape | None:
    data, weight = shapes[:2]
    if data is None or weight is None or len(data) < 2 or len(weight) != len(data):
        return None
    return data[0], weight[0], *_windows(op, data[2:], attribute(op, "kernel_shape") or weight[2:])


def _pool(op: Operation, shapes: Shapes) -> Shape | None:
    if shapes[0] is None or len(shapes[0]) < 2:
        return None
    return (*shapes[0][:2], *_windows(op, shapes[0][2:], attribute(op, "kernel_shape") or ()))


def _windows(op: Operation, sizes: Shape, kernel: Shape) -> Shape:
    """Return how many windows fit each spatial axis; unknown where runtimes differ (ceil mode, padding below zero)."""
    count = len(sizes)
    ones, unknown = (1,) * count, (DYNAMIC,) * count
    strides, dilations = (attribute(op, name) or ones for name in ("strides", "dilations"))
    padding = attribute(op, "auto_pad")
    pads = attribute(op, "pads") if padding == "NOTSET" else None
    pads = pads or (0,) * (2 * count)
    if attribute(op, "ceil_mode") or {len(kernel), len(strides), len(dilations), len(pads) // 2} != {count}:
        return unknown
    if padding.startswith("SAME"):
        return tuple(
            DYNAMIC if size == DYNAMIC else -(-size // step) for size, step in zip(sizes, strides, strict=True)
        )
    begins, ends = pads[:count], pads[count:]
    found = []
    for size, width, step, begin, end, gap in zip(sizes, kernel, strides, begins, ends, dilations, strict=True):
        is_known = DYNAMIC not in (size, width) and size + begin + end >= gap * (width - 1) + 1 and step > 0
        found.append(window_size(size, width, step, begin, end, gap) if is_known else DYNAMIC)
    return tuple(found)


def _constant_axes(op: Operation, name: str) -> tuple[int, ...] | None:
    """Return the axes of an operator whose operand `name` is a constant of the IR, else None."""
    handle = constant_of(operand(op, name))
    return (
        tuple(int(cast("int", axis)) for axis in handle.get_values())
        if isinstance(handle, DenseIntOrFPElementsAttr)
        else None
    )


def _reduction(op: Operation, shapes: Shapes) -> Shape | None:
    if shapes[0] is None:
        return None
    rank = len(shapes[0])
    axes: Sequence[int] | None = _constant_axes(op, "axes")
    if operand(op, "axes") is None:
        axes = () if attribute(op, "noop_with_empty_axes") else range(rank)
    if not axes:
        return None
    return reduced_shape(shapes[0], [normalize_axis(axis, rank) for axis in axes], bool(attribute(op, "keepdims")))


def _unsqueeze(op: Operation, shapes: Shapes) -> Shape | None:
    axes = _constant_axes(op, "axes")
    if shapes[0] is None or axes is None:
        return None
    rank = len(shapes[0]) + len(axes)
    places = {normalize_axis(axis, rank) for axis in axes}
    rest = iter(shapes[0])
    return tuple(1 if axis in places else next(rest) for axis in range(rank)) if len(places) == len(axes) else None


def _squeeze(op: Operation, shapes: Shapes) -> Shape | None:
    axes = _constant_axes(op, "axes")
    if shapes[0] is None or axes is None:
        return None
    rank = len(shapes[0])
    places = {normalize_axis(axis, rank) for axis in axes}
    return tuple(size for axis, size in enumerate(shapes[0]) if axis not in places)


def _reshape(op: Operation, shapes: Shapes) -> Shape | None:
    target = _constant_axes(op, "shape")
    if target is None:
        return None
    if 0 not in target and -1 not in target:
        return target
    return tuple(size if size > 0 else DYNAMIC for size in target)


RULES: dict[str, Rule] = {
    **dict.fromkeys(LIKE_FIRST.split(), _like_first),
    **dict.fromkeys(BROADCASTING.split(), _broadcast),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg_reduction),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), _global_pool),
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _pool),
    **dict.fromkeys(REDUCTIONS.split(), _reduction),
    "Concat": _concat,
    "Conv": _convolution,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Reshape": _reshape,
    "Shape": _shape_of,
    "Size": _scalar,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
