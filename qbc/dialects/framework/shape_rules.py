"""Shapes of results that follow from the shapes of operands and from attributes alone, without values.

`infer_shapes(op)` is the inference of the operators here; types of elements follow from the type rules. Shapes that
need values, or that ONNX leaves to the runtime, are found at import and by `framework-fold-shapes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qbc.dialects.common.shapes import DYNAMIC, broadcast, normalize_axis, reduced_shape
from qbc.dialects.framework.access import attribute, operands_by_position, operator

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
    """Batch and channels; sizes of windows follow from attributes that may ask for any padding."""
    data, weight = shapes[:2]
    if data is None or weight is None or len(data) < 2 or not weight:
        return None
    return data[0], weight[0], *(DYNAMIC for _ in data[2:])


def _window(op: Operation, shapes: Shapes) -> Shape | None:
    """Batch and channels of a pool."""
    return None if shapes[0] is None or len(shapes[0]) < 2 else (*shapes[0][:2], *(DYNAMIC for _ in shapes[0][2:]))


RULES: dict[str, Rule] = {
    **dict.fromkeys(LIKE_FIRST.split(), _like_first),
    **dict.fromkeys(BROADCASTING.split(), _broadcast),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg_reduction),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), _global_pool),
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _window),
    "Concat": _concat,
    "Conv": _convolution,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Shape": _shape_of,
    "Size": _scalar,
    "Transpose": _transpose,
}
