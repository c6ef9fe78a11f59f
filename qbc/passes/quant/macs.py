"""Multiplications of a quant operation."""

from __future__ import annotations

import math

from xdsl.ir import Operation

from qbc.dialects import quant
from qbc.dialects.quant.base import shape_of


def multiply_accumulates(op: Operation) -> int:
    """Return the multiply-accumulates of a convolution or matrix product, 0 for any other operation.

    A transposed convolution counts one for every input element and tap, not for the zeros between them.
    """
    if isinstance(op, quant.MatmulOp):
        return math.prod(shape_of(op.results[0])) * shape_of(op.operands[0])[-1]
    if isinstance(op, quant.TransposeConv2dOp):
        out_channels, *taps, per_group = op.weight_shape
        pixels = math.prod(shape_of(op.operands[0])[:-1])
        return pixels * out_channels * math.prod(taps) * per_group
    if isinstance(op, quant.WeightedOp):
        return math.prod(shape_of(op.results[0])) * math.prod(op.weight_shape[1:])
    return 0
