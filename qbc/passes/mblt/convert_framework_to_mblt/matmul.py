"""Gemm and MatMul."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from qbc.dialects.mblt import AddOp, LinearOp, MatmulOp, MulOp, shape_of
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node, converts

if TYPE_CHECKING:
    import numpy.typing as npt


@converts("Gemm")
def gemm(node: Node) -> SSAValue:
    """`alpha * A B + beta * C` -> linear where B is constant, else matmul with mul and add."""
    import numpy as np

    alpha, beta = node.attr("alpha"), node.attr("beta")
    value = node.transpose(node.value(0), (1, 0)) if node.attr("transA") else node.value(0)
    matrix = node.array(1)
    if matrix is None:
        product = node.emit(MatmulOp, value, node.value(1), transpose_b=bool(node.attr("transB")))
        if alpha != 1.0:
            product = node.emit(MulOp, product, node.constant_value(np.full((1, 1), alpha, np.float32)))
        return _add_scaled(node, product, beta)
    weight = matrix if node.attr("transB") else matrix.T
    if alpha != 1.0:
        weight = weight * np.float32(alpha)
    bias = _gemm_bias(node, beta, weight.shape[0])
    if bias is None:
        return _add_scaled(node, node.emit(LinearOp, value, weight=node.blob(weight)), beta)
    return node.emit(LinearOp, value, weight=node.blob(weight), bias=node.blob(bias))


def _gemm_bias(node: Node, beta: float, channels: int) -> npt.NDArray[Any] | None:
    """Return C as a bias [channels], or None when it is absent or differs between rows."""
    import numpy as np

    data = node.array(2)
    if data is None or (data.ndim == 2 and data.shape[0] != 1):
        return None
    return np.ascontiguousarray(np.broadcast_to((data * np.float32(beta)).reshape(-1), (channels,)))


def _add_scaled(node: Node, product: SSAValue, beta: float) -> SSAValue:
    import numpy as np

    if not node.has(2) or beta == 0.0:
        return product
    addend = node.with_rank(2, 2)
    if beta != 1.0:
        addend = node.emit(MulOp, addend, node.constant_value(np.full((1, 1), beta, np.float32)))
    return node.emit(AddOp, product, addend)


@converts("MatMul")
def matmul(node: Node) -> SSAValue:
    """MatMul with a constant matrix on the right -> linear; everything else -> matmul of equal ranks."""
    left, right = node.shape(0), node.shape(1)
    result_shape = node.result_type().get_shape()
    matrix = node.array(1)
    if matrix is not None and _is_single_matrix(right) and matrix.dtype.name == "float32" and len(left) >= len(right):
        columns = matrix.reshape(right[-2:] if len(right) >= 2 else (right[0], 1))
        result = node.emit(LinearOp, node.value(0), weight=node.blob(columns.T))
        return node.reshape(result, result_shape)
    rank = max(len(left), len(right), 2)
    a = _as_matrix(node, 0, rank, row=True)
    b = _as_matrix(node, 1, rank, row=False)
    return node.reshape(node.emit(MatmulOp, a, b), result_shape)


def _is_single_matrix(shape: tuple[int, ...]) -> bool:
    return all(size == 1 for size in shape[:-2])


def _as_matrix(node: Node, index: int, rank: int, *, row: bool) -> SSAValue:
    """Return an operand of `rank` axes; a vector is a row on the left and a column on the right."""
    shape = node.shape(index)
    if len(shape) == 1:
        vector = (1, shape[0]) if row else (shape[0], 1)
        return node.reshape(node.value(index), (*(1,) * (rank - 2), *vector))
    value = node.with_rank(index, rank)
    return value if len(shape_of(value)) == rank else node.refuse("operands of unknown rank")
