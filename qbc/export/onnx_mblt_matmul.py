"""ONNX form of the matmul family."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from qbc.dialects.common.access import flag, shape_of
from qbc.export.onnx_mblt_builder import FIRST, LAST, Emitter, GraphBuilder


def linear(op: Operation, builder: GraphBuilder) -> None:
    """`Gemm` for a matrix, a 1x1 `Conv` for a channel-first map, else `MatMul` and `Add`."""
    source = op.operands[0]
    handle = op.properties["weight"]
    weight = builder.read(handle)
    bias = builder.optional(op, "bias")
    rank = len(shape_of(source))
    if rank == 2:
        inputs = [builder.last(source), builder.initializer(weight, "weight", handle), *bias]
        builder.finish(op, builder.node("Gemm", inputs, transB=1), FIRST)
        return
    if rank == 4 and builder.primary(source) == FIRST:
        kernel = weight.reshape(*weight.shape, 1, 1)
        inputs = [builder.first(source), builder.initializer(kernel, "weight", (handle, "oi11")), *bias]
        builder.finish(op, builder.node("Conv", inputs, kernel_shape=[1, 1]), FIRST)
        return
    columns = builder.initializer(np.ascontiguousarray(weight.T), "weight", (handle, "io"))
    name = builder.node("MatMul", [builder.last(source), columns])
    builder.finish(op, builder.node("Add", [name, *bias]) if bias else name, LAST)


def matmul(op: Operation, builder: GraphBuilder) -> None:
    """`MatMul`; a transposed right operand is transposed first (onnxruntime folds that)."""
    left, right = (builder.last(value) for value in op.operands)
    if flag(op, "transpose_b"):
        rank = len(shape_of(op.operands[1]))
        right = builder.node("Transpose", [right], perm=[*range(rank - 2), rank - 1, rank - 2])
    builder.finish(op, builder.node("MatMul", [left, right]), LAST)


EMITTERS: dict[str, Emitter] = {"mblt.linear": linear, "mblt.matmul": matmul}
