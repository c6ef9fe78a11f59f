"""Unary functions."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qbc.dialects.mblt import (
    AbsOp,
    AddOp,
    CeilOp,
    ClipOp,
    CosOp,
    DivOp,
    EluOp,
    ErfOp,
    ExpOp,
    FloorOp,
    GeluOp,
    GreaterOp,
    HardSigmoidOp,
    HardSwishOp,
    LeakyReluOp,
    LogOp,
    MaximumOp,
    MbltOp,
    MinimumOp,
    MishOp,
    MulOp,
    NegOp,
    PreluOp,
    ReciprocalOp,
    ReluOp,
    SigmoidOp,
    SiluOp,
    SinOp,
    SoftplusOp,
    SqrtOp,
    TanhOp,
    WhereOp,
    element_of,
    shape_of,
)
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts

UNARY: dict[str, type[MbltOp]] = {
    "Relu": ReluOp,
    "Sigmoid": SigmoidOp,
    "HardSwish": HardSwishOp,
    "Tanh": TanhOp,
    "Exp": ExpOp,
    "Log": LogOp,
    "Sqrt": SqrtOp,
    "Reciprocal": ReciprocalOp,
    "Abs": AbsOp,
    "Neg": NegOp,
    "Erf": ErfOp,
    "Softplus": SoftplusOp,
    "Mish": MishOp,
    "Sin": SinOp,
    "Cos": CosOp,
    "Floor": FloorOp,
    "Ceil": CeilOp,
}


@converts(*UNARY)
def unary(node: Node) -> SSAValue:
    """`f(x)` -> the op of the same name."""
    return node.emit(UNARY[node.op.name.partition(".")[2]], node.value(0))


@converts("Identity")
def identity(node: Node) -> SSAValue:
    """Identity -> the operand."""
    return node.value(0)


@converts("Dropout")
def dropout(node: Node) -> list[SSAValue | None]:
    """Dropout at inference -> the operand; its mask must be unused."""
    if node.is_used(1):
        node.refuse("the mask is used")
    if node.has(2) and node.constant(2, "training_mode").any():
        node.refuse("training mode")
    return [node.value(0), None]


@converts("Clip")
def clip(node: Node) -> SSAValue:
    """Clip with constant bounds -> clip; bounds that are computed, or integers -> maximum and minimum."""
    low, high = node.array(1), node.array(2)
    fixed = all(not node.has(index) or bound is not None for index, bound in ((1, low), (2, high)))
    value = node.value(0)
    if fixed and element_of(value) == f32:
        low_bound = -inf if low is None else float(low.reshape(-1)[0])
        high_bound = inf if high is None else float(high.reshape(-1)[0])
        if low_bound <= high_bound:
            return node.emit(ClipOp, value, min=low_bound, max=high_bound)
    rank = len(node.shape(0))
    result = node.emit(MaximumOp, value, node.with_rank(1, rank)) if node.has(1) else value
    return node.emit(MinimumOp, result, node.with_rank(2, rank)) if node.has(2) else result


@converts("LeakyRelu")
def leaky_relu(node: Node) -> SSAValue:
    """LeakyRelu -> leaky_relu."""
    return node.emit(LeakyReluOp, node.value(0), alpha=node.attr("alpha"))


@converts("Elu")
def elu(node: Node) -> SSAValue:
    """Elu -> elu."""
    return node.emit(EluOp, node.value(0), alpha=node.attr("alpha"))


@converts("HardSigmoid")
def hard_sigmoid(node: Node) -> SSAValue:
    """HardSigmoid -> hard_sigmoid."""
    return node.emit(HardSigmoidOp, node.value(0), alpha=node.attr("alpha"), beta=node.attr("beta"))


@converts("Gelu")
def gelu(node: Node) -> SSAValue:
    """Gelu -> gelu."""
    return node.emit(GeluOp, node.value(0), approximate=node.attr("approximate"))


@converts("Swish")
def swish(node: Node) -> SSAValue:
    """`x * sigmoid(alpha x)` -> silu, or mul, sigmoid, mul."""
    value, alpha = node.value(0), node.attr("alpha")
    if alpha == 1.0:
        return node.emit(SiluOp, value)
    return node.emit(MulOp, value, node.emit(SigmoidOp, _scaled(node, value, alpha)))


@converts("Selu")
def selu(node: Node) -> SSAValue:
    """`gamma * elu(x, alpha)`."""
    return _scaled(node, node.emit(EluOp, node.value(0), alpha=node.attr("alpha")), node.attr("gamma"))


@converts("Celu")
def celu(node: Node) -> SSAValue:
    """`alpha * elu(x / alpha, 1)`."""
    alpha = node.attr("alpha")
    return _scaled(node, node.emit(EluOp, _scaled(node, node.value(0), 1.0 / alpha), alpha=1.0), alpha)


@converts("Softsign")
def softsign(node: Node) -> SSAValue:
    """`x / (1 + |x|)`."""
    import numpy as np

    value = node.value(0)
    one = node.constant_value(np.ones((1,) * len(shape_of(value)), np.float32))
    return node.emit(DivOp, value, node.emit(AddOp, node.emit(AbsOp, value), one))


@converts("ThresholdedRelu")
def thresholded_relu(node: Node) -> SSAValue:
    """`x where x > alpha else 0`."""
    import numpy as np

    value = node.value(0)
    ones = (1,) * len(shape_of(value))
    above = node.emit(GreaterOp, value, node.constant_value(np.full(ones, node.attr("alpha"), np.float32)))
    return node.emit(WhereOp, above, value, node.constant_value(np.zeros(ones, np.float32)))


@converts("PRelu")
def prelu(node: Node) -> SSAValue:
    """PRelu with one slope a channel -> prelu on the last axis; other slopes -> max(x, 0) + slope * min(x, 0)."""
    import numpy as np

    value, shape = node.value(0), node.shape(0)
    slope = node.array(1)
    rank = len(shape)
    if slope is None or rank < 2:
        return _general_prelu(node, value)
    aligned = slope.reshape((1,) * (rank - slope.ndim) + slope.shape)
    if rank > 2 and all(size == 1 for axis, size in enumerate(aligned.shape) if axis != 1):
        vector = np.ascontiguousarray(np.broadcast_to(aligned.reshape(-1), (shape[1],)))
        result = node.emit(PreluOp, node.channel_last(value), slope=node.blob(vector))
        return node.channel_first(result)
    if all(size == 1 for size in aligned.shape[:-1]):
        vector = np.ascontiguousarray(np.broadcast_to(aligned.reshape(-1), (shape[-1],)))
        return node.emit(PreluOp, value, slope=node.blob(vector))
    return _general_prelu(node, value)


def _general_prelu(node: Node, value: SSAValue) -> SSAValue:
    import numpy as np

    rank = len(shape_of(value))
    zero = node.constant_value(np.zeros((1,) * rank, np.float32))
    negative = node.emit(MulOp, node.with_rank(1, rank), node.emit(MinimumOp, value, zero))
    return node.emit(AddOp, node.emit(ReluOp, value), negative)


def _scaled(node: Node, value: SSAValue, factor: float) -> SSAValue:
    import numpy as np

    constant = node.constant_value(np.full((1,) * len(shape_of(value)), factor, np.float32))
    return node.emit(MulOp, value, constant)
